package ref

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
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
	if row.Out.Min > 0 && !o.Out[0].Present() {
		return fmt.Errorf("output 0: left out")
	}
	c := op.Ctx{Node: o.Node, In: make([]op.Fact, len(o.In)), Out: make([]op.Fact, len(o.Out))}
	for i := range o.In {
		a := &o.In[i]
		if a.Present() {
			c.In[i] = op.Fact{DType: a.DType, Shape: graph.Of(a.Shape...), Const: a.Const}
		} else if i < row.In.Min || row.In.Max < 0 {
			return fmt.Errorf("input %d: missing", i)
		}
	}
	if err := row.Infer(&c); err != nil {
		return err
	}
	for i := range c.Out {
		if o.Out[i].Present() && o.Out[i].Shape == nil && !row.Dynamic {
			return fmt.Errorf("output %d: got no shape, want one", i)
		}
		want, known := c.Out[i].Shape.Concrete()
		if known && o.Out[i].Present() && !want.Equal(o.Out[i].Shape) {
			return fmt.Errorf("output %d: got shape %v, want %v", i, o.Out[i].Shape, want)
		}
	}
	return nil
}

// checkedAll wraps the make of every entry of a family.
func checkedAll(es []entry) []entry {
	for i := range es {
		es[i].make = checked(es[i].make)
	}
	return es
}
