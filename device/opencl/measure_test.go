package opencl

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
)

func TestRatesAreMeasuredOnceForEachKindOfDevice(t *testing.T) {
	d := first(t)
	dir := t.TempDir()
	t.Setenv("STOWAGE_OPENCL_CACHE", dir)
	if r := d.Info().Measured; r != nil {
		t.Fatalf("before: got %+v, want nothing", r)
	}
	got, err := d.Measure(false)
	if err != nil {
		t.Fatal(err)
	}
	if err := got.Check(); err != nil {
		t.Error(err)
	}
	if r := d.Info().Measured; r == nil || *r != *got {
		t.Errorf("after: got %+v, want %+v", r, got)
	}
	if r, err := d.Measure(false); err != nil || *r != *got {
		t.Errorf("again: got %+v, %v, want what was kept", r, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.rates"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v, want one file of rates", files, err)
	}
	if err := os.WriteFile(files[0], []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := d.Info().Measured; r != nil {
		t.Errorf("damaged: got %+v, want nothing", r)
	}
	writeKept(files[0], []byte(`{"peak":-1,"near":1,"far":1,"launch_ns":1,"latency_ns":1,"rate":1}`))
	if r := d.Info().Measured; r != nil {
		t.Errorf("a negative rate: got %+v, want nothing", r)
	}
}

func TestRatesThatCannotBeAreRefused(t *testing.T) {
	good := backend.DeviceRates{Peak: 1, Near: 1, Far: 1, Launch: 1, Latency: 1, Rate: 1}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for i := range 6 {
		bad := good
		*[]*float64{&bad.Peak, &bad.Near, &bad.Far, &bad.Launch, &bad.Latency, &bad.Rate}[i] = 0
		if bad.Check() == nil {
			t.Errorf("rate %d of 0: got no error", i)
		}
	}
}
