package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/cmd/stowage/internal/values"
	"github.com/stowage-ml/stowage/tensor"
)

func benched(t *testing.T, args ...string) benchReport {
	t.Helper()
	var r benchReport
	out := good(t, append([]string{"bench", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return r
}

func TestBenchMeasuresAndStartsFreshProcesses(t *testing.T) {
	t.Setenv(asCommand, "1")
	r := benched(t, save(t, scores()), "--dim", "batch=4", "--cold", "1", "--runs", "5")
	if r.ColdMS == nil || *r.ColdMS <= 0 || r.FirstMS <= 0 || r.LoadMS <= 0 || r.RunsPerSecond <= 0 {
		t.Errorf("got %+v, want times above 0", r)
	}
	if r.MinMS <= 0 || r.MinMS > r.MedianMS || r.MedianMS > r.P90MS {
		t.Errorf("got min %v, median %v, p90 %v, want them in order", r.MinMS, r.MedianMS, r.P90MS)
	}
	if r.Runs != 5 || r.Inputs != 1 || r.WeightBytes != 144 {
		t.Errorf("got %+v, want 5 runs of 1 input with 144 bytes of weights", r)
	}
}

func TestBenchJSONHasEveryFieldOfTheContract(t *testing.T) {
	var r map[string]any
	if err := json.Unmarshal([]byte(good(t, "bench", save(t, scores()), "--cold=0", "--json")), &r); err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields("median_ms min_ms p90_ms cpu_ms load_ms first_ms cold_ms arena_bytes " +
		"arena_lower_bound weight_bytes peak_rss_bytes") {
		if _, ok := r[field]; !ok {
			t.Errorf("got no %s", field)
		}
	}
}

func TestBenchJSONKeepsItsFieldsInOrder(t *testing.T) {
	out := good(t, "bench", save(t, scores()), "--cold=0", "--json")
	var got []string
	for _, line := range strings.Split(out, "\n") {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			got = append(got, strings.Trim(name, `"`))
		}
	}
	want := strings.Fields("model runs inputs threads concurrency rate median_ms min_ms p90_ms p99_ms cpu_ms " +
		"load_ms first_ms cold_ms runs_per_s policy arms devices name runs runs_share busy_share arena_bytes " +
		"arena_lower_bound " +
		"weight_bytes peak_rss_bytes")
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBenchSaysWhatEachDeviceDid(t *testing.T) {
	model := save(t, scores())
	for _, c := range []struct {
		args  []string
		names string
		runs  int64
	}{
		{nil, "cpu", 20},
		{[]string{"--devices", "cpu,sim:1"}, "cpu sim:1", 20},
		{[]string{"--rate", "5000"}, "cpu", 20},
	} {
		args := append([]string{model, "--cold=0", "--runs=20", "--concurrency=3", "--dim", "batch=2"}, c.args...)
		r := benched(t, args...)
		var names []string
		var runs int64
		for _, d := range r.Devices {
			names = append(names, d.Name)
			runs += d.Runs
			if d.Share != float64(d.Runs)/20 || d.BusyShare < 0 || d.BusyShare > 1 || d.Runs > 0 && d.BusyShare == 0 {
				t.Errorf("%v: got %+v", c.args, d)
			}
		}
		if strings.Join(names, " ") != c.names || runs < c.runs {
			t.Errorf("%v: got %+v, want %s, with %d runs or more", c.args, r.Devices, c.names, c.runs)
		}
		if r.P90MS > r.P99MS || r.MedianMS > r.P90MS {
			t.Errorf("%v: got median %v, p90 %v, p99 %v, want them in order", c.args, r.MedianMS, r.P90MS, r.P99MS)
		}
		if rated := r.Rate != nil; rated != slices.Contains(c.args, "--rate") {
			t.Errorf("%v: got rate %v", c.args, r.Rate)
		}
	}
}

func TestBenchSaysWhichArmsWereTaken(t *testing.T) {
	model := save(t, scores())
	for _, policy := range []string{"", "ect", "static", "load", "fit", "tiers"} {
		r := benched(t, model, "--cold=0", "--runs=20", "--dim", "batch=2", "--devices", "cpu,sim:1", "--policy", policy)
		var runs int64
		share := 0.0
		for i, a := range r.Arms {
			runs, share = runs+a.Runs, share+a.Share
			if i > 0 && a.Runs > r.Arms[i-1].Runs {
				t.Errorf("%s: got %+v, want what was taken most often first", policy, r.Arms)
			}
		}
		if want := cmp.Or(policy, "ect"); r.Policy != want || runs != 20 || math.Abs(share-1) > 1e-9 {
			t.Errorf("%s: got policy %q and arms %+v, want %s with 20 runs", policy, r.Policy, r.Arms, want)
		}
	}
	if r := benched(t, model, "--cold=0"); r.Policy != "" || r.Arms == nil || len(r.Arms) != 0 {
		t.Errorf("one device: got policy %q and arms %v, want none", r.Policy, r.Arms)
	}
}

func TestArrivalsAreDrawnFromTheSeed(t *testing.T) {
	const n, rate = 20000, 50.0
	a, b, c := arrivals(rate, n, 1), arrivals(rate, n, 1), arrivals(rate, n, 2)
	if !slices.Equal(a, b) || slices.Equal(a, c) || !slices.IsSorted(a) {
		t.Error("want the same arrivals for the same seed, others for another one, and all in order")
	}
	// The mean gap is 20 ms; that of so many is within 4 % of it with some five standard deviations.
	if mean := a[n-1].Seconds() / n; mean < 0.96/rate || mean > 1.04/rate {
		t.Errorf("got a mean gap of %v s, want about %v", mean, 1/rate)
	}
	long := 0
	for i := 1; i < n; i++ {
		if (a[i] - a[i-1]).Seconds() > 2/rate {
			long++
		}
	}
	// exp(-2) of the gaps are longer than twice the mean.
	if share := float64(long) / n; share < 0.12 || share > 0.15 {
		t.Errorf("got %.3f of the gaps above twice the mean, want 0.135", share)
	}
	if last := arrivals(1e-300, 3, 1)[2]; last != latest*time.Second {
		t.Errorf("got an arrival at %v, want %v at most", last, latest*time.Second)
	}
}

// Runs that arrive faster than they are done wait for one another, and that is in their times.
func TestTimesCountFromTheArrival(t *testing.T) {
	model := save(t, scores())
	// All arrive within 2 ms or so, and one runs at a time.
	r := benched(t, model, "--cold=0", "--runs=2000", "--rate", "1000000", "--dim", "batch=500")
	if all := 2000 / r.RunsPerSecond * 1e3; r.P99MS < 0.5*all {
		t.Errorf("got p99 %v ms of %v ms for all runs, want most of it", r.P99MS, all)
	}
}

func TestBenchCyclesOverSizesAndData(t *testing.T) {
	model := save(t, scores())
	for _, c := range []struct {
		args   []string
		inputs int
	}{
		{[]string{"--dim", "batch=1/2/3"}, 3},
		{[]string{"--dim", "batch=1;batch=5"}, 2},
		{[]string{"--max", "batch=5"}, 1},
		{[]string{"--input", "x=[[1,2,3]]"}, 1},
	} {
		if r := benched(t, append(c.args, model, "--cold=0", "--runs=7", "--concurrency=2")...); r.Inputs != c.inputs {
			t.Errorf("%v: got %+v, want %d inputs", c.args, r, c.inputs)
		}
	}
	set := func(n int64) tensors { return tensors{"input_0": tensor.Must(tensor.Shape{n}, make([]float32, n))} }
	dir := layout(t, t.TempDir(), copies(tensor.Float32, "n").Bytes(), set(1), set(4), set(9))
	for data, inputs := range map[string]int{dir: 3, filepath.Join(dir, setPrefix+"1"): 1} {
		if r := benched(t, filepath.Join(dir, modelFile), "--data", data, "--cold=0"); r.Inputs != inputs {
			t.Errorf("%s: got %+v, want %d inputs", data, r, inputs)
		}
	}
}

func TestRandomInputsOfManySizesShareMemory(t *testing.T) {
	m, err := stowage.LoadBytes(scores().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	v := benchVerb{Dim: sizes{{"batch": 2}, {"batch": 5}, {"batch": 3}}}
	sets, err := v.sets(&env{}, m)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range []int64{2, 5, 3} {
		x := sets[i].in["x"]
		shared := &x.Bytes()[0] == &sets[1].in["x"].Bytes()[0]
		if !x.Shape().Equal(tensor.Shape{n, 3}) || !shared || sets[i].dims["batch"] != n {
			t.Errorf("set %d: got %v, %v, want %d rows over the memory of set 1", i, x, sets[i].dims, n)
		}
		alone, err := values.Random("x", tensor.Float32, x.Shape(), v.Seed)
		if err != nil || !bytes.Equal(alone.Bytes(), x.Bytes()) {
			t.Errorf("set %d: got other contents than alone, %v", i, err)
		}
	}
}

func TestBenchInTextIsForAReader(t *testing.T) {
	out := good(t, "bench", save(t, scores()), "--cold=0")
	for _, want := range []string{"10 runs of 1 inputs", "median", "cold -", "arena", "weights 144 B"} {
		if !strings.Contains(out, want) {
			t.Errorf("got %s, want %s", out, want)
		}
	}
}

func TestSizesAreProductsAndSets(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"h=1/2,w=3/4"}, "h=1,w=3 h=1,w=4 h=2,w=3 h=2,w=4"},
		{[]string{"h=1,w=2;h=3"}, "h=1,w=2 h=3"},
		{[]string{"h=1/2", "w=3"}, "h=1,w=3 h=2,w=3"},
		{[]string{"h=1;w=2", "c=3"}, "c=3,h=1 c=3,w=2"},
		{[]string{"past + 1=0"}, "past + 1=0"},
	} {
		var v struct{ Dim sizes }
		parser, err := kong.New(&v)
		if err != nil {
			t.Fatal(err)
		}
		var args []string
		for _, a := range c.args {
			args = append(args, "--dim", a)
		}
		if _, err := parser.Parse(args); err != nil {
			t.Errorf("%q: %v", c.args, err)
		}
		var got []string
		for _, d := range v.Dim {
			got = append(got, d.String())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: got %q, want %q", c.args, got, c.want)
		}
	}
	many := strings.TrimSuffix(strings.Repeat("1/", 101), "/")
	if _, err := expand(sizes{{}}, mustDims(t, "a="+many+",b="+many)); err == nil {
		t.Error("10201 combinations: got no error")
	}
}

func mustDims(t *testing.T, s string) []choice {
	t.Helper()
	c, err := parseDims(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSeveralSizesAreBoundedAndOneIsFixed(t *testing.T) {
	one := benchVerb{Dim: sizes{{"h": 3, "w": 4}}, Max: dims{"w": 9}}
	o := one.options()
	if !reflect.DeepEqual(o.Fix, map[string]int64{"h": 3}) || !reflect.DeepEqual(o.Max, map[string]int64{"w": 9}) {
		t.Errorf("one: got %+v", o)
	}
	two := benchVerb{Dim: sizes{{"h": 3, "w": 4}, {"h": 1, "w": 5}}}
	if o := two.options(); len(o.Fix) != 0 || !reflect.DeepEqual(o.Max, map[string]int64{"h": 3, "w": 5}) {
		t.Errorf("two: got %+v", o)
	}
}

func TestQuantilesAreOfTheSortedTimes(t *testing.T) {
	var times []time.Duration
	for i := range 10 {
		times = append(times, time.Duration(i+1))
	}
	for percent, want := range map[int]time.Duration{0: 1, 10: 1, 11: 2, 50: 5, 90: 9, 91: 10, 100: 10} {
		if got := quantile(slices.Clone(times), percent); got != want {
			t.Errorf("%d%%: got %d, want %d", percent, got, want)
		}
	}
}

func TestUsageFiguresGrow(t *testing.T) {
	before, known := cpuTime()
	if !known {
		t.Skip("CPU time is not known on this system")
	}
	x := 0.0
	for start := time.Now(); time.Since(start) < 30*time.Millisecond; {
		x++
	}
	if after, _ := cpuTime(); after <= before {
		t.Errorf("got %v after %v and %v rounds", after, before, x)
	}
	if peak, ok := peakRSS(); !ok || peak < 1<<20 {
		t.Errorf("got a peak of %d bytes, %v", peak, ok)
	}
}
