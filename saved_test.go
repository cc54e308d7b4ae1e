package stowage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/conform"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// openWith opens a session of a model, and closes both with the test.
func openWith(t *testing.T, data []byte, opts Options) *Session {
	t.Helper()
	m, err := LoadBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Open(&opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = s.Close(), m.Close() })
	return s
}

func savedBy(t *testing.T, s *Session) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.SavePlans(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSavedPlansAreFollowed opens random graphs, whose kernels have random layouts and costs, once by
// search and once, with the costs of other seeds, as saved: plans, and all bits of the results, are the same.
func TestSavedPlansAreFollowed(t *testing.T) {
	plain := kernelSet
	defer func() { kernelSet = plain }()
	compared := 0
	for seed := range uint64(120) {
		kernelSet = func(string, []string) (backend.Backend, error) {
			return conform.Blocks{Backend: ref.Backend{}, Block: backend.Layout(1 + seed%3), Seed: seed}, nil
		}
		b := newRandomModel(seed)
		opts := Options{Threads: 1}
		if seed%2 == 0 {
			opts.Max = b.bounds
		}
		if seed%5 == 0 {
			opts.Devices = []string{"sim:0.1"}
		}
		model := b.model.Bytes()
		first := openWith(t, model, opts)
		var fed []map[string]*tensor.Tensor
		var want []map[string]*tensor.Tensor
		for range 3 {
			in := map[string]*tensor.Tensor{}
			for i, x := range b.feeds() {
				in[b.inputs[i].name] = x
			}
			if out, err := first.Run(context.Background(), in); err == nil {
				fed, want = append(fed, in), append(want, out)
			}
		}
		if len(fed) == 0 {
			continue
		}
		compared++
		opts.Plan = savedBy(t, first)
		second := openWith(t, model, opts)
		for i, in := range fed {
			got, err := second.Run(context.Background(), in)
			if err != nil {
				t.Fatalf("seed %d: got error %v, want the saved plan followed", seed, err)
			}
			for name, x := range want[i] {
				if !conform.Same(got[name], x) && !first.model.random() {
					t.Errorf("seed %d: output %q: got %v, want %v", seed, name, contents(got[name]), contents(x))
				}
			}
		}
		if !bytes.Equal(savedBy(t, second), opts.Plan) {
			t.Errorf("seed %d: got other plans when they are saved again, want the same bytes", seed)
		}
	}
	if compared < 60 {
		t.Errorf("got %d graphs that ran, want at least 60", compared)
	}
}

// mobile is a network with kernels in blocks.
func mobile() []byte {
	return testkit.MobileNet{Stages: []testkit.MobileStage{{Expand: 1, Out: 16, Blocks: 1, Stride: 1},
		{Expand: 6, Out: 32, Blocks: 2, Stride: 2}}, Stem: 16, Head: 32, Classes: 5, Size: 32, Seed: 1}.Model().Bytes()
}

func batch(n int64) map[string]int64 { return map[string]int64{"batch": n} }

func TestSavedPlansKeepTheDigest(t *testing.T) {
	for _, opts := range []Options{{}, {Kernels: "generic"}, {Kernels: reference}, {Max: batch(3)},
		{Devices: []string{"cpu", "sim:0.2"}}} {
		s := openWith(t, mobile(), opts)
		for n := int64(1); n <= 3; n++ {
			if _, err := s.Plan(batch(n)); err != nil {
				t.Fatal(err)
			}
		}
		again := opts
		again.Plan = savedBy(t, s)
		f := openWith(t, mobile(), again)
		for n := int64(1); n <= 3; n++ {
			want, err := s.Plan(batch(n))
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Plan(batch(n))
			if err != nil || got.Digest != want.Digest || got.Devices[0].ArenaBytes != want.Devices[0].ArenaBytes {
				t.Errorf("%+v: batch %d: got %v, want\n%v%v", opts, n, err, got, want)
			} else if last := got.Steps[len(got.Steps)-1]; last.Op != "Transfer" && !strings.Contains(last.Reason, "as saved") {
				t.Errorf("%+v: got reason %q, want it to say that the plan was saved", opts, last.Reason)
			}
		}
		if !bytes.Equal(savedBy(t, f), again.Plan) {
			t.Errorf("%+v: got other bytes when saved again, want the same", opts)
		}
	}
}

// revised offers the kernels of another backend as the next revision.
type revised struct{ cpu.Backend }

func (b revised) Candidates(o *backend.Op) ([]backend.Candidate, error) {
	cs, err := b.Backend.Candidates(o)
	for i := range cs {
		cs[i].Revision++
	}
	return cs, err
}

func TestSavedPlansSayWhatHasChanged(t *testing.T) {
	base := Options{Threads: 1, Fix: batch(1), Kernels: "generic"}
	file := savedBy(t, openWith(t, mobile(), base))
	other := testkit.MobileNet{Stages: []testkit.MobileStage{{Expand: 1, Out: 16, Blocks: 1, Stride: 1},
		{Expand: 6, Out: 32, Blocks: 2, Stride: 2}}, Stem: 16, Head: 32, Classes: 5, Size: 32, Seed: 2}.Model().Bytes()
	plain := kernelSet
	defer func() { kernelSet = plain }()
	for _, c := range []struct {
		want    string
		model   []byte
		change  func(o *Options)
		kernels func(b backend.Backend) backend.Backend
	}{
		{want: "model", model: other},
		{want: "kernels", change: func(o *Options) { o.Kernels = reference }},
		{want: "kernels left out", change: func(o *Options) { o.NoKernel = []string{"gemm"} }},
		{want: "devices", change: func(o *Options) { o.Devices = []string{"sim:2"} }},
		{want: "fuse rules left out", change: func(o *Options) { o.NoFuse = []string{"all"} }},
		{want: "fixed dims", change: func(o *Options) { o.Fix = batch(2) }},
		{want: "outputs", change: func(o *Options) { o.Outputs = []string{} }},
		{want: "revision", kernels: func(b backend.Backend) backend.Backend { return revised{b.(cpu.Backend)} }},
		{want: "not on offer", kernels: func(backend.Backend) backend.Backend { return ref.Backend{} }},
	} {
		model, opts := mobile(), base
		if c.model != nil {
			model = c.model
		}
		if c.change != nil {
			c.change(&opts)
		}
		kernelSet = func(name string, off []string) (backend.Backend, error) {
			b, err := namedKernels(name, off)
			if err == nil && c.kernels != nil {
				b = c.kernels(b)
			}
			return b, err
		}
		m, err := LoadBytes(model)
		if err != nil {
			t.Fatal(err)
		}
		opts.Plan = file
		if _, err = m.Open(&opts); !errors.Is(err, ErrPlanChanged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one that says so", c.want, err)
		}
		opts.Replan = true
		if len(opts.Outputs) > 0 || opts.Outputs == nil {
			if err := openWith(t, model, opts).SavePlans(&bytes.Buffer{}); err != nil {
				t.Errorf("%s: with leave to plan anew: got error %v, want a plan", c.want, err)
			}
		}
	}
}

func TestSavedPlansAreForTheirShapesAlone(t *testing.T) {
	s := openWith(t, mobile(), Options{})
	if err := s.SavePlans(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "got none") {
		t.Errorf("nothing planned: got error %v, want one that says so", err)
	}
	if _, err := s.Plan(batch(2)); err != nil {
		t.Fatal(err)
	}
	opts := Options{Plan: savedBy(t, s)}
	if _, err := openWith(t, mobile(), opts).Plan(batch(3)); !errors.Is(err, ErrPlanChanged) ||
		!strings.Contains(err.Error(), "float32[3,3,32,32]") {
		t.Errorf("got error %v, want one that names the shapes", err)
	}
	opts.Replan = true
	f := openWith(t, mobile(), opts)
	if _, err := f.Plan(batch(3)); err != nil {
		t.Errorf("with leave to plan anew: got error %v", err)
	}
	if n := bytes.Count(savedBy(t, f), []byte(`"shapes"`)); n != 2 {
		t.Errorf("got %d plans saved, want the one of the file and the new one", n)
	}
}

func TestPlanFilesAreReadStrictly(t *testing.T) {
	file := savedBy(t, openWith(t, mobile(), Options{Fix: batch(1)}))
	text := string(file)
	for name, c := range map[string]struct{ file, want string }{
		"not JSON":       {"plan", "invalid character"},
		"other JSON":     {"{}", "format"},
		"other version":  {strings.Replace(text, `"version": 1`, `"version": 2`, 1), "version 2"},
		"trailing data":  {text + "{}", "invalid character"},
		"trailing space": {text + " ", "other bytes"},
		"unknown field":  {strings.Replace(text, `"parted":`, `"party":`, 1), "unknown field"},
		"field twice":    {strings.Replace(text, `"version": 1`, `"version": 1, "version": 1`, 1), "other bytes"},
		"edited":         {strings.Replace(text, `"offset": 0`, `"offset": 64`, 1), "damaged or edited"},
		"cut":            {text[:len(text)/2], "unexpected end"},
	} {
		m, err := LoadBytes(mobile())
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Open(&Options{Fix: batch(1), Plan: []byte(c.file), Replan: true})
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrPlanChanged) {
			t.Errorf("%s: got error %v, want %q", name, err, c.want)
		}
	}
}

// signed gives an edited file the digest that it should have.
func signed(f *savedPlans) []byte {
	f.Digest = f.digest()
	return f.encode()
}

// TestWrongDecisionsAreRefused edits a plan so that its digest is right and a decision is not.
func TestWrongDecisionsAreRefused(t *testing.T) {
	opts := Options{Fix: batch(1), Threads: 1, Kernels: reference}
	file := savedBy(t, openWith(t, mobile(), opts))
	for name, edit := range map[string]func(f *savedPlans){
		"offset":         func(f *savedPlans) { f.Plans[0].Ranges[1].Offset = f.Plans[0].Ranges[0].Offset },
		"negative":       func(f *savedPlans) { f.Plans[0].Ranges[0].Offset = -64 },
		"overflow":       func(f *savedPlans) { f.Plans[0].Ranges[0].Offset = 1<<63 - 64 },
		"not aligned":    func(f *savedPlans) { f.Plans[0].Ranges[0].Offset++ },
		"arena":          func(f *savedPlans) { f.Plans[0].Arenas[0].Bytes += 64 },
		"bound":          func(f *savedPlans) { f.Plans[0].Arenas[0].LowerBound = 1 << 60 },
		"order":          func(f *savedPlans) { s := f.Plans[0].Steps; s[1], s[2] = s[2], s[1] },
		"step twice":     func(f *savedPlans) { s := f.Plans[0].Steps; s[1] = s[2] },
		"no node":        func(f *savedPlans) { f.Plans[0].Steps[0].Node = 1 << 40 },
		"negative node":  func(f *savedPlans) { f.Plans[0].Steps[0].Node = -7 },
		"step left out":  func(f *savedPlans) { f.Plans[0].Steps = f.Plans[0].Steps[1:] },
		"device":         func(f *savedPlans) { f.Plans[0].Steps[0].Device = 3 },
		"layout":         func(f *savedPlans) { f.Plans[0].Steps[0].Out = []backend.Layout{-1} },
		"no arenas":      func(f *savedPlans) { f.Plans[0].Arenas = nil },
		"parts":          func(f *savedPlans) { f.Plans[0].Parted = !f.Plans[0].Parted; f.Plans[0].Ranges[0].At = 1 << 62 },
		"key":            func(f *savedPlans) { f.Plans[0].Key = "x" },
		"the same twice": func(f *savedPlans) { f.Plans = append(f.Plans, f.Plans[0]) },
	} {
		f, err := readPlans(file)
		if err != nil {
			t.Fatal(err)
		}
		edit(f)
		m, err := LoadBytes(mobile())
		if err != nil {
			t.Fatal(err)
		}
		wrong := opts
		wrong.Plan = signed(f)
		if s, err := m.Open(&wrong); err == nil {
			t.Errorf("%s: got a session, want an error", name)
			_ = s.Close()
		} else if strings.Contains(err.Error(), "BUG") {
			t.Errorf("%s: got %v, want an error that says what is wrong with the file", name, err)
		}
	}
}

// FuzzPlanFile takes any bytes as a plan file, as they are and with the digest that they should have:
// nothing may panic, and what is accepted runs.
func FuzzPlanFile(f *testing.F) {
	var models []*Model
	opts := Options{MaxBytes: 1 << 24, Threads: 1, Kernels: reference}
	for _, m := range seedModels() {
		model, err := LoadBytes(m.Bytes())
		if err != nil {
			f.Fatal(err)
		}
		models = append(models, model)
		s, err := model.Open(&opts)
		if err != nil {
			f.Fatal(err)
		}
		var b bytes.Buffer
		if err := errors.Join(s.planAndRun(), s.SavePlans(&b), s.Close()); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		asIs := opts
		asIs.Plan = file
		p := &savedPlans{}
		_ = json.Unmarshal(file, p)
		for _, m := range models {
			if s, err := m.Open(&asIs); err == nil {
				_ = s.Close()
			}
			s, err := m.Open(&opts)
			if err != nil {
				t.Fatal(err)
			}
			if s.unit.Follow(p.Plans, false) == nil {
				if err := s.planAndRun(); err != nil && strings.Contains(err.Error(), "BUG:") {
					t.Error(err)
				}
			}
			_ = s.Close()
		}
	})
}

// planAndRun plans and runs over zeros.
func (s *Session) planAndRun() error {
	p, err := s.Plan(nil)
	if err != nil {
		return err
	}
	shapes, _ := s.shapes(p.Assumed)
	in := map[string]*tensor.Tensor{}
	for i, v := range s.unit.Graph.Inputs {
		z, err := tensor.Zeros(shapes[v].dtype, shapes[v].shape)
		if err != nil {
			return err
		}
		in[s.inputs[i].name] = z
	}
	_, err = s.Run(context.Background(), in)
	return err
}

// TestDigestIsTheSameInEveryProcess plans in two processes with different GOMAXPROCS, and compares
// what they save.
func TestDigestIsTheSameInEveryProcess(t *testing.T) {
	const child = "STOWAGE_TEST_SAVE_PLANS"
	if path := os.Getenv(child); path != "" {
		s := openWith(t, mobile(), Options{Fix: batch(2), Threads: 1, Kernels: "generic"})
		if err := os.WriteFile(path, savedBy(t, s), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	var files [2][]byte
	for i, procs := range []string{"1", "4"} {
		path := filepath.Join(t.TempDir(), "plans.json")
		cmd := exec.Command(os.Args[0], "-test.run=^TestDigestIsTheSameInEveryProcess$")
		cmd.Env = append(os.Environ(), child+"="+path, "GOMAXPROCS="+procs)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = b
	}
	here := savedBy(t, openWith(t, mobile(), Options{Fix: batch(2), Threads: 1, Kernels: "generic"}))
	if !bytes.Equal(files[0], files[1]) || !bytes.Equal(files[0], here) {
		t.Error("got plans that differ from process to process, want the same bytes")
	}
}

func TestFingerprintTellsModelsApart(t *testing.T) {
	text := "graph \"g\" {\n\tin x: float32[n]\n\tconst c = float32[2] [1, 2]\n\ty = Add@13(x, c)\n\tout y\n}"
	print := func(s string) string {
		g, err := graph.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return fingerprint(g, true)
	}
	seen := map[string]string{}
	for _, s := range []string{text, strings.Replace(text, "1, 2", "1, 3", 1), strings.Replace(text, "Add", "Mul", 1),
		strings.Replace(text, "x, c", "c, x", 1), strings.Replace(text, "@13", "@14", 1),
		strings.Replace(text, "float32[n]", "float32[m]", 1)} {
		p := print(s)
		if seen[p] != "" || p != print(s) {
			t.Errorf("got one fingerprint for\n%s\nand\n%s, want one for each, and the same again", s, seen[p])
		}
		seen[p] = s
	}
}
