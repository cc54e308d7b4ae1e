package elem

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/tensor"
)

// offsets is where each input of a node is, in elements.
type offsets = [prog.MaxInputs]int

// walk goes through the rows of an output in order, and knows where its inputs are at each, when
// they broadcast to it. Dimensions that lie one behind the other in all of them are joined; the
// last joined dimension is a row.
type walk struct {
	// n is the length of a row, rows their number.
	n, rows int
	// one is set for inputs of which a row reads a single element; the others are contiguous.
	one []bool
	// dims and steps are the dimensions around the rows, outermost first.
	dims  []int
	steps []offsets
}

// newWalk plans a walk; ok is false when there are too many inputs, or one does not broadcast.
func newWalk(out tensor.Shape, in []backend.Arg) (w *walk, ok bool) {
	if len(in) > prog.MaxInputs {
		return nil, false
	}
	w = &walk{n: 1, rows: 1, one: make([]bool, len(in))}
	dense := make([][]int, len(in))
	for k := range in {
		if dense[k], ok = spread(in[k].Shape, out); !ok {
			return nil, false
		}
	}
	for i, d := range out {
		if d == 1 {
			continue
		}
		var step offsets
		for k := range in {
			step[k] = dense[k][i]
		}
		last := len(w.dims) - 1
		if last >= 0 && joins(&w.steps[last], &step, int(d)) {
			w.dims[last] *= int(d)
			w.steps[last] = step
			continue
		}
		w.dims, w.steps = append(w.dims, int(d)), append(w.steps, step)
	}
	var inner offsets
	if last := len(w.dims) - 1; last >= 0 {
		w.n, inner = w.dims[last], w.steps[last]
		w.dims, w.steps = w.dims[:last], w.steps[:last]
	}
	for k := range in {
		w.one[k] = inner[k] == 0
	}
	for _, d := range w.dims {
		w.rows *= d
	}
	return w, true
}

// joins reports whether a dimension of extent d with steps in lies, in all operands, behind one
// with steps out.
func joins(out, in *offsets, d int) bool {
	for k := range in {
		if out[k] != in[k]*d {
			return false
		}
	}
	return true
}

// spread returns the step of each dimension of to in a dense tensor of shape from that is
// broadcast to it.
func spread(from, to tensor.Shape) (steps []int, ok bool) {
	steps = make([]int, len(to))
	base := len(to) - len(from)
	if base < 0 {
		return nil, false
	}
	step := 1
	for i := len(from) - 1; i >= 0; i-- {
		switch from[i] {
		case 1:
		case to[base+i]:
			steps[base+i] = step
		default:
			return nil, false
		}
		step *= int(from[i])
	}
	return steps, true
}

// place is a walk on its way.
type place struct {
	at    offsets
	index [tensor.MaxRank]int
}

// seek sets a place to a row.
func (w *walk) seek(p *place, row int) {
	*p = place{}
	for i := len(w.dims) - 1; i >= 0; i-- {
		p.index[i] = row % w.dims[i]
		row /= w.dims[i]
		for k := range p.at {
			p.at[k] += p.index[i] * w.steps[i][k]
		}
	}
}

// next goes on to the following row.
func (w *walk) next(p *place) {
	for i := len(w.dims) - 1; i >= 0; i-- {
		p.index[i]++
		step := &w.steps[i]
		if p.index[i] < w.dims[i] {
			for k := range w.one {
				p.at[k] += step[k]
			}
			return
		}
		p.index[i] = 0
		for k := range w.one {
			p.at[k] -= step[k] * (w.dims[i] - 1)
		}
	}
}
