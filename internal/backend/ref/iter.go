package ref

import (
	"fmt"

	"github.com/stowage-ml/stowage/tensor"
)

// maxOperands is the largest number of tensors that one walk goes through side by side.
const maxOperands = 4

// steps is how far apart, in elements, neighbours along each dimension lie: entry i belongs to
// dimension i of a shape, entries beyond its rank are not looked at. 0 repeats an element.
type steps [tensor.MaxRank]int

// stepsOf returns the steps of a dense row-major tensor.
func stepsOf(shape tensor.Shape) steps {
	var s steps
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= int(shape[i])
	}
	return s
}

// spread returns the steps with which a dense tensor of shape from is read when it is broadcast
// to shape to: aligned at the last dimension, with step 0 along what is repeated.
func spread(from, to tensor.Shape) steps {
	var s steps
	base := len(to) - len(from)
	dense := stepsOf(from)
	for i := range from {
		if from[i] != 1 {
			s[base+i] = dense[i]
		}
	}
	return s
}

// checkSpread fails unless a tensor of shape from can be broadcast to shape to.
func checkSpread(from, to tensor.Shape) error {
	base := len(to) - len(from)
	if base < 0 {
		return fmt.Errorf("ref: broadcast: got shape %v, want one that spreads to %v", from, to)
	}
	for i := range from {
		if from[i] != 1 && from[i] != to[base+i] {
			return fmt.Errorf("ref: broadcast: got shape %v, want one that spreads to %v", from, to)
		}
	}
	return nil
}

// count returns the number of elements of a shape that is known to be valid.
func count(shape tensor.Shape) int {
	n, _ := shape.Elements()
	return int(n)
}

// offsets is where a run starts in each operand of a walk, in elements.
type offsets [maxOperands]int

// walk goes through all positions of a shape in row-major order, for up to maxOperands tensors
// side by side. Dimensions that lie one behind the other in all of them are joined, and the
// innermost joined dimension is handed out whole, as a run: element i of the run is
// off[k]+i*inner[k] in operand k. A walk is a value: copying it copies all of it.
type walk struct {
	// n is the number of elements in a run.
	n int
	// inner is the step within a run, for each operand.
	inner offsets
	rank  int
	dim   [tensor.MaxRank]int
	step  [tensor.MaxRank]offsets
	empty bool
}

// newWalk plans a walk over shape with the given steps for each operand.
func newWalk(shape tensor.Shape, operands ...steps) walk {
	w := walk{n: 1}
	for i, d := range shape {
		if d == 0 {
			w.empty = true
		}
		if d == 1 {
			continue
		}
		var st offsets
		for k := range operands {
			st[k] = operands[k][i]
		}
		if w.rank > 0 && w.joins(st, int(d)) {
			w.dim[w.rank-1] *= int(d)
		} else {
			w.dim[w.rank] = int(d)
			w.rank++
		}
		w.step[w.rank-1] = st
	}
	if w.rank > 0 {
		w.rank--
		w.n, w.inner = w.dim[w.rank], w.step[w.rank]
	} else {
		for k := range operands {
			w.inner[k] = 1
		}
	}
	return w
}

// joins reports whether a dimension of extent d and the one outside it make one dimension.
func (w *walk) joins(st offsets, d int) bool {
	for k, s := range st {
		if w.step[w.rank-1][k] != s*d {
			return false
		}
	}
	return true
}

// runs yields where each run starts. Range over it: for off := range w.runs { … }.
func (w *walk) runs(yield func(offsets) bool) {
	if w.empty {
		return
	}
	var idx [tensor.MaxRank]int
	var off offsets
	for yield(off) {
		i := w.rank - 1
		for ; i >= 0; i-- {
			idx[i]++
			for k := range off {
				off[k] += w.step[i][k]
			}
			if idx[i] < w.dim[i] {
				break
			}
			for k := range off {
				off[k] -= w.step[i][k] * w.dim[i]
			}
			idx[i] = 0
		}
		if i < 0 {
			return
		}
	}
}
