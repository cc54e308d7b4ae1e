package ref

import (
	"slices"
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

type maker func(*backend.Op) (prepared, error)

// withContents makes a kernel that needs the contents of some inputs before it can be prepared.
// When they are all known it is prepared once; otherwise each call prepares it anew, which costs
// time and memory.
func withContents(mk maker, inputs ...int) maker {
	return func(o *backend.Op) (prepared, error) {
		if knowsAll(o, inputs) {
			return mk(o)
		}
		fixed := *o
		return run(func(c *backend.Call) error {
			now := fixed
			now.In, now.Out = slices.Clone(fixed.In), slices.Clone(fixed.Out)
			for _, i := range inputs {
				if !now.Arg(i).Present() {
					continue
				}
				t, err := c.In[i].Tensor()
				if err != nil {
					return err
				}
				now.In[i].Const = t
			}
			p, err := mk(&now)
			if err != nil {
				return err
			}
			inner := *c
			inner.Scratch = make([]byte, p.scratch)
			return p.run(&inner)
		})
	}
}

func knowsAll(o *backend.Op, inputs []int) bool {
	for _, i := range inputs {
		if a := o.Arg(i); a.Present() && a.Const == nil {
			return false
		}
	}
	return true
}

// constInts returns the contents of an integer input that is known; nil when it is absent or i is
// negative.
func constInts(o *backend.Op, i int) []int64 {
	if i < 0 {
		return nil
	}
	a := o.Arg(i)
	if a.Const == nil || !(integers | bools).has(a.DType) {
		return nil
	}
	v := backend.ViewOf(a.Const)
	out := make([]int64, a.Const.Len())
	for j := range out {
		out[j] = intAt(&v, j)
	}
	return out
}

// constFloats returns the contents of a floating-point input that is known; nil when it is
// absent or of another type, or i is negative.
func constFloats(o *backend.Op, i int) []float64 {
	if i < 0 {
		return nil
	}
	a := o.Arg(i)
	if a.Const == nil || !floats.has(a.DType) {
		return nil
	}
	out := make([]float64, a.Const.Len())
	for j := range out {
		out[j] = floatAt(a.DType, a.Const.Bytes(), j)
	}
	return out
}

var halves = setOf(tensor.Float16, tensor.BFloat16)

// asFloat32 makes kernels for float16 and bfloat16 out of those for float32: operands are
// widened in scratch memory, results rounded. All shapes must be known.
func asFloat32(mk maker) maker {
	return func(o *backend.Op) (prepared, error) {
		wide := *o
		var w widening
		w.size, wide.In = widen(o.In, 0)
		w.size, wide.Out = widen(o.Out, w.size)
		if w.size == 0 {
			return mk(o)
		}
		p, err := mk(&wide)
		if err != nil {
			return prepared{}, err
		}
		w.inner = p.run
		w.calls.New = func() any {
			return &backend.Call{In: make([]backend.View, len(o.In)), Out: make([]backend.View, len(o.Out))}
		}
		return prepared{run: w.run, scratch: w.size + p.scratch}, nil
	}
}

// widen returns the operands with float32 in place of narrower floats, and where scratch memory
// ends when each of those has its place from byte at on.
func widen(args []backend.Arg, at int64) (end int64, wide []backend.Arg) {
	wide = slices.Clone(args)
	for i := range wide {
		if !halves.has(wide[i].DType) {
			continue
		}
		if k := wide[i].Const; k != nil {
			data := make([]float32, k.Len())
			readFloats(data, k.DType(), k.Bytes(), 0)
			wide[i].Const, _ = tensor.New(k.Shape(), data)
		}
		wide[i].DType = tensor.Float32
		at += wideBytes(wide[i].Shape)
	}
	return at, wide
}

// wideBytes is the room for the elements as float32, a multiple of 8 and never 0.
func wideBytes(s tensor.Shape) int64 { return int64(count(s)+2) / 2 * 8 }

// widening runs a float32 kernel on narrower operands.
type widening struct {
	inner backend.Kernel
	size  int64
	calls sync.Pool
}

func (w *widening) run(c *backend.Call) error {
	wide := w.calls.Get().(*backend.Call)
	defer w.calls.Put(wide)
	copy(wide.In, c.In)
	copy(wide.Out, c.Out)
	wide.Scratch = c.Scratch[w.size:]
	at := int64(0)
	for i := range wide.In {
		at = place(&wide.In[i], c.Scratch, at)
		if v := &c.In[i]; halves.has(v.DType) {
			readFloats(tensor.Cast[float32](wide.In[i].Data), v.DType, v.Data, 0)
		}
	}
	for i := range wide.Out {
		at = place(&wide.Out[i], c.Scratch, at)
	}
	if err := w.inner(wide); err != nil {
		return err
	}
	for i := range c.Out {
		if v := &c.Out[i]; halves.has(v.DType) {
			writeFloats(v.Data, v.DType, 0, tensor.Cast[float32](wide.Out[i].Data))
		}
	}
	return nil
}

// place moves the view of a narrow float to its room in scratch memory and returns where the
// next one's begins.
func place(v *backend.View, scratch []byte, at int64) int64 {
	if !halves.has(v.DType) {
		return at
	}
	v.DType = tensor.Float32
	v.Data = scratch[at : at+4*int64(count(v.Shape))]
	return at + wideBytes(v.Shape)
}
