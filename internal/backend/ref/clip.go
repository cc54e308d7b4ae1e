package ref

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

var clips = perType[func(n *graph.Node) backend.Kernel]{
	F32: clipNumber[float32], F64: clipNumber[float64],
	F16:  func(n *graph.Node) backend.Kernel { return clipHalf(n, tensor.HalfOf) },
	BF16: func(n *graph.Node) backend.Kernel { return clipHalf(n, tensor.BrainOf) },
	I8:   clipNumber[int8], I16: clipNumber[int16], I32: clipNumber[int32], I64: clipNumber[int64],
	U8: clipNumber[uint8], U16: clipNumber[uint16], U32: clipNumber[uint32], U64: clipNumber[uint64],
}

func makeClip(o *backend.Op) (prepared, error) { return run(clips.of(o.In[0].DType)(o.Node)) }

// bound is a limit that an attribute may have set.
type bound[T any] struct {
	set bool
	val T
}

// boundAttr reads a limit from an attribute; only floating-point operands have one there.
func boundAttr[T any](n *graph.Node, name string, of func(float32) T) bound[T] {
	a := n.Attrs.Get(name)
	if a == nil || a.Kind != graph.AttrFloat || math.IsNaN(float64(a.Float)) {
		return bound[T]{}
	}
	return bound[T]{true, of(a.Float)}
}

// or returns the limit that input i of the call gives, or else b.
func (b bound[T]) or(given []T) bound[T] {
	if len(given) > 0 {
		return bound[T]{true, given[0]}
	}
	return b
}

func optional[T tensor.Element](c *backend.Call, i int) []T {
	if i < len(c.In) && c.In[i].DType != tensor.Undefined {
		return elems[T](&c.In[i])
	}
	return nil
}

// clipNumber limits to [min, max]; when the two are the wrong way round, the result is max.
func clipNumber[T number](n *graph.Node) backend.Kernel {
	of := func(x float32) T { return T(x) }
	lowAttr, highAttr := boundAttr(n, "min", of), boundAttr(n, "max", of)
	return func(c *backend.Call) error {
		low, high := lowAttr.or(optional[T](c, 1)), highAttr.or(optional[T](c, 2))
		dst := elems[T](&c.Out[0])
		for i, x := range elems[T](&c.In[0]) {
			if low.set && x < low.val {
				x = low.val
			}
			if high.set && x > high.val {
				x = high.val
			}
			dst[i] = x
		}
		return nil
	}
}

func clipHalf[T halfFloat](n *graph.Node, of func(float32) T) backend.Kernel {
	lowAttr, highAttr := boundAttr(n, "min", of), boundAttr(n, "max", of)
	return func(c *backend.Call) error {
		low, high := lowAttr.or(optional[T](c, 1)), highAttr.or(optional[T](c, 2))
		lowest, highest := low.val.Float32(), high.val.Float32()
		dst := elems[T](&c.Out[0])
		for i, x := range elems[T](&c.In[0]) {
			if low.set && x.Float32() < lowest {
				x = low.val
			}
			if high.set && x.Float32() > highest {
				x = high.val
			}
			dst[i] = x
		}
		return nil
	}
}
