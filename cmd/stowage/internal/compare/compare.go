// Package compare judges whether a tensor is close enough to a reference. It knows nothing of
// models or files.
package compare

import (
	"math"

	"github.com/stowage-ml/stowage/cmd/stowage/internal/values"
	"github.com/stowage-ml/stowage/tensor"
)

// Tolerance says how far a float may be from its reference:
// |got−want| ≤ ATol + Share·peak + RTol·|want|, the peak being the largest finite |want|, or Peak.
type Tolerance struct {
	// RTol is relative to each reference element. For float16 and bfloat16 it is at least one
	// unit in the last place (2⁻¹⁰, 2⁻⁷): two results that round to neighbours are equally good.
	RTol float64
	// ATol is absolute, in the output's own units.
	ATol float64
	// Share is a share of the reference's peak.
	Share float64
	// Peak, when it is not 0, takes the place of the peak of the reference at hand.
	Peak float64
	// Outliers is the share of the elements that may be beyond that, by no more than Slack.
	Outliers, Slack float64
}

// Result is what a comparison found. Errors are over the elements where both are finite.
type Result struct {
	OK bool
	// Mismatch says what differs when the two cannot be compared element by element.
	Mismatch string
	// ATol is the absolute bound that was used, Share·peak included, RTol the relative one; both 0
	// means exact.
	ATol, RTol float64
	// MaxAbs is the largest |got−want|, MaxRel the largest |got−want|/|want| where want is not 0.
	MaxAbs, MaxRel float64
	// Outliers counts the elements that only Tolerance.Outliers admits.
	Outliers int
	// Bad counts the elements out of bounds; First is the first one's index, in row-major order,
	// with what it was and should have been.
	Bad       int
	First     int
	Got, Want string
}

// Tensors compares got with the reference want. Types and shapes must be the same. A NaN equals
// a NaN and an infinity itself, and nothing else does. Integers, bools and strings must be equal.
func Tensors(got, want *tensor.Tensor, tol Tolerance) Result {
	r := Result{First: -1}
	if got.DType() != want.DType() || !got.Shape().Equal(want.Shape()) {
		r.Mismatch = "got " + got.String() + ", want " + want.String()
		return r
	}
	switch dt := want.DType(); dt {
	case tensor.String:
		r.each(got, want, func(i int) bool { return got.Strings()[i] == want.Strings()[i] })
	case tensor.Complex64, tensor.Complex128:
		r.complexes(got, want, tol)
	default:
		g, w := values.Numbers(got), values.Numbers(want)
		if dt.IsFloat() {
			r.floats(got, want, g, w, tol)
			break
		}
		r.integers(got, want, g, w)
	}
	r.OK = r.Bad == 0
	return r
}

// each counts the elements for which ok is false.
func (r *Result) each(got, want *tensor.Tensor, ok func(i int) bool) {
	for i := range want.Len() {
		if !ok(i) {
			r.miss(got, want, i)
		}
	}
}

func (r *Result) miss(got, want *tensor.Tensor, i int) {
	if r.Bad++; r.Bad == 1 {
		r.First, r.Got, r.Want = i, values.Text(got, i), values.Text(want, i)
	}
}

// integers compares exactly: as text where a float64 would round.
func (r *Result) integers(got, want *tensor.Tensor, g, w values.At) {
	wide := want.DType().Bits() == 64
	r.each(got, want, func(i int) bool {
		r.measure(g(i), w(i))
		if wide && g(i) == w(i) {
			return values.Text(got, i) == values.Text(want, i)
		}
		return g(i) == w(i)
	})
}

func (r *Result) floats(got, want *tensor.Tensor, g, w values.At, tol Tolerance) {
	r.bounds(want, w, want.Len(), tol)
	left := int(tol.Outliers * float64(want.Len()))
	r.each(got, want, func(i int) bool {
		if r.near(g(i), w(i)) {
			return true
		}
		if r.Outliers < left && math.Abs(g(i)-w(i)) <= tol.Slack {
			r.Outliers++
			return true
		}
		return false
	})
}

// complexes compares the real and the imaginary parts as floats.
func (r *Result) complexes(got, want *tensor.Tensor, tol Tolerance) {
	g, w := parts(got), parts(want)
	r.bounds(want, w, 2*want.Len(), tol)
	r.each(got, want, func(i int) bool {
		re, im := r.near(g(2*i), w(2*i)), r.near(g(2*i+1), w(2*i+1))
		return re && im
	})
}

func parts(t *tensor.Tensor) values.At {
	if t.DType() == tensor.Complex64 {
		s := tensor.Cast[float32](t.Bytes())
		return func(i int) float64 { return float64(s[i]) }
	}
	s := tensor.Cast[float64](t.Bytes())
	return func(i int) float64 { return s[i] }
}

func (r *Result) bounds(want *tensor.Tensor, w values.At, n int, tol Tolerance) {
	r.ATol, r.RTol = tol.ATol, tol.RTol
	switch want.DType() {
	case tensor.Float16:
		r.RTol = max(r.RTol, 0x1p-10)
	case tensor.BFloat16:
		r.RTol = max(r.RTol, 0x1p-7)
	}
	if tol.Share == 0 {
		return
	}
	peak := tol.Peak
	if peak == 0 {
		peak = largest(w, n)
	}
	r.ATol += tol.Share * peak
}

// Peak returns the largest finite magnitude of a tensor of real floats; 0 for other types.
func Peak(t *tensor.Tensor) float64 {
	if !t.DType().IsFloat() {
		return 0
	}
	return largest(values.Numbers(t), t.Len())
}

func largest(w values.At, n int) float64 {
	peak := 0.0
	for i := range n {
		if v := math.Abs(w(i)); v > peak && !math.IsInf(v, 0) {
			peak = v
		}
	}
	return peak
}

// near reports whether g is within the bounds of w.
func (r *Result) near(g, w float64) bool {
	if math.IsNaN(w) || math.IsNaN(g) {
		return math.IsNaN(w) && math.IsNaN(g)
	}
	if math.IsInf(w, 0) || math.IsInf(g, 0) {
		return g == w
	}
	return r.measure(g, w) <= r.ATol+r.RTol*math.Abs(w)
}

// measure keeps the largest errors, and returns |g−w|.
func (r *Result) measure(g, w float64) float64 {
	diff := math.Abs(g - w)
	r.MaxAbs = max(r.MaxAbs, diff)
	if w != 0 {
		r.MaxRel = max(r.MaxRel, diff/math.Abs(w))
	}
	return diff
}
