package opencl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// shared is the driver of all tests.
var shared = &driver{}

// first opens the first device, or leaves the test out.
func first(t testing.TB) *Device {
	t.Helper()
	d, err := shared.Open("opencl:0")
	if err != nil {
		t.Skip(err)
	}
	return d.(*Device)
}

// families returns the first device, and the same with the kernels of devices that are no processors.
func families(t testing.TB) map[string]*Device {
	t.Helper()
	d := first(t)
	id := *d.id
	id.cpu = false
	other, err := d.lib.open("opencl:0", &id)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Device{"processor": d, "other": other}
}

func TestDevicesAreListedWithWhatTheyAre(t *testing.T) {
	first(t)
	infos, err := shared.List()
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range infos {
		if d.Model == "" || d.Driver == "" || d.Memory <= 0 || d.Units < 1 || d.Kind == "" {
			t.Errorf("device %d: got %+v, want a model, driver, memory, units and kind", i, d)
		}
	}
}

func TestNamesOfDevices(t *testing.T) {
	d := first(t)
	if again, err := shared.Open("opencl:0"); err != nil || again != backend.Driven(d) {
		t.Errorf("opened again: got %v, %v, want the same device", again, err)
	}
	for _, name := range []string{"opencl:77", "opencl:0.99", "opencl:x", "opencl", ""} {
		if got, err := shared.Open(name); err == nil {
			t.Errorf("%q: got %v, want an error", name, got.Name())
		}
	}
}

func TestAMachineWithoutALibraryIsToldSo(t *testing.T) {
	d := &driver{}
	d.once.Do(func() { d.err = errors.New("opencl: library: none") })
	if _, err := d.List(); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("list: got %v, want an error of one line", err)
	}
	if _, err := d.Open("opencl:0"); err == nil {
		t.Error("open: got no error")
	}
}

// parts returns two parts of the first device.
func parts(t *testing.T) (a, b *Device) {
	t.Helper()
	first(t)
	x, err := shared.Open("opencl:0.0")
	if err != nil {
		t.Skip(err)
	}
	y, err := shared.Open("opencl:0.1")
	if err != nil {
		t.Skip(err)
	}
	return x.(*Device), y.(*Device)
}

func TestMemoryOfAnotherDeviceNeverReachesTheDriver(t *testing.T) {
	a, b := parts(t)
	mem, err := a.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Upload(mem, 0, make([]byte, 64)); err == nil {
		t.Error("upload: got no error")
	}
	if err := b.Download(make([]byte, 64), mem, 0); err == nil {
		t.Error("download: got no error")
	}
	x := backend.Arg{DType: tensor.Float32, Shape: tensor.Shape{16}}
	o := &backend.Op{Node: &graph.Node{Op: "Neg", Version: 13}, In: []backend.Arg{x}, Out: []backend.Arg{x}}
	ks, err := b.Backend().Candidates(o)
	if err != nil || len(ks) != 1 {
		t.Fatal(ks, err)
	}
	v := backend.View{DType: tensor.Float32, Shape: x.Shape, Mem: mem}
	if err := b.Run(ks[0].Kernel, &backend.Call{In: []backend.View{v}, Out: []backend.View{v}}); err == nil {
		t.Error("kernel: got no error")
	}
	if err := mem.Free(); err != nil {
		t.Fatal(err)
	}
	if err := a.Upload(mem, 0, make([]byte, 64)); err == nil {
		t.Error("memory that was given back: got no error")
	}
}

func TestCopiesStayWithinTheirMemory(t *testing.T) {
	d := first(t)
	mem, err := d.Alloc(100)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := mem.Free(); err != nil {
			t.Error(err)
		}
	}()
	for _, at := range []int64{-1, 97, 1 << 40} {
		if err := d.Upload(mem, at, make([]byte, 4)); err == nil {
			t.Errorf("at %d of 100: got no error", at)
		}
	}
	if err := d.Upload(mem, 96, []byte{1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 3)
	if err := d.Download(got, mem, 97); err != nil || got[0] != 2 || got[2] != 4 {
		t.Errorf("got %v, %v, want [2 3 4]", got, err)
	}
	if _, err := d.Alloc(1 << 60); err == nil {
		t.Error("an exabyte: got no error")
	}
}

func TestALostDeviceIsMarked(t *testing.T) {
	first(t)
	d := &Device{name: "opencl:9", lib: shared.lib, id: &deviceID{}}
	if err := d.check("launch", &failure{clFinish, outOfResources}); d.Lost() || err == nil {
		t.Errorf("out of resources: got lost %v, %v", d.Lost(), err)
	}
	err := d.check("launch", &failure{clFinish, deviceUnavailable})
	if !d.Lost() || !errors.Is(err, backend.ErrLost) || !strings.Contains(err.Error(), "CL_DEVICE_NOT_AVAILABLE") {
		t.Errorf("got lost %v, %v", d.Lost(), err)
	}
	if _, err := d.Alloc(1); err == nil {
		t.Error("memory of a lost device: got no error")
	}
	if ks, _ := d.Backend().Candidates(&backend.Op{Node: &graph.Node{Op: "Neg"}}); len(ks) > 0 {
		t.Error("kernels of a lost device: got some")
	}
}

func TestProgramsAreKeptCompiled(t *testing.T) {
	d := first(t)
	dir := t.TempDir()
	t.Setenv("STOWAGE_OPENCL_CACHE", dir)
	// Another device's programs are built anew.
	id := *d.id
	open := func() *bundle {
		d, err := d.lib.open("opencl:0", &id)
		if err != nil {
			t.Fatal(err)
		}
		runCase(t, d, testCase{node: &graph.Node{Op: "Neg", Version: 13}, in: []*tensor.Tensor{numbers(1, 37)}})
		for _, p := range d.programs.by {
			return p.bundle
		}
		t.Fatal("got no program")
		return nil
	}
	if open().warm {
		t.Error("first: got a program that was kept")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.bin"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v, want one file", files, err)
	}
	if !open().warm {
		t.Error("second: got a program that was built anew")
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	if open().warm {
		t.Error("damaged: got a program that was kept")
	}
}
