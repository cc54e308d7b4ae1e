package stowage

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/fuse"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/infer"
	"github.com/stowage-ml/stowage/internal/op"
)

// knowledge is what inference knows of a graph that is being fused. An extent that it does not know gets a
// name of its own, so that it is the same wherever it is handed on.
type knowledge struct {
	*infer.Inferrer
	// maker is the node that each value has been inferred of.
	maker []*graph.Node
	// news marks the values of which more, or less, has become known in this pass.
	news []bool
	was  []op.Fact
}

// inferGraph is the fuse.Infer of what inference knows. Of a graph that has been inferred before, only what
// is new, and what depends on what has changed, is inferred again.
func inferGraph(g *graph.Graph, known map[graph.ValueID]op.Fact, old fuse.Facts) (fuse.Facts, error) {
	k, again := old.(*knowledge)
	if again {
		k.Follow(g)
	} else {
		k = &knowledge{Inferrer: infer.New(g)}
		for v, f := range known {
			k.Set(v, f)
		}
	}
	k.maker = append(k.maker, make([]*graph.Node, len(g.Values)-len(k.maker))...)
	clear(k.news)
	k.news = append(k.news, make([]bool, len(g.Values)-len(k.news))...)
	for _, n := range g.Nodes {
		if again && !k.stale(n) {
			continue
		}
		if err := k.learn(g, n); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// stale reports whether a node is new or reads what has changed.
func (k *knowledge) stale(n *graph.Node) bool {
	for _, v := range n.Outputs {
		if v != graph.NoValue && k.maker[v] != n {
			return true
		}
	}
	for _, v := range n.Inputs {
		if v != graph.NoValue && k.news[v] {
			return true
		}
	}
	for _, b := range n.Bodies() {
		for _, c := range b.Captures {
			if k.news[c.Outer] {
				return true
			}
		}
	}
	return false
}

// learn infers a node.
func (k *knowledge) learn(g *graph.Graph, n *graph.Node) error {
	k.was = k.was[:0]
	for _, v := range n.Outputs {
		k.was = append(k.was, *k.Fact(v))
	}
	if err := k.Node(n); err != nil {
		return err
	}
	for i, v := range n.Outputs {
		if v == graph.NoValue {
			continue
		}
		f := *k.Fact(v)
		for i, d := range f.Shape {
			if d.IsUnknown() {
				f.Shape = f.Shape.Clone()
				f.Shape[i] = graph.Sym(fmt.Sprintf("%s?%d", g.Values[v].Name, i))
			}
		}
		k.Set(v, f)
		k.maker[v] = n
		k.news[v] = !sameFact(&f, &k.was[i])
	}
	return nil
}

// sameFact reports whether two facts say the same.
func sameFact(a, b *op.Fact) bool {
	return a.DType == b.DType && a.Const == b.Const && sameDims(a.Shape, b.Shape) && sameDims(a.Value, b.Value)
}

func sameDims(a, b []graph.Dim) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	for i := range a {
		if !a[i].Same(b[i]) && !(a[i].IsUnknown() && b[i].IsUnknown()) {
			return false
		}
	}
	return true
}
