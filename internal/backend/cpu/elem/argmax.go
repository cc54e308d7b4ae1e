package elem

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/vec"
	"github.com/stowage-ml/stowage/tensor"
)

// arg finds the places of the largest (or smallest) of n elements that are inner apart. The first
// NaN wins; among equals the first, or the last.
type arg struct {
	fn          *vec.Funcs
	n, inner    int
	least, last bool
	cut         cut
}

// Arg returns the kernels for ArgMax and ArgMin of float32.
func Arg(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	if len(o.In) != 1 || !isFloat(&o.In[0]) {
		return nil, nil
	}
	x := o.In[0].Shape
	axis, err := (&op.Ctx{Node: o.Node}).AxisAttr("axis", 0, len(x))
	if err != nil || count(x) == 0 {
		return nil, err
	}
	k := &arg{fn: vec.For(l), n: int(x[axis]), inner: count(x[axis+1:]), least: o.Node.Op == "ArgMin",
		last: o.Node.Attrs.Int("select_last_index", 0) != 0}
	k.cut = newCut(count(x[:axis]), k.inner, 2*k.n, columns, o.Threads)
	c := made(l, "argmax", 0.05, 0.4)
	c.Scratch = 4 * columns * int64(max(o.Threads, 1))
	task := k.task
	c.Kernel = func(c *backend.Call) error {
		c.Par(k.cut.tasks, task)
		return nil
	}
	return []backend.Candidate{c}, nil
}

func (k *arg) task(c *backend.Call, i, worker int) {
	x, y := floats(&c.In[0]), tensor.Cast[int64](c.Out[0].Data)
	best := tensor.Cast[float32](c.Scratch)[worker*columns:][:columns]
	first, last, from, to := k.cut.task(i)
	for row := first; row < last; row++ {
		at := row * k.n * k.inner
		if k.inner == 1 {
			y[row] = int64(k.line(x[at:][:k.n]))
			continue
		}
		for j := from; j < to; j += columns {
			w := min(columns, to-j)
			k.columns(y[row*k.inner+j:][:w], x[at+j:], best[:w])
		}
	}
}

func (k *arg) line(x []float32) int {
	win := k.fn.MaxOf(x)
	if k.least {
		win = k.fn.MinOf(x)
	}
	if win != win {
		return slices.IndexFunc(x, func(v float32) bool { return v != v })
	}
	if !k.last {
		return slices.Index(x, win)
	}
	for i := len(x) - 1; i > 0; i-- {
		if x[i] == win {
			return i
		}
	}
	return 0
}

// columns finds the places of len(y) lines that lie side by side.
func (k *arg) columns(y []int64, x, best []float32) {
	copy(best, x)
	clear(y)
	for i := 1; i < k.n; i++ {
		for j, v := range x[i*k.inner:][:len(y)] {
			b := best[j]
			better := v > b
			if k.least {
				better = v < b
			}
			if better || k.last && v == b || v != v && b == b {
				best[j], y[j] = v, int64(i)
			}
		}
	}
}
