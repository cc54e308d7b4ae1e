package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/cmd/stowage/internal/compare"
	"github.com/stowage-ml/stowage/tensor"
)

// grace is how long a run may go on after its time is up, at most: it looks at the clock between
// steps.
const grace = 2 * time.Second

// guard runs one model's test so that neither a crash nor a hang ends the program. A model that
// hangs keeps its goroutine and its memory.
func (v *testVerb) guard(parent context.Context, dir string, test func(context.Context, *caseResult)) caseResult {
	start := time.Now()
	ctx, cancel := context.WithTimeout(parent, v.Timeout)
	defer cancel()
	done := make(chan caseResult, 1)
	go func() {
		c := caseResult{Dir: dir}
		defer func() {
			if r := recover(); r != nil {
				c.Status, c.Reason = missed, fmt.Sprintf("crash: %v at %s", r, crashSite(string(debug.Stack())))
			}
			done <- c
		}()
		debug.SetPanicOnFault(true)
		test(ctx, &c)
	}()
	c := caseResult{Dir: dir, Status: missed, Reason: fmt.Sprintf("timeout: got no end within %v", v.Timeout)}
	late := time.NewTimer(v.Timeout + min(grace, v.Timeout))
	defer late.Stop()
	select {
	case c = <-done:
		if ctx.Err() == context.DeadlineExceeded && c.Status != passed {
			c.Status, c.Reason = missed, fmt.Sprintf("timeout: got no end within %v", v.Timeout)
		}
	case <-late.C:
	}
	c.MS = float64(time.Since(start).Microseconds()) / 1e3
	return c
}

// crashSite finds the line that panicked in a stack: the first below the last call of panic that
// is not in the runtime.
func crashSite(stack string) string {
	_, below, _ := strings.Cut(stack[max(strings.LastIndex(stack, "\npanic("), 0):], "\n\t")
	lines := strings.Split(below, "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		if !strings.HasPrefix(lines[i], "runtime.") {
			site, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
			return filepath.Base(site)
		}
	}
	return "an unknown place"
}

// one tests the model in c.Dir with every data set, and stops at the first that fails.
func (v *testVerb) one(ctx context.Context, c *caseResult) {
	m, err := stowage.Load(filepath.Join(c.Dir, modelFile))
	if err != nil {
		c.stop(err)
		return
	}
	defer m.Close()
	c.quantized = quantizationOf(m)
	tol, bound := v.tolerance(c.quantized)
	c.Bound = bound
	if all := m.Unsupported(); len(all) > 0 {
		c.Status, c.Reason = skipped, "cannot run "+all[0].String()
		if len(all) > 1 {
			c.Reason += fmt.Sprintf(", and %d more", len(all)-1)
		}
		return
	}
	if name := draws(m); name != "" {
		c.Status, c.Reason = skipped, name+" draws numbers: there is no reference to compare with"
		return
	}
	o, err := v.follow(v.apply(&stowage.Options{}))
	if err != nil {
		c.stop(err)
		return
	}
	s, err := m.Open(o)
	if err != nil {
		c.stop(err)
		return
	}
	defer s.Close()
	sets, err := numbered(c.Dir, setPrefix, "")
	if err != nil || len(sets) == 0 {
		c.Status, c.Reason = missed, "got no "+setPrefix+"* folder, want one"
		return
	}
	peaks := outputPeaks(m, sets)
	if c.quantized == exact && v.ATol == nil {
		for _, p := range peaks {
			tol.Slack = max(tol.Slack, floatShare*p)
		}
		tol.Outliers = outlierShare
	} else {
		clear(peaks)
	}
	for _, set := range sets {
		if err := c.runSet(ctx, m, s, set, tol, peaks); err != nil {
			c.Status, c.Reason = missed, fmt.Sprintf("%s: %v", filepath.Base(set), err)
			return
		}
	}
	c.Status = passed
}

// outputPeaks returns, for each float output, its largest reference in all data sets; files that
// cannot be read count when their set is run.
func outputPeaks(m *stowage.Model, sets []string) map[string]float64 {
	peaks := map[string]float64{}
	for _, set := range sets {
		want, err := readPorts(set, "output", m.Outputs())
		if err != nil {
			continue
		}
		for name, t := range want {
			peaks[name] = max(peaks[name], compare.Peak(t))
		}
	}
	return peaks
}

// stop ends a test whose model cannot be opened: skipped when it needs what is not supported.
func (c *caseResult) stop(err error) {
	c.Status, c.Reason = missed, err.Error()
	if errors.Is(err, errors.ErrUnsupported) {
		c.Status = skipped
	}
}

// draws returns an operator of the model whose results are left to chance, or "".
func draws(m *stowage.Model) string {
	for _, o := range m.Ops() {
		switch o.Op {
		case "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike":
			return o.Op
		}
	}
	return ""
}

// quantization is what a model does with 8-bit integers, as far as it makes results inexact.
type quantization int

const (
	exact quantization = iota
	rounds
	multiplies
)

// quantizationOf finds out by the model's operators.
func quantizationOf(m *stowage.Model) quantization {
	q := exact
	for _, o := range m.Ops() {
		switch name := o.Op[strings.LastIndexByte(o.Op, '.')+1:]; {
		case name == "MatMulInteger", name == "ConvInteger", strings.HasPrefix(name, "QLinear"):
			return multiplies
		case name == "QuantizeLinear", name == "DynamicQuantizeLinear":
			q = rounds
		}
	}
	return q
}

// runSet runs one data set and compares every output.
func (c *caseResult) runSet(
	ctx context.Context, m *stowage.Model, s *stowage.Session, set string, tol compare.Tolerance,
	peaks map[string]float64,
) error {
	in, err := readPorts(set, "input", m.Inputs())
	if err != nil {
		return err
	}
	want, err := readPorts(set, "output", m.Outputs())
	if err != nil {
		return err
	}
	got, err := s.Run(ctx, in)
	if err != nil {
		return err
	}
	bad := 0
	for _, info := range m.Outputs() {
		w := want[info.Name]
		if w == nil {
			continue
		}
		o := outputResult{Set: filepath.Base(set), Name: info.Name, Elements: w.Len(), Detail: "got no such output"}
		if g := got[info.Name]; g != nil {
			tol.Peak = peaks[info.Name]
			o.judge(compare.Tensors(g, w, tol))
		}
		if !o.OK {
			bad++
		}
		c.Outputs = append(c.Outputs, o)
	}
	if bad > 0 {
		return fmt.Errorf("got %d of %d outputs out of bounds", bad, len(want))
	}
	return nil
}

func (o *outputResult) judge(r compare.Result) {
	o.OK, o.MaxAbs, o.MaxRel, o.ATol, o.RTol, o.Bad = r.OK, r.MaxAbs, r.MaxRel, r.ATol, r.RTol, r.Bad
	o.Outliers, o.Detail = r.Outliers, r.Mismatch
	if r.Bad > 0 {
		o.First = r.First
		o.Detail = fmt.Sprintf("%d of %d elements, first at %d: got %s, want %s", r.Bad, o.Elements, r.First, r.Got, r.Want)
	}
}

// readPorts reads the stored tensors of one kind, each for the port of its own name, or else for
// the one at its position. Every port needs one, save outputs that have no file.
func readPorts(set, kind string, infos []stowage.Info) (map[string]*tensor.Tensor, error) {
	files, err := numbered(set, kind+"_", ".pb")
	if err != nil {
		return nil, err
	}
	if len(files) > len(infos) || len(files) < len(infos) && kind == "input" {
		return nil, fmt.Errorf("%ss: got %d files, want %d", kind, len(files), len(infos))
	}
	known := map[string]bool{}
	for _, info := range infos {
		known[info.Name] = true
	}
	out := map[string]*tensor.Tensor{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name, t, err := stowage.ReadTensor(b)
		if err != nil {
			return nil, about(filepath.Base(file), err)
		}
		if pos := number(file); !known[name] || out[name] != nil {
			if pos < 0 || pos >= len(infos) {
				return nil, fmt.Errorf("%s: got a tensor named %q, want a position below %d", filepath.Base(file), name, len(infos))
			}
			name = infos[pos].Name
		}
		if out[name] != nil {
			return nil, fmt.Errorf("%s: got a second tensor for %q", filepath.Base(file), name)
		}
		out[name] = t
	}
	return out, nil
}
