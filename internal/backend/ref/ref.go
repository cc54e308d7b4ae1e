// Package ref computes every operator slowly, plainly and right: the oracle that other backends
// are compared with, and what runs when nothing faster is there. One file holds one family of
// operators. It knows nothing of plans or memory: operands are where the call says.
package ref

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// prepared is a kernel and the scratch bytes it needs.
type prepared struct {
	run     backend.Kernel
	scratch int64
}

// entry is one operator's kernel.
type entry struct {
	domain, op string
	// types lists what each input may be, by position; the last one serves all further inputs.
	types []types
	// make checks the operands and returns the kernel for them.
	make func(o *backend.Op) (prepared, error)
	// body says, in make's place, that the node's body is interpreted.
	body bool
}

// run wraps a kernel that needs no scratch.
func run(k backend.Kernel) (prepared, error) { return prepared{run: k}, nil }

type key struct{ domain, op string }

// Backend is the reference backend. The zero value is ready.
type Backend struct{}

var _ backend.Backend = Backend{}

// Name returns "ref".
func (Backend) Name() string { return "ref" }

// Supports reports whether there is a kernel for the node's operator and input types.
func (Backend) Supports(n *graph.Node, in, _ []tensor.DType) error {
	e := kernels[key{n.Domain, n.Op}]
	if e == nil {
		return fmt.Errorf("ref: operator %s: no kernel", n.Op)
	}
	for i, dt := range in {
		if dt == tensor.Undefined || len(e.types) == 0 {
			continue
		}
		if want := e.types[min(i, len(e.types)-1)]; !want.has(dt) {
			return fmt.Errorf("ref: operator %s: input %d: got %v, want %v", n.Op, i, dt, want)
		}
	}
	return nil
}

// Candidates returns the operator's kernel, if there is one for the operands' types.
func (b Backend) Candidates(o *backend.Op) ([]backend.Candidate, error) {
	in := make([]tensor.DType, len(o.In))
	for i := range o.In {
		in[i] = o.In[i].DType
	}
	if b.Supports(o.Node, in, nil) != nil {
		return nil, nil
	}
	e := kernels[key{o.Node.Domain, o.Node.Op}]
	if e.body {
		c, err := backend.Compose(o, o.Node.Op, b.first)
		return []backend.Candidate{c}, err
	}
	p, err := e.make(o)
	if err != nil {
		return nil, err
	}
	return []backend.Candidate{{Name: o.Node.Op, Source: "go", Kernel: p.run, Scratch: p.scratch}}, nil
}

// first returns the kernel of a node in a body.
func (b Backend) first(o *backend.Op) (backend.Candidate, error) {
	cs, err := b.Candidates(o)
	if err != nil {
		return backend.Candidate{}, err
	}
	if len(cs) == 0 {
		return backend.Candidate{}, fmt.Errorf("ref: operator %s: no kernel", o.Node.Op)
	}
	return cs[0], nil
}

var kernels = index()

func index() map[key]*entry {
	t := map[key]*entry{}
	for _, es := range families {
		for i := range es {
			k := key{es[i].domain, es[i].op}
			if t[k] != nil {
				panic("BUG: ref: two kernels for " + es[i].op)
			}
			t[k] = &es[i]
		}
	}
	return t
}
