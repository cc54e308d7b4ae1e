package values

import (
	"math"
	"slices"

	"github.com/stowage-ml/stowage/tensor"
)

const (
	// firstValues is how many elements a summary shows.
	firstValues = 8
	// topValues is how many of the largest scores a summary shows, topFrom the least length of a
	// vector of scores.
	topValues, topFrom = 5, 10
)

// Summary is what there is to say of a tensor at a glance. Min, Max and Mean leave NaNs out, and
// are empty (Mean 0) when there is no number.
type Summary struct {
	Name  string       `json:"name"`
	DType string       `json:"dtype"`
	Shape tensor.Shape `json:"shape"`
	Min   string       `json:"min,omitempty"`
	Max   string       `json:"max,omitempty"`
	Mean  float64      `json:"mean"`
	// NaNs and Infs count the elements that are not finite.
	NaNs int `json:"nans,omitempty"`
	Infs int `json:"infs,omitempty"`
	// First holds the first elements, in row-major order.
	First []string `json:"first"`
	// Top holds the largest elements, largest first, of a float vector that may hold scores.
	Top []Score `json:"top,omitempty"`
}

// Score is an element of a vector and where it is.
type Score struct {
	Index int    `json:"index"`
	Value string `json:"value"`
}

// Summarize describes t under the given name.
func Summarize(name string, t *tensor.Tensor) Summary {
	s := Summary{Name: name, DType: t.DType().String(), Shape: t.Shape(), First: []string{}}
	for i := range min(t.Len(), firstValues) {
		s.First = append(s.First, Text(t, i))
	}
	at := Numbers(t)
	if at == nil {
		return s
	}
	lo, hi, finite := -1, -1, 0
	sum := 0.0
	for i := range t.Len() {
		v := at(i)
		if math.IsNaN(v) {
			s.NaNs++
			continue
		}
		if lo < 0 || v < at(lo) {
			lo = i
		}
		if hi < 0 || v > at(hi) {
			hi = i
		}
		if math.IsInf(v, 0) {
			s.Infs++
			continue
		}
		finite++
		sum += v
	}
	if lo >= 0 {
		s.Min, s.Max = Text(t, lo), Text(t, hi)
	}
	if finite > 0 {
		s.Mean = sum / float64(finite)
	}
	s.Top = top(t, at)
	return s
}

// top returns the largest elements of a vector of scores; of equals, the first. NaNs are left out.
func top(t *tensor.Tensor, at At) []Score {
	if !t.DType().IsFloat() || !isVector(t.Shape()) || t.Len() < topFrom {
		return nil
	}
	var best []int
	for i := range t.Len() {
		if v := at(i); math.IsNaN(v) || len(best) == topValues && v <= at(best[topValues-1]) {
			continue
		}
		p := 0
		for p < len(best) && at(best[p]) >= at(i) {
			p++
		}
		best = slices.Insert(best, p, i)
		best = best[:min(len(best), topValues)]
	}
	scores := make([]Score, len(best))
	for k, i := range best {
		scores[k] = Score{i, Text(t, i)}
	}
	return scores
}

// isVector reports whether all dims but the last are 1.
func isVector(s tensor.Shape) bool {
	for i := range len(s) - 1 {
		if s[i] != 1 {
			return false
		}
	}
	return len(s) > 0
}
