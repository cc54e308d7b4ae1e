package op

import (
	"math"
	"math/bits"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// setValue records what is known of the contents of output i: nothing, unless the output is an
// int64, int32 or boolean tensor of exactly these elements and at least one of them is known.
// Elements that its type cannot hold become unknown.
func (c *Ctx) setValue(i int, vals []graph.Dim) {
	if i >= len(c.Out) || len(vals) > MaxValue {
		return
	}
	f := &c.Out[i]
	shape, ok := f.Shape.Concrete()
	n, nok := shape.Elements()
	if !ok || !nok || n != int64(len(vals)) || !followed(f.DType) {
		return
	}
	some := len(vals) == 0
	out := make([]graph.Dim, len(vals))
	for j, v := range vals {
		out[j] = fitInto(f.DType, v)
		some = some || !out[j].IsUnknown()
	}
	if some {
		f.Value = out
	}
}

// followed reports whether inference follows the contents of tensors of this type.
func followed(dt tensor.DType) bool {
	return dt == tensor.Int64 || dt == tensor.Int32 || dt == tensor.Bool
}

func fitInto(dt tensor.DType, d graph.Dim) graph.Dim {
	n, known := d.Int()
	switch {
	case !known:
		return d
	case dt == tensor.Int32 && (n < math.MinInt32 || n > math.MaxInt32), dt == tensor.Bool && n != 0 && n != 1:
		return graph.Unknown()
	}
	return d
}

// contents returns the elements of a tensor whose shape is known, each unknown when nothing is
// known of it. ok is false for other tensors and above MaxValue elements.
func contents(f *Fact) (vals []graph.Dim, shape tensor.Shape, ok bool) {
	shape, ok = f.Shape.Concrete()
	if !ok || !followed(f.DType) {
		return nil, nil, false
	}
	n, ok := shape.Elements()
	if !ok || n > MaxValue {
		return nil, nil, false
	}
	if vals, ok = f.Dims(); ok {
		return vals, shape, int64(len(vals)) == n
	}
	return unknownShape(int(n)), shape, true
}

// follow computes the contents of output 0 from those of all inputs, element by element, with
// broadcasting.
func (c *Ctx) follow(f func(args []graph.Dim) graph.Dim) {
	to, ok := c.Out[0].Shape.Concrete()
	n, nok := to.Elements()
	if !ok || !nok || n > MaxValue || !followed(c.Out[0].DType) {
		return
	}
	in := make([][]graph.Dim, len(c.In))
	shapes := make([]tensor.Shape, len(c.In))
	for i := range c.In {
		if in[i], shapes[i], ok = contents(&c.In[i]); !ok {
			return
		}
	}
	out, args := make([]graph.Dim, n), make([]graph.Dim, len(in))
	for at := range out {
		for i := range in {
			args[i] = in[i][broadcastIndex(at, shapes[i], to)]
		}
		out[at] = f(args)
	}
	c.setValue(0, out)
}

// broadcastIndex returns which element of a tensor of shape from stands at element at of the
// shape that it is broadcast to.
func broadcastIndex(at int, from, to tensor.Shape) int {
	index, scale := 0, 1
	for i := len(to) - 1; i >= 0; i-- {
		pos := at % int(to[i])
		at /= int(to[i])
		if j := i - (len(to) - len(from)); j >= 0 {
			if from[j] != 1 {
				index += pos * scale
			}
			scale *= int(from[j])
		}
	}
	return index
}

// fold applies f to the arguments from the left.
func fold(f func(a, b graph.Dim) graph.Dim) func([]graph.Dim) graph.Dim {
	return func(args []graph.Dim) graph.Dim {
		out := args[0]
		for _, a := range args[1:] {
			out = f(out, a)
		}
		return out
	}
}

func addValue(a, b graph.Dim) graph.Dim {
	x, y, known := bothKnown(a, b)
	if s := x + y; known && (s > x) != (y > 0) && y != 0 {
		return graph.Unknown()
	}
	return a.Add(b)
}

func subValue(a, b graph.Dim) graph.Dim {
	x, y, known := bothKnown(a, b)
	if s := x - y; known && (s < x) != (y > 0) && y != 0 {
		return graph.Unknown()
	}
	return a.Sub(b)
}

func mulValue(a, b graph.Dim) graph.Dim {
	if x, y, known := bothKnown(a, b); known {
		hi, lo := bits.Mul64(absolute(x), absolute(y))
		if hi != 0 || lo > math.MaxInt64 {
			return graph.Unknown()
		}
	}
	return a.Mul(b)
}

func absolute(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

func bothKnown(a, b graph.Dim) (x, y int64, ok bool) {
	x, xok := a.Int()
	y, yok := b.Int()
	return x, y, xok && yok
}

// divValue truncates towards zero, as the operator does and the arithmetic of dims does not.
func divValue(a, b graph.Dim) graph.Dim {
	if x, y, known := bothKnown(a, b); known {
		if y == 0 || x == math.MinInt64 {
			return graph.Unknown()
		}
		return graph.Known(x / y)
	}
	if y, ok := b.Int(); ok && y > 0 && a.NonNegative() {
		return a.Div(b)
	}
	return graph.Unknown()
}

// modValue is the remainder where all conventions agree: neither operand is negative.
func modValue(a, b graph.Dim) graph.Dim {
	y, ok := b.Int()
	if !ok || y <= 0 || !a.NonNegative() {
		return graph.Unknown()
	}
	if x, known := a.Int(); known {
		return graph.Known(x % y)
	}
	return a.Sub(a.Div(b).Mul(b))
}

func maxValue(a, b graph.Dim) graph.Dim {
	if x, ok := a.Int(); ok && x <= 0 && b.NonNegative() {
		return b
	}
	if y, ok := b.Int(); ok && y <= 0 && a.NonNegative() {
		return a
	}
	return a.Max(b)
}

func minValue(a, b graph.Dim) graph.Dim {
	if x, ok := a.Int(); ok && x <= 0 && b.NonNegative() {
		return a
	}
	if y, ok := b.Int(); ok && y <= 0 && a.NonNegative() {
		return b
	}
	return a.Min(b)
}

// truth is a boolean as a dim.
func truth(b bool) graph.Dim {
	if b {
		return graph.Known(1)
	}
	return graph.Known(0)
}

func equalValue(a, b graph.Dim) graph.Dim {
	if x, y, known := bothKnown(a, b); known {
		return truth(x == y)
	}
	x, xok := a.Int()
	y, yok := b.Int()
	switch {
	case a.Same(b):
		return truth(true)
	case xok && x < 0 && b.NonNegative(), yok && y < 0 && a.NonNegative():
		return truth(false)
	}
	return graph.Unknown()
}

// knownOnly follows a comparison of numbers that are both known.
func knownOnly(f func(x, y int64) bool) func(a, b graph.Dim) graph.Dim {
	return func(a, b graph.Dim) graph.Dim {
		if x, y, known := bothKnown(a, b); known {
			return truth(f(x, y))
		}
		return graph.Unknown()
	}
}

func andValue(a, b graph.Dim) graph.Dim {
	switch {
	case a.Is(0) || b.Is(0):
		return truth(false)
	case a.Is(1):
		return b
	case b.Is(1):
		return a
	}
	return graph.Unknown()
}

func orValue(a, b graph.Dim) graph.Dim {
	switch {
	case a.Is(1) || b.Is(1):
		return truth(true)
	case a.Is(0):
		return b
	case b.Is(0):
		return a
	}
	return graph.Unknown()
}

func whereValue(args []graph.Dim) graph.Dim {
	switch {
	case args[0].Is(1) || args[1].Same(args[2]):
		return args[1]
	case args[0].Is(0):
		return args[2]
	}
	return graph.Unknown()
}
