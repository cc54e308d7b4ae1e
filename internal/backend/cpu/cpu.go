// Package cpu offers the fast kernels of the CPU: what its families (one subpackage each) have for
// the machine's vector units. What they lack is not a candidate; the reference backend has it.
package cpu

import (
	"fmt"
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// Family offers kernels for one operator, best first, for a vector level; none when it has no
// kernel for these operands. An error means that the operands can never be right.
type Family = func(l simd.Level, o *backend.Op) ([]backend.Candidate, error)

// Backend offers the kernels of the CPU, and behind them those of Fallback.
type Backend struct {
	// Level is the vector level; kernels of no higher one are offered.
	Level simd.Level
	// Off lists kernels, by name, that are not offered.
	Off []string
	// Fallback has every operator.
	Fallback backend.Backend
}

// Name returns "cpu".
func (Backend) Name() string { return "cpu" }

// Supports is the fallback's answer: it has every operator.
func (b Backend) Supports(n *graph.Node, in, out []tensor.DType) error {
	return b.Fallback.Supports(n, in, out)
}

// Candidates returns the families' kernels, then the fallback's. For a Fused node of which no family
// has a kernel on row-major operands, its nodes' best kernels in turn come between; where one has,
// that stands for both, since to put a body together takes more time than all else.
func (b Backend) Candidates(o *backend.Op) ([]backend.Candidate, error) {
	out := make([]backend.Candidate, 0, 4)
	for _, f := range families[key{o.Node.Domain, o.Node.Op}] {
		cs, err := f(b.Level, o)
		if err != nil {
			return nil, err
		}
		for i := range cs {
			if !slices.Contains(b.Off, cs[i].Name) {
				out = append(out, cs[i])
			}
		}
	}
	if op.IsFused(o.Node) && slices.ContainsFunc(out, func(c backend.Candidate) bool { return c.RowMajor() }) {
		return out, nil
	}
	if op.IsFused(o.Node) && !slices.Contains(b.Off, group) {
		c, err := backend.Compose(o, group, b.plain)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	cs, err := b.Fallback.Candidates(o)
	if err != nil {
		return nil, err
	}
	return append(out, cs...), nil
}

// group is the name of the kernel that runs a fused node's body one node after the other.
const group = "group"

// plain returns the best kernel that works on row-major operands.
func (b Backend) plain(o *backend.Op) (backend.Candidate, error) {
	cs, err := b.Candidates(o)
	if err != nil {
		return backend.Candidate{}, err
	}
	for _, c := range cs {
		if rowMajor(c.In) && rowMajor(c.Out) {
			return c, nil
		}
	}
	return backend.Candidate{}, fmt.Errorf("cpu: operator %s: no kernel for row-major operands", o.Node.Op)
}

func rowMajor(ls []backend.Layout) bool {
	return !slices.ContainsFunc(ls, func(l backend.Layout) bool { return l != backend.RowMajor })
}
