package stowage

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// Unsupported is a node that no backend can run.
type Unsupported struct {
	Op     string `json:"op"`
	Domain string `json:"domain,omitempty"`
	Opset  int    `json:"opset"`
	Node   string `json:"node"`
	Reason string `json:"reason"`
}

// String returns one line, such as `FooBar "conv_3" (opset 17): unknown operator`.
func (u Unsupported) String() string {
	op := u.Op
	if u.Domain != "" {
		op = u.Domain + "." + u.Op
	}
	return fmt.Sprintf("%s %q (opset %d): %s", op, u.Node, u.Opset, u.Reason)
}

// unsupportedError says all that stands in the way of a model.
func unsupportedError(list []Unsupported) error {
	if len(list) == 0 {
		return nil
	}
	lines := make([]string, len(list))
	for i, u := range list {
		lines[i] = u.String()
	}
	return fmt.Errorf("stowage: open: %w: %d of the model's nodes: %s", errors.ErrUnsupported, len(list),
		strings.Join(lines, "; "))
}

// checker collects the nodes that a backend cannot run.
type checker struct {
	backend backend.Backend
	seen    map[*graph.Node]bool
	listed  map[Unsupported]bool
	list    []Unsupported
}

func newChecker(b backend.Backend) *checker {
	return &checker{backend: b, seen: map[*graph.Node]bool{}, listed: map[Unsupported]bool{}}
}

func (c *checker) add(u Unsupported) {
	if !c.listed[u] {
		c.listed[u] = true
		c.list = append(c.list, u)
	}
}

func (c *checker) node(n *graph.Node, reason string) {
	if c.seen[n] {
		return
	}
	c.seen[n] = true
	c.add(Unsupported{Op: n.Op, Domain: n.Domain, Opset: n.Version, Node: n.Name, Reason: reason})
}

// walk lists the operators without a row or a kernel, in every subgraph.
func (c *checker) walk(g *graph.Graph) {
	for _, n := range g.Nodes {
		r := op.Lookup(n.Domain, n.Op)
		switch {
		case r == nil:
			c.node(n, "unknown operator")
		case !r.Control:
			if err := c.backend.Supports(n, nil, nil); err != nil {
				c.node(n, err.Error())
			}
		}
		for _, b := range n.Bodies() {
			c.walk(b)
		}
	}
}

// visit checks a node once its operands' types are inferred.
func (c *checker) visit(n *graph.Node, in, out []op.Fact) {
	if r := op.Lookup(n.Domain, n.Op); r == nil || r.Control {
		return
	}
	if err := c.backend.Supports(n, dtypesOf(in), dtypesOf(out)); err != nil {
		c.node(n, err.Error())
	}
}

func dtypesOf(fs []op.Fact) []tensor.DType {
	out := make([]tensor.DType, len(fs))
	for i := range fs {
		out[i] = fs[i].DType
	}
	return out
}
