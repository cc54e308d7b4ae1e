package elem

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// zip computes rows of a walk from two or three operands. run computes n elements from element to
// of the result on; the other numbers are where the operands' elements are.
type zip struct {
	w   *walk
	cut cut
	run func(c *backend.Call, to, n, a, b, d int)
}

// zipped is the candidate that runs a zip; none when the operands do not broadcast.
func zipped(l simd.Level, o *backend.Op, name string, of func(w *walk) func(c *backend.Call, to, n, a, b, d int)) (
	[]backend.Candidate, error) {
	if o.Out[0].Shape == nil {
		return nil, nil
	}
	w, ok := newWalk(o.Out[0].Shape, o.In)
	if !ok {
		return nil, nil
	}
	z := &zip{w: w, cut: newCut(w.rows, w.n, 4, 16, o.Threads), run: of(w)}
	if z.run == nil {
		return nil, nil
	}
	c := backend.Candidate{Name: name, Source: "go", Stream: 0.2}
	task := z.task
	c.Kernel = func(c *backend.Call) error {
		c.Par(z.cut.tasks, task)
		return nil
	}
	return []backend.Candidate{c}, nil
}

func (z *zip) task(c *backend.Call, i, _ int) {
	first, last, from, to := z.cut.task(i)
	var at place
	z.w.seek(&at, first)
	var step [3]int
	for k := range min(len(z.w.one), 3) {
		if !z.w.one[k] {
			step[k] = from
		}
	}
	for row := first; row < last; row++ {
		z.run(c, row*z.w.n+from, to-from, at.at[0]+step[0], at.at[1]+step[1], at.at[2]+step[2])
		z.w.next(&at)
	}
}

// ordered is the types that comparisons and arithmetic are offered for.
type ordered interface {
	float32 | int32 | int64 | uint8
}

// comparison is a comparison of two elements, or of an element with one that stays.
type comparison uint8

const (
	equal comparison = iota
	less
	lessEqual
	greater
	greaterEqual
)

var comparisons = map[string]comparison{"Equal": equal, "Less": less, "LessOrEqual": lessEqual, "Greater": greater,
	"GreaterOrEqual": greaterEqual}

// turned is the comparison with its operands swapped.
func (k comparison) turned() comparison {
	return [...]comparison{equal, greater, greaterEqual, less, lessEqual}[k]
}

// Compare returns the kernels for comparisons of common types.
func Compare(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	k := comparisons[o.Node.Op]
	return zipped(l, o, "compare", func(w *walk) func(c *backend.Call, to, n, a, b, d int) {
		switch o.In[0].DType {
		case tensor.Float32:
			return comparing[float32](w, k)
		case tensor.Int64:
			return comparing[int64](w, k)
		case tensor.Int32:
			return comparing[int32](w, k)
		case tensor.Uint8:
			return comparing[uint8](w, k)
		}
		return nil
	})
}

func comparing[T ordered](w *walk, k comparison) func(c *backend.Call, to, n, a, b, d int) {
	return func(c *backend.Call, to, n, a, b, _ int) {
		dst := c.Out[0].Data[to:][:n]
		x, y := tensor.Cast[T](c.In[0].Data)[a:], tensor.Cast[T](c.In[1].Data)[b:]
		switch {
		case w.one[1]:
			compareOne(k, dst, x, y[0], w.one[0])
		case w.one[0]:
			compareOne(k.turned(), dst, y, x[0], false)
		default:
			comparePairs(k, dst, x[:n], y[:n])
		}
	}
}

// bit is a boolean as it is stored.
func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

func comparePairs[T ordered](k comparison, dst []uint8, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	switch k {
	case equal:
		for i := range dst {
			dst[i] = bit(x[i] == y[i])
		}
	case less:
		for i := range dst {
			dst[i] = bit(x[i] < y[i])
		}
	case lessEqual:
		for i := range dst {
			dst[i] = bit(x[i] <= y[i])
		}
	case greater:
		for i := range dst {
			dst[i] = bit(x[i] > y[i])
		}
	case greaterEqual:
		for i := range dst {
			dst[i] = bit(x[i] >= y[i])
		}
	}
}

// compareOne compares with one number: all of x, or, when there is only one of that too, its first.
func compareOne[T ordered](k comparison, dst []uint8, x []T, y T, same bool) {
	if same {
		comparePairs(k, dst[:1], x, []T{y})
		for i := range dst {
			dst[i] = dst[0]
		}
		return
	}
	x = x[:len(dst)]
	switch k {
	case equal:
		for i, v := range x {
			dst[i] = bit(v == y)
		}
	case less:
		for i, v := range x {
			dst[i] = bit(v < y)
		}
	case lessEqual:
		for i, v := range x {
			dst[i] = bit(v <= y)
		}
	case greater:
		for i, v := range x {
			dst[i] = bit(v > y)
		}
	case greaterEqual:
		for i, v := range x {
			dst[i] = bit(v >= y)
		}
	}
}

// Where returns the kernels for Where.
func Where(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	return zipped(l, o, "where", func(w *walk) func(c *backend.Call, to, n, a, b, d int) {
		switch dt := o.In[1].DType; {
		case dt == tensor.String:
			return nil
		case dt.Bits() == 8:
			return choosing[uint8](w)
		case dt.Bits() == 16:
			return choosing[uint16](w)
		case dt.Bits() == 32:
			return choosing[uint32](w)
		case dt.Bits() == 64:
			return choosing[uint64](w)
		}
		return nil
	})
}

func choosing[T uint8 | uint16 | uint32 | uint64](w *walk) func(c *backend.Call, to, n, a, b, d int) {
	return func(c *backend.Call, to, n, a, b, d int) {
		dst, cond := tensor.Cast[T](c.Out[0].Data)[to:][:n], c.In[0].Data[a:]
		x, y := tensor.Cast[T](c.In[1].Data)[b:], tensor.Cast[T](c.In[2].Data)[d:]
		switch {
		case w.one[0]:
			if cond[0] == 0 {
				x, w := y, w.one[2]
				spreadOut(dst, x, w)
				return
			}
			spreadOut(dst, x, w.one[1])
		case w.one[1] && w.one[2]:
			chooseOnes(dst, cond, x[0], y[0])
		case w.one[1]:
			chooseOne(dst, cond, y, x[0], 1)
		case w.one[2]:
			chooseOne(dst, cond, x, y[0], 0)
		default:
			choosePairs(dst, cond, x, y)
		}
	}
}

// chooseOnes takes p where cond is true, else q.
func chooseOnes[T uint8 | uint16 | uint32 | uint64](dst []T, cond []uint8, p, q T) {
	cond = cond[:len(dst)]
	for i, k := range cond {
		dst[i] = q ^ (p^q)&-T(bit(k != 0))
	}
}

// chooseOne takes x where cond is true, or, when flip is 1, where it is false, and else p.
func chooseOne[T uint8 | uint16 | uint32 | uint64](dst []T, cond []uint8, x []T, p T, flip uint8) {
	cond, x = cond[:len(dst)], x[:len(dst)]
	for i, v := range x {
		dst[i] = p ^ (v^p)&-T(bit(cond[i] != 0)^flip)
	}
}

func choosePairs[T uint8 | uint16 | uint32 | uint64](dst []T, cond []uint8, x, y []T) {
	cond, x, y = cond[:len(dst)], x[:len(dst)], y[:len(dst)]
	for i, v := range x {
		w := y[i]
		dst[i] = w ^ (v^w)&-T(bit(cond[i] != 0))
	}
}

// spreadOut copies x, or its first element.
func spreadOut[T any](dst, x []T, one bool) {
	if !one {
		copy(dst, x)
		return
	}
	v := x[0]
	for i := range dst {
		dst[i] = v
	}
}
