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
// off[k]+i*inner[k] in operand k. A walk is immutable.
type walk struct {
	// n is the number of elements in a run.
	n int
	// inner is the step within a run, for each operand.
	inner offsets
	// few and more are the dimensions around the runs, outermost first; depth is their number.
	few   [3]level
	more  []level
	depth int
	empty bool
}

// level returns dimension i of those around the runs.
func (w *walk) level(i int) *level {
	if i < len(w.few) {
		return &w.few[i]
	}
	return &w.more[i-len(w.few)]
}

// level is one dimension of a walk: its extent, and the step along it for each operand.
type level struct {
	dim  int
	step offsets
}

// newWalk plans a walk over shape with the given steps for each operand.
func newWalk(shape tensor.Shape, operands ...steps) walk {
	w := walk{n: 1}
	var all [tensor.MaxRank]level
	levels := all[:0]
	for i, d := range shape {
		if d == 0 {
			w.empty = true
		}
		if d == 1 {
			continue
		}
		next := level{dim: int(d)}
		for k := range operands {
			next.step[k] = operands[k][i]
		}
		if last := len(levels) - 1; last >= 0 && levels[last].holds(&next) {
			next.dim *= levels[last].dim
			levels = levels[:last]
		}
		levels = append(levels, next)
	}
	if last := len(levels) - 1; last >= 0 {
		w.n, w.inner = levels[last].dim, levels[last].step
		w.depth = last
		if n := copy(w.few[:], levels[:last]); n < last {
			w.more = append([]level(nil), levels[n:last]...)
		}
	} else {
		for k := range operands {
			w.inner[k] = 1
		}
	}
	return w
}

// holds reports whether l and the dimension next inside it make one dimension.
func (l *level) holds(next *level) bool {
	for k, s := range next.step {
		if l.step[k] != s*next.dim {
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
		i := w.depth - 1
		for ; i >= 0; i-- {
			l := w.level(i)
			idx[i]++
			for k := range off {
				off[k] += l.step[k]
			}
			if idx[i] < l.dim {
				break
			}
			for k := range off {
				off[k] -= l.step[k] * l.dim
			}
			idx[i] = 0
		}
		if i < 0 {
			return
		}
	}
}
