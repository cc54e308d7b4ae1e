package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ownCache makes a new folder the user's cache folder, on every system.
func ownCache(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, dir)
	}
	return dir
}

func TestCalibrateFillsAStoreThatOtherVerbsUse(t *testing.T) {
	ownCache(t)
	model := save(t, scores())
	out := good(t, "calibrate", model, "--runs", "2", "--dim", "batch=4")
	if !strings.Contains(out, "MatMul") || !strings.Contains(out, "measurements.db") {
		t.Errorf("got %q, want the kernels and the store", out)
	}
	for _, args := range [][]string{
		{"plan", model, "--dim", "batch=4", "--measured", "--json"},
		{"run", model, "--input", "random", "--dim", "batch=4", "--measured"},
		{"bench", model, "--dim", "batch=4", "--cold", "0", "--measured"},
	} {
		if got := good(t, args...); args[0] == "plan" && !strings.Contains(got, `"est_source": "measured"`) {
			t.Errorf("%q: got %s, want measured estimates", args, got)
		}
	}
	if got := good(t, "plan", model, "--dim", "batch=4", "--json"); strings.Contains(got, `"measured"`) {
		t.Errorf("plan without --measured: got %s, want no measurements", got)
	}
}

func TestCalibrateJSON(t *testing.T) {
	ownCache(t)
	store := filepath.Join(t.TempDir(), "s.db")
	var r calibrateReport
	out := good(t, "calibrate", save(t, scores()), "--runs", "2", "--store", store, "--json")
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Store != store || len(r.Kernels) == 0 || r.RunNs <= 0 {
		t.Errorf("got %+v, want the store, the kernels and the time of a run", r)
	}
	if _, err := os.Stat(store); err != nil {
		t.Error(err)
	}
}

func TestCalibrateSaysThatAStoreIsDamaged(t *testing.T) {
	ownCache(t)
	store := filepath.Join(t.TempDir(), "s.db")
	if err := os.WriteFile(store, []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"calibrate", "plan"} {
		r := cli(t, nil, verb, save(t, scores()), "--store", store)
		if r.code == exitGood || !strings.Contains(r.err, "damaged") || !strings.Contains(r.err, store) ||
			strings.Count(r.err, "\n") != 1 {
			t.Errorf("%s: got status %d and %q, want one line that names the damaged store", verb, r.code, r.err)
		}
	}
	if r := cli(t, nil, "calibrate", "none.onnx", "--runs", "0"); r.code != exitUsage {
		t.Errorf("--runs 0: got status %d, want %d", r.code, exitUsage)
	}
}

func TestDevicesListsRatesAndKeepsThem(t *testing.T) {
	dir := ownCache(t)
	var r devicesReport
	if err := json.Unmarshal([]byte(good(t, "devices", "--json")), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Devices) == 0 || r.Devices[0].Name != "cpu" || r.Devices[0].Rates.Peak.One <= 0 ||
		len(r.Devices[0].Rates.Stream) == 0 {
		t.Fatalf("got %+v, want the processor with its rates", r)
	}
	for _, d := range r.Devices[1:] {
		if d.Name == "" || d.Kind == "" || d.Driver == "" {
			t.Errorf("got %+v, want a name, a kind and a driver", d)
		}
	}
	kept, err := filepath.Glob(filepath.Join(dir, "*", "stowage", "rates-*.json"))
	if more, _ := filepath.Glob(filepath.Join(dir, "stowage", "rates-*.json")); err != nil || len(kept)+len(more) == 0 {
		t.Errorf("got no file of rates in the cache folder, %v, want one", err)
	}
	var again devicesReport
	if err := json.Unmarshal([]byte(good(t, "devices", "--json")), &again); err != nil {
		t.Fatal(err)
	}
	if again.Devices[0].Rates.Peak != r.Devices[0].Rates.Peak {
		t.Errorf("got %+v, want the rates that were kept: %+v", again.Devices[0].Rates, r.Devices[0].Rates)
	}
	if out := good(t, "devices", "--again"); !strings.Contains(out, "GFLOP/s") {
		t.Errorf("got %q, want the rates as text", out)
	}
}
