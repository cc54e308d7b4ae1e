package opencl_test

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/device/opencl"
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/conform"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// opened returns the device that sessions get under a name.
func opened(t *testing.T, name string) *opencl.Device {
	t.Helper()
	for _, dr := range backend.Drivers() {
		if dr.Prefix() == "opencl" {
			d, err := dr.Open(name)
			if err != nil {
				t.Skip(err)
			}
			return d.(*opencl.Device)
		}
	}
	t.Fatal("got no driver for OpenCL, want the one that the import adds")
	return nil
}

// session opens a model on devices.
func session(t *testing.T, m *stowage.Model, devices ...string) *stowage.Session {
	t.Helper()
	s, err := m.Open(&stowage.Options{Devices: devices, Policy: "static"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestModelsGiveTheHostsResultsWithTheCopiesPlanned runs models with fixed shapes on the first device and
// on two parts of it: results are the host's within rounding, and after the first run, which brings
// the constants, a plan that is followed as it is makes as many copies as it lists, one for each tensor
// and destination.
func TestModelsGiveTheHostsResultsWithTheCopiesPlanned(t *testing.T) {
	dir := testkit.Data(t)
	names := []string{"mnist", "light_squeezenet", "light_shufflenet", "ultraface", "blazeface_back", "mlsd_320_tiny"}
	if testing.Short() {
		names = names[:1]
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(dir, "models", name)
			sets, err := conform.Inputs(folder)
			if err != nil || len(sets) == 0 {
				t.Skip("no inputs in ", folder)
			}
			m, err := stowage.Load(filepath.Join(folder, "model.onnx"))
			if err != nil {
				t.Fatal(err)
			}
			in := map[string]*tensor.Tensor{}
			for i, x := range m.Inputs() {
				in[x.Name] = sets[0][i]
			}
			want := results(t, session(t, m), in)
			for _, devices := range [][]string{{"opencl:0"}, {"opencl:0.0", "opencl:0.1"}, {"cpu", "opencl:0"}} {
				checkModel(t, m, devices, in, want)
			}
		})
	}
}

func results(t *testing.T, s *stowage.Session, in map[string]*tensor.Tensor) map[string]*tensor.Tensor {
	t.Helper()
	out, err := s.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func checkModel(t *testing.T, m *stowage.Model, devices []string, in, want map[string]*tensor.Tensor) {
	t.Helper()
	s := session(t, m, devices...)
	var open []*opencl.Device
	for _, d := range devices {
		if strings.HasPrefix(d, "opencl") {
			open = append(open, opened(t, d))
		}
	}
	copies := func() (n int64) {
		for _, d := range open {
			_, up, down := d.Counts()
			n += up + down
		}
		return n
	}
	results(t, s, in)
	before := copies()
	got := results(t, s, in)
	plan, err := s.Plan(nil)
	if err != nil {
		t.Fatal(err)
	}
	planned, seen := int64(0), map[[2]string]bool{}
	for _, c := range plan.Copies {
		if c.From == c.To || !strings.Contains(c.From+c.To, "opencl") {
			continue
		}
		if planned++; strings.HasPrefix(c.From, "opencl") && strings.HasPrefix(c.To, "opencl") {
			planned++
		}
		if k := [2]string{c.Tensor, c.To}; seen[k] {
			t.Errorf("%v: tensor %q is copied to %s twice", devices, c.Tensor, c.To)
		} else {
			seen[k] = true
		}
	}
	if n := copies() - before; n != planned {
		t.Errorf("%v: got %d copies, want the %d of the plan", devices, n, planned)
	}
	for name, w := range want {
		near(t, name, got[name], w)
	}
}

// near allows a ten-thousandth of the largest number.
func near(t *testing.T, name string, got, want *tensor.Tensor) {
	t.Helper()
	if want.DType() != tensor.Float32 {
		return
	}
	g, w := tensor.Cast[float32](got.Bytes()), tensor.Cast[float32](want.Bytes())
	peak := 0.0
	for _, x := range w {
		peak = max(peak, math.Abs(float64(x)))
	}
	off := 0
	for i := range w {
		if d := math.Abs(float64(g[i] - w[i])); !(d <= 1e-4*peak+1e-3*math.Abs(float64(w[i]))) {
			off++
		}
	}
	// Where a graph compares, the last bit decides.
	if off > len(w)/1000 {
		t.Errorf("%q: got %d of %d elements off", name, off, len(w))
	}
}
