package stowage_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// cacheIn makes a new folder the user's cache folder, on every system.
func cacheIn(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, dir)
	}
}

// convolved is x → Conv → Relu → MaxPool → y, for which there are kernels in blocks and in rows.
func convolved() *testkit.Model {
	m := testkit.NewModel(17)
	m.Input("x", tensor.Float32, 1, 16, 12, 12)
	w := make([]float32, 16*16*9)
	for i := range w {
		w[i] = float32(i%7) - 3
	}
	m.Init("w", tensor.Must(tensor.Shape{16, 16, 3, 3}, w))
	c := m.Node("Conv", []string{"x", "w"}, testkit.Ints("pads", 1, 1, 1, 1))
	r := m.Node("Relu", []string{c})
	m.Node("MaxPool", []string{r}, testkit.Ints("kernel_shape", 2, 2), testkit.Ints("strides", 2, 2), testkit.Outs("y"))
	m.Output("y", tensor.Float32, 1, 16, 6, 6)
	return m
}

func image() feeds {
	x := make([]float32, 16*12*12)
	for i := range x {
		x[i] = float32(i%11) - 5
	}
	return feeds{"x": tensor.Must(tensor.Shape{1, 16, 12, 12}, x)}
}

func TestCalibrateMeasuresWhatPlansThenRestOn(t *testing.T) {
	cacheIn(t, t.TempDir())
	store := filepath.Join(t.TempDir(), "new", "store.db")
	s := open(t, convolved(), nil)
	calls := 0
	c, err := s.Calibrate(context.Background(), image(), &stowage.CalibrateOptions{Runs: 3, Store: store,
		Progress: func(done, all int) {
			if calls++; done > all {
				t.Errorf("progress: got %d of %d", done, all)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	if calls == 0 || c.Store != store || c.RunNs <= 0 || c.AfterNs <= 0 {
		t.Errorf("got %d calls and %+v, want progress, the store's name and times", calls, c)
	}
	ran := 0
	for _, k := range c.Kernels {
		ran += k.Steps
		if k.MeasuredNs <= 0 || k.Samples == 0 || k.Op == "" || k.Kernel == "" || k.Operands == "" {
			t.Errorf("got %+v, want a kernel with its times", k)
		}
	}
	measured := open(t, convolved(), &stowage.Options{Measurements: store})
	p, err := measured.Plan(nil)
	if err != nil {
		t.Fatal(err)
	}
	if ran < len(p.Steps)/2 {
		t.Errorf("got times of %d steps, want those of about %d", ran, len(p.Steps))
	}
	for _, x := range p.Steps {
		if x.Op == "Reorder" && x.EstSource == "scaled" {
			continue // Another shape's time: a plan that rests on measurements may move its changes of layout.
		}
		if x.EstSource != "measured" || x.EstNs == nil || *x.EstNs < 1 {
			t.Errorf("step %s %s: got an estimate from %q, want a measurement", x.Op, x.Kernel, x.EstSource)
		}
	}
	same(t, s, measured, image())
}

// same compares what two sessions compute; choices of kernels only change rounding.
func same(t *testing.T, a, b *stowage.Session, in feeds) {
	t.Helper()
	x, err := a.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	y, err := b.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	for name := range x {
		if x[name].DType() != tensor.Float32 {
			if string(x[name].Bytes()) != string(y[name].Bytes()) {
				t.Errorf("output %q: got other values with measurements, want the same", name)
			}
			continue
		}
		w := tensor.Cast[float32](y[name].Bytes())
		for i, a := range tensor.Cast[float32](x[name].Bytes()) {
			if d := math.Abs(float64(a - w[i])); !(d <= 1e-4*(1+math.Abs(float64(a)))) && a != w[i] {
				t.Fatalf("output %q, element %d: got %v with measurements, want %v", name, i, w[i], a)
			}
		}
	}
}

func TestCalibrateTimesBodiesAndWhatIsDynamic(t *testing.T) {
	cacheIn(t, t.TempDir())
	m := testkit.NewModel(17)
	m.Input("x", tensor.Float32, 64)
	m.Input("flag", tensor.Bool)
	then := testkit.NewGraph("then")
	then.Node("Neg", []string{"x"}, testkit.Outs("t"))
	then.Output("t", tensor.Float32, 64)
	other := testkit.NewGraph("else")
	other.Node("Abs", []string{"x"}, testkit.Outs("e"))
	other.Output("e", tensor.Float32, 64)
	m.Node("If", []string{"flag"}, testkit.Body("then_branch", then), testkit.Body("else_branch", other),
		testkit.Outs("y"))
	m.Node("NonZero", []string{"y"}, testkit.Outs("z"))
	m.Output("y", tensor.Float32, 64)
	m.Output("z", tensor.Int64, 1, nil)
	s := open(t, m, nil)
	in := feeds{"x": tensor.Must(tensor.Shape{64}, make([]float32, 64)), "flag": tensor.Scalar(true)}
	c, err := s.Calibrate(context.Background(), in, &stowage.CalibrateOptions{Runs: 3})
	if err != nil {
		t.Fatal(err)
	}
	ops := map[string]int{}
	for _, k := range c.Kernels {
		ops[k.Op] += k.Steps
	}
	if ops["If"] != 1 || ops["Neg"] != 1 || ops["NonZero"] != 1 || ops["Abs"] != 0 {
		t.Errorf("got times of %v, want one each of If, Neg and NonZero, and none of what did not run", ops)
	}
	measured := open(t, m, &stowage.Options{Measurements: stowage.MeasurementsAuto})
	p, err := measured.Plan(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range p.Steps {
		if x.Op == "If" && (x.EstNs == nil || x.EstSource != "measured") {
			t.Errorf("If: got an estimate from %q, want a measurement", x.EstSource)
		}
	}
	same(t, s, measured, in)
}

func TestCalibrateRefusesWhatItCannotUse(t *testing.T) {
	cacheIn(t, t.TempDir())
	s := open(t, convolved(), nil)
	bad := filepath.Join(t.TempDir(), "bad.db")
	if err := os.WriteFile(bad, []byte("no store"), 0o666); err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	for _, c := range []struct {
		name string
		ctx  context.Context
		in   feeds
		o    stowage.CalibrateOptions
		want string
	}{
		{"runs", context.Background(), image(), stowage.CalibrateOptions{Runs: -1}, "Runs: got -1"},
		{"inputs", context.Background(), feeds{}, stowage.CalibrateOptions{}, `input "x"`},
		{"store", context.Background(), image(), stowage.CalibrateOptions{Store: bad}, "damaged"},
		{"stopped", stopped, image(), stowage.CalibrateOptions{}, "canceled"},
	} {
		if _, err := s.Calibrate(c.ctx, c.in, &c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
}

func TestMeasurementsThatCannotBeReadCountOnlyWhenNamed(t *testing.T) {
	dir := t.TempDir()
	cacheIn(t, dir)
	bad := filepath.Join(dir, "stowage", "measurements.db")
	if err := os.MkdirAll(filepath.Dir(bad), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad, []byte("no store"), 0o666); err != nil {
		t.Fatal(err)
	}
	open(t, convolved(), &stowage.Options{Measurements: stowage.MeasurementsAuto})
	model, err := stowage.LoadBytes(convolved().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	for _, path := range []string{bad, filepath.Join(dir, "none.db")} {
		if _, err := model.Open(&stowage.Options{Measurements: path}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want an error that names it", path, err)
		}
	}
	_, err = model.Open(&stowage.Options{Measurements: filepath.Join(dir, "none.db")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want an error that says that the file is not there", err)
	}
}

func TestPlansWithoutMeasurementsTouchNoFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	cacheIn(t, dir)
	a, err := open(t, convolved(), nil).Plan(nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := open(t, convolved(), &stowage.Options{Measurements: stowage.MeasurementsAuto}).Plan(nil)
	if err != nil || a.Digest != b.Digest {
		t.Errorf("nothing measured: got %v and another plan, want the same", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for the cache folder, want none", err)
	}
}

func TestPlanSaysWhatEachStepReads(t *testing.T) {
	p, err := open(t, convolved(), nil).Plan(nil)
	if err != nil {
		t.Fatal(err)
	}
	fed := 0
	for i, x := range p.Steps {
		fed += len(x.Inputs)
		if len(x.Reads)+len(x.Inputs) == 0 {
			t.Errorf("step %d: got a step that reads nothing, want a chain\n%v", i, p)
		}
		for _, r := range x.Reads {
			if r < 0 || r >= i {
				t.Errorf("step %d: got a reading of step %d, want one before it", i, r)
			}
		}
	}
	if fed != 1 || len(p.Outputs) != 1 || len(p.Outputs[0].From) != 1 || p.Outputs[0].From[0] != len(p.Steps)-1 {
		t.Errorf("got %d readings of inputs and outputs %+v, want one of each, from the last step", fed, p.Outputs)
	}
	var bytes int64
	for _, b := range p.Buffers {
		if b.First < 0 || b.First > b.Last || b.Last >= len(p.Steps) || b.Name == "" {
			t.Errorf("got buffer %+v, want a name and steps of the plan", b)
		}
		bytes = max(bytes, b.Offset+b.Bytes)
	}
	if bytes > p.Devices[0].ArenaBytes {
		t.Errorf("got buffers up to %d, want none beyond the arena's %d bytes", bytes, p.Devices[0].ArenaBytes)
	}
}
