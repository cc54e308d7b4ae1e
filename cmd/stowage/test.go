package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/stowage-ml/stowage/cmd/stowage/internal/compare"
)

// testVerb compares models with reference outputs.
type testVerb struct {
	Dirs []string `arg:"" name:"dir" help:"Folders that hold model.onnx and test_data_set_*, or that hold such folders."`
	RTol float64  `name:"rtol" default:"1e-3" help:"Relative tolerance of floats."`
	ATol *float64 `name:"atol" placeholder:"A" help:"Absolute tolerance of floats (1e-4 of the reference's peak)."`
	tuning
	following
	Timeout time.Duration `default:"5m" help:"Most time for one model, with all its data."`
	JSON    bool          `name:"json" help:"Print JSON."`
	Verbose bool          `short:"v" help:"Also print what passed, and every output's errors."`
}

// The shares of a reference's peak that a float may be off.
const (
	floatShare = 1e-4
	// outlierShare of the elements may be off by floatShare of the model's peak: see Help.
	outlierShare = 1e-4
	// roundShare is for models that round activations to 8 bits: see Help.
	roundShare = 0.02
	// productShare is for models that multiply 8-bit integers: see Help.
	productShare = 0.125
)

// Help states what counts and what is tolerated.
func (*testVerb) Help() string {
	return `A folder with model.onnx is one model, and counts once, whatever the number of its data sets
(test_data_set_N/{input,output}_M.pb); all of them run in one session. A stored tensor feeds the input of
its name, or else the M-th input. A float passes when |got-want| <= atol + rtol*|want|, where atol is 1e-4
of the output's largest finite |want| in all data sets. One element in 10,000 may be further off, by 1e-4 of
the largest |want| of all the model's outputs: where a graph compares (the peaks of a heat map, say), the last
bit decides, and reference and result can be right and differ. Integers, bools and strings must be equal; a
NaN equals a NaN, an infinity itself. rtol is at least one unit in the last place of float16 and bfloat16
outputs.

Models that round activations to 8 bits (QuantizeLinear, DynamicQuantizeLinear) get atol = 2% of the largest
|want| of the output: x/scale at a tie is decided by the last bit of x, so two right programs may differ by a whole quantum
(1/255 of the activation's range), and the following layers carry that on. Models that multiply 8-bit
integers (MatMulInteger, ConvInteger, QLinear*) get 12.5%: references are mostly made by programs whose
uint8 x int8 products saturate each sum of two to 16 bits (the x86 instruction vpmaddubsw), which takes up
to 32003 from an exact sum; ONNX wants the exact one, which is computed here. --atol replaces each of these.

A model that needs an operator, type or opset that is not supported is skipped, with the reason. A bad file,
a crash or a timeout is a failure. Exit status 1 when a model failed.`
}

// Run tests every model and closes with the counts.
func (v *testVerb) Run(e *env) error {
	if v.RTol < 0 || math.IsNaN(v.RTol) || v.ATol != nil && !(*v.ATol >= 0) {
		return errors.New("test: tolerance: want 0 or more for --rtol and --atol")
	}
	paths, err := findCases(v.Dirs)
	if err != nil {
		return err
	}
	r := testReport{Cases: []caseResult{}}
	bar := e.progress("test", len(paths))
	for _, dir := range paths {
		if err := e.ctx.Err(); err != nil {
			bar.done()
			return failed(errors.New("test: interrupted"))
		}
		c := v.guard(e.ctx, dir, v.one)
		r.add(c)
		bar.clear()
		if !v.JSON {
			c.print(e, v.Verbose)
			if err := e.flush(); err != nil {
				return failed(err)
			}
		}
		bar.step()
	}
	bar.done()
	if v.JSON {
		if err := e.json(r); err != nil {
			return err
		}
	} else {
		e.printf("%d passed, %d failed, %d skipped\n", r.Passed, r.Failed, r.Skipped)
	}
	if r.Failed > 0 {
		// The report is what was asked for: it is printed although the work failed.
		err := fmt.Errorf("test: got %d of %d models that failed, want 0", r.Failed, len(r.Cases))
		return errors.Join(failed(err), e.flush())
	}
	return nil
}

// tolerance returns the bound for a model's float outputs, and what to call it.
func (v *testVerb) tolerance(q quantization) (compare.Tolerance, string) {
	switch {
	case v.ATol != nil:
		return compare.Tolerance{RTol: v.RTol, ATol: *v.ATol}, fmt.Sprintf("atol %g, rtol %g", *v.ATol, v.RTol)
	case q == multiplies:
		return compare.Tolerance{RTol: v.RTol, Share: productShare},
			fmt.Sprintf("atol 12.5%% of peak, rtol %g (8-bit products)", v.RTol)
	case q == rounds:
		return compare.Tolerance{RTol: v.RTol, Share: roundShare},
			fmt.Sprintf("atol 2%% of peak, rtol %g (activations rounded to 8 bits)", v.RTol)
	}
	return compare.Tolerance{RTol: v.RTol, Share: floatShare}, fmt.Sprintf("atol 1e-4 of peak, rtol %g", v.RTol)
}

// The outcomes of a model's test.
const (
	passed  = "passed"
	missed  = "failed"
	skipped = "skipped"
)

// testReport is the JSON of test.
type testReport struct {
	Passed  int          `json:"passed"`
	Failed  int          `json:"failed"`
	Skipped int          `json:"skipped"`
	Cases   []caseResult `json:"cases"`
}

// caseResult is what came of one model.
type caseResult struct {
	Dir    string `json:"dir"`
	Status string `json:"status"`
	// Reason says why the model failed or was skipped.
	Reason string `json:"reason,omitempty"`
	// Bound names the tolerance of float outputs.
	Bound   string         `json:"bound,omitempty"`
	MS      float64        `json:"ms"`
	Outputs []outputResult `json:"outputs,omitempty"`

	quantized quantization
}

// outputResult is the comparison of one output in one data set.
type outputResult struct {
	Set    string  `json:"set"`
	Name   string  `json:"name"`
	OK     bool    `json:"ok"`
	MaxAbs float64 `json:"max_abs"`
	MaxRel float64 `json:"max_rel"`
	ATol   float64 `json:"atol"`
	RTol   float64 `json:"rtol"`
	// Bad counts the elements out of bounds, of Elements; First is the index of the first.
	Bad int `json:"bad"`
	// Outliers counts the elements that pass by the wider bound for one in 10,000.
	Outliers int    `json:"outliers,omitempty"`
	Elements int    `json:"elements"`
	First    int    `json:"first,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

func (r *testReport) add(c caseResult) {
	switch c.Status {
	case passed:
		r.Passed++
	case skipped:
		r.Skipped++
	default:
		r.Failed++
	}
	r.Cases = append(r.Cases, c)
}

func (c *caseResult) print(e *env, verbose bool) {
	switch {
	case c.Status != passed:
		e.printf("%s  %s: %s\n", c.Status, c.Dir, plain(c.Reason))
	case verbose || c.quantized != exact:
		e.printf("%s  %s: %s\n", c.Status, c.Dir, c.Bound)
	}
	for _, o := range c.Outputs {
		if verbose || !o.OK {
			e.printf("    %s %s: max abs %.3g, max rel %.3g, atol %.3g, rtol %.3g",
				o.Set, plain(o.Name), o.MaxAbs, o.MaxRel, o.ATol, o.RTol)
			if !o.OK {
				e.printf("; %s", plain(o.Detail))
			}
			if o.Outliers > 0 {
				e.printf("; %d of %d elements by the model's bound", o.Outliers, o.Elements)
			}
			e.printf("\n")
		}
	}
}
