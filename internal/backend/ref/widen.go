package ref

import (
	"fmt"
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// checked wraps make: it first infers the node with the shapes that the operands have, so that
// make sees only attributes and shapes that fit each other. It makes the kernel itself where
// there is nothing to compute.
func checked(mk func(*backend.Op) (prepared, error)) func(*backend.Op) (prepared, error) {
	return func(o *backend.Op) (prepared, error) {
		if err := verify(o); err != nil {
			return prepared{}, fmt.Errorf("ref: %s: %w", o.Node.Label(), err)
		}
		if nothing(o.Out) {
			return run(func(*backend.Call) error { return nil })
		}
		p, err := mk(o)
		if err != nil {
			return prepared{}, fmt.Errorf("ref: %s: %w", o.Node.Label(), err)
		}
		return p, nil
	}
}

// nothing reports whether no output has an element.
func nothing(out []backend.Arg) bool {
	for i := range out {
		if n, ok := out[i].Shape.Elements(); out[i].Present() && (!ok || n > 0) {
			return false
		}
	}
	return true
}

// verify checks the operands against the operator's row.
func verify(o *backend.Op) error {
	row := op.Lookup(o.Node.Domain, o.Node.Op)
	if row == nil {
		panic("BUG: ref: no row for " + o.Node.Op)
	}
	if n := len(o.In); n < row.In.Min || row.In.Max >= 0 && n > row.In.Max {
		return fmt.Errorf("inputs: got %d, want %d to %d", n, row.In.Min, row.In.Max)
	}
	if n := len(o.Out); n < row.Out.Min || row.Out.Max >= 0 && n > row.Out.Max {
		return fmt.Errorf("outputs: got %d, want %d to %d", n, row.Out.Min, row.Out.Max)
	}
	c := op.Ctx{Node: o.Node, In: make([]op.Fact, len(o.In)), Out: make([]op.Fact, len(o.Out))}
	for i := range o.In {
		a := &o.In[i]
		if a.Present() {
			c.In[i] = op.Fact{DType: a.DType, Shape: graph.Of(a.Shape...), Const: a.Const}
		} else if i < row.In.Min {
			return fmt.Errorf("input %d: missing", i)
		}
	}
	if err := row.Infer(&c); err != nil {
		return err
	}
	for i := range c.Out {
		want, known := c.Out[i].Shape.Concrete()
		if known && o.Out[i].Present() && !want.Equal(o.Out[i].Shape) {
			return fmt.Errorf("output %d: got shape %v, want %v", i, o.Out[i].Shape, want)
		}
	}
	return nil
}

// inFloat32 wraps a make that knows float32 so that it serves float16 and bfloat16 too: such
// operands are widened into scratch before the call, and its outputs rounded after it.
func inFloat32(mk func(*backend.Op) (prepared, error)) func(*backend.Op) (prepared, error) {
	return func(o *backend.Op) (prepared, error) {
		wide := backend.Op{Node: o.Node, In: append([]backend.Arg{}, o.In...), Out: append([]backend.Arg{}, o.Out...)}
		narrow := widen(wide.In)
		if widen(wide.Out) || narrow {
			inner, err := mk(&wide)
			if err != nil {
				return inner, err
			}
			return widened(&wide, inner), nil
		}
		return mk(o)
	}
}

func isHalf(d tensor.DType) bool { return d == tensor.Float16 || d == tensor.BFloat16 }

// widen turns the 16-bit floats among the operands into float32; it reports whether there are any.
func widen(args []backend.Arg) bool {
	any := false
	for i := range args {
		if isHalf(args[i].DType) {
			args[i].DType, args[i].Const = tensor.Float32, nil
			any = true
		}
	}
	return any
}

// wideCall is a call whose views have room of their own.
type wideCall struct {
	call    backend.Call
	in, out []backend.View
}

// widened runs inner, made for the operands of wide, on operands that may be 16-bit floats.
func widened(wide *backend.Op, inner prepared) prepared {
	size := inner.scratch
	room := func(args []backend.Arg) []int64 {
		at := make([]int64, len(args))
		for i := range args {
			at[i] = alignUp(size)
			if args[i].DType == tensor.Float32 {
				n, _ := args[i].Shape.Elements()
				size = at[i] + 4*n
			}
		}
		return at
	}
	ins, outs := room(wide.In), room(wide.Out)
	pool := &sync.Pool{New: func() any {
		return &wideCall{in: make([]backend.View, len(ins)), out: make([]backend.View, len(outs))}
	}}
	return prepared{scratch: size, run: func(c *backend.Call) error {
		w := pool.Get().(*wideCall)
		for i := range c.In {
			if w.in[i] = c.In[i]; isHalf(c.In[i].DType) {
				w.in[i] = wideView(&c.In[i], c.Scratch[ins[i]:])
				toFloat32(tensor.Cast[float32](w.in[i].Data), &c.In[i])
			}
		}
		for i := range c.Out {
			if w.out[i] = c.Out[i]; isHalf(c.Out[i].DType) {
				w.out[i] = wideView(&c.Out[i], c.Scratch[outs[i]:])
			}
		}
		w.call = backend.Call{In: w.in[:len(c.In)], Out: w.out[:len(c.Out)], Scratch: c.Scratch[:inner.scratch]}
		err := inner.run(&w.call)
		for i := range c.Out {
			if isHalf(c.Out[i].DType) {
				fromFloat32(&c.Out[i], tensor.Cast[float32](w.out[i].Data))
			}
		}
		clear(w.in)
		clear(w.out)
		pool.Put(w)
		return err
	}}
}

func alignUp(n int64) int64 { return (n + 63) &^ 63 }

func wideView(v *backend.View, room []byte) backend.View {
	n, _ := v.Shape.Elements()
	return backend.View{DType: tensor.Float32, Shape: v.Shape, Data: room[:4*n]}
}

// toFloat32 writes the 16-bit floats of v to dst.
func toFloat32(dst []float32, v *backend.View) {
	if v.DType == tensor.Float16 {
		for i, h := range tensor.Cast[tensor.Half](v.Data) {
			dst[i] = h.Float32()
		}
		return
	}
	for i, h := range tensor.Cast[tensor.Brain](v.Data) {
		dst[i] = h.Float32()
	}
}

// fromFloat32 writes src, rounded, to the 16-bit floats of v.
func fromFloat32(v *backend.View, src []float32) {
	if v.DType == tensor.Float16 {
		dst := tensor.Cast[tensor.Half](v.Data)
		for i, f := range src {
			dst[i] = tensor.HalfOf(f)
		}
		return
	}
	dst := tensor.Cast[tensor.Brain](v.Data)
	for i, f := range src {
		dst[i] = tensor.BrainOf(f)
	}
}
