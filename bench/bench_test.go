package main

import (
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stowage-ml/stowage/bench/engine"
	"github.com/stowage-ml/stowage/bench/peak"
)

// TestMain makes this test's binary a child when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "child" || os.Args[1] == "opening-child") {
		if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestStatistics(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 1}, {[]float64{5, 3, 1, 9, 7}, 3}} {
		if got := typical(c.in); got != c.want {
			t.Errorf("lower quartile of %v: got %v, want %v", c.in, got, c.want)
		}
	}
	if quotient(3, 2) != 1.5 || quotient(3, 0) != 0 {
		t.Errorf("got quotients %v and %v", quotient(3, 2), quotient(3, 0))
	}
}

func TestDifferenceIsOfThePeak(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, c := range map[string]struct {
		got, want []float32
		d         float64
	}{
		"equal":         {[]float32{1, nan, inf}, []float32{1, nan, inf}, 0},
		"a share":       {[]float32{1, 9}, []float32{1, 10}, 0.1},
		"a NaN":         {[]float32{nan}, []float32{1}, math.Inf(1)},
		"another size":  {[]float32{1}, []float32{1, 2}, math.Inf(1)},
		"nothing":       {nil, nil, 0},
		"wrong at zero": {[]float32{1}, []float32{0}, 1 / math.SmallestNonzeroFloat32},
	} {
		if d := difference(c.got, c.want); d != c.d {
			t.Errorf("%s: got %v, want %v", name, d, c.d)
		}
	}
}

func TestArenaIsTheLargestTotal(t *testing.T) {
	log := "x Total allocated bytes: 1048576\ny\nz Total allocated bytes: 4096"
	if got := arenaOf([]byte(log)); got != 1048576 {
		t.Errorf("got %d", got)
	}
}

func TestSummaryIsOfWhatWasMeasured(t *testing.T) {
	r := report{Models: []modelResult{{Name: "a", Ratio: 2, Scaling: 0.9, Wall: [2]float64{1, 1}},
		{Name: "b", Ratio: 0.5, Scaling: 0.6, Wall: [2]float64{5, 5}, Cold: [2]float64{1, 4}}, {Name: "c", Error: "no\nway"}}}
	r.summarise()
	if math.Abs(r.GeoMean-1) > 1e-12 || r.Worst != 2 || r.WorstScaling != 0.6 || r.WorstCold != 0.25 {
		t.Errorf("got %+v, want a mean of 1, a worst of 2, of 0.6 for two threads and 0.25 for cold starts", r)
	}
	if text := r.markdown(); !strings.Contains(text, "| c | no way |") {
		t.Errorf("got %s", text)
	}
}

func TestBadUsageIsAnError(t *testing.T) {
	for _, args := range []string{"other", "--runs 0", "models more", "kernels --nope", "child", "child x",
		"opening-child x"} {
		if err := run(strings.Fields(args), io.Discard, io.Discard); err == nil {
			t.Errorf("%q: got no error", args)
		}
	}
}

func TestPeakIsAboveWhatAScalarUnitCanDo(t *testing.T) {
	if got := peak.GFlops(); got != 0 && got < 4 {
		t.Errorf("got %.1f GFLOP/s", got)
	}
}

func TestKernelModelsAreRight(t *testing.T) {
	for _, k := range kernelCases() {
		n := k.make(rand.New(rand.NewPCG(1, 1)))
		if k.flop < 1e5 {
			t.Errorf("%s: got %g operations", k.name, k.flop)
		}
		if _, err := n.save(t.TempDir()); err != nil {
			t.Errorf("%s: %v", k.name, err)
		}
	}
}

// library skips a test that needs ONNX Runtime.
func library(t *testing.T) {
	if _, err := engine.Library(); err != nil {
		t.Skip(err)
	}
}

func TestEnginesAgreeAndAreMeasured(t *testing.T) {
	library(t)
	n := conv("small", spatial{4, 8, 1, 3, 1, 12}).make(rand.New(rand.NewPCG(1, 1)))
	dir := t.TempDir()
	s, err := n.save(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := modelResult{Name: s.Name}
	c := &config{runs: 2, threads: 2, budget: time.Second, progress: io.Discard}
	if err := m.measure(c, s, dir); err != nil {
		t.Fatal(err)
	}
	if m.Farthest > 1e-5 {
		t.Errorf("outputs differ by %g", m.Farthest)
	}
	for i, name := range engineNames {
		if m.CPU[i] <= 0 || m.Wall[i] <= 0 || m.Wall2[i] <= 0 || m.Cold[i] <= 0 || m.PeakRSS[i] <= 0 || m.Arena[i] <= 0 {
			t.Errorf("%s: got %+v, want every figure", name, m)
		}
	}
}

func TestOpeningIsTimedInProcessesOfItsOwn(t *testing.T) {
	n := conv("small", spatial{4, 8, 1, 3, 1, 12}).make(rand.New(rand.NewPCG(1, 1)))
	dir := t.TempDir()
	s, err := n.save(dir)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "spec.json")
	if err := s.Save(file); err != nil {
		t.Fatal(err)
	}
	took, err := openAside(engine.Stowage, file)
	if err != nil || slices.Max(took) <= 0 {
		t.Errorf("got %v, error %v", took, err)
	}
	if _, err := openAside("none", file); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("an engine that there is not: got error %v", err)
	}
	r := report{Opening: []openResult{{Name: "a", Fresh: [2]float64{2, 4}, Again: [2]float64{1, 4},
		Least: [2]float64{1, 3}}}}
	r.summarise()
	text := r.markdown()
	if r.GeoMean != 0.25 || !strings.Contains(text, "| a | 2.00 | 4.00 | 0.500 | 1.00 | 4.00 | 0.250 |") {
		t.Errorf("got %s", text)
	}
}

func TestReportsAreWritten(t *testing.T) {
	library(t)
	dir := t.TempDir()
	md, js := filepath.Join(dir, "r.md"), filepath.Join(dir, "r.json")
	var out strings.Builder
	args := []string{"kernels", "--only", "matmul_16x384", "--runs", "1", "--md", md, "--json", js}
	if err := run(args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(md)
	if err != nil || string(text) != out.String() || !strings.Contains(out.String(), "| matmul_16x384x384_const |") {
		t.Errorf("got %s, %v", text, err)
	}
	b, err := os.ReadFile(js)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(b, &r); err != nil || len(r.Kernels) != 1 || r.Kernels[0].GFlops[1] <= 0 {
		t.Errorf("got %s, %v", b, err)
	}
}
