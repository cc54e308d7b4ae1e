package fuse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
)

// closed reports whether nodes, in order, can become one: only the last one's output, which is its
// only one, is read by other nodes or is an output of the graph.
func (f *finder) closed(members []int) bool {
	last := members[len(members)-1]
	for _, i := range members {
		n := f.g.Nodes[i]
		if f.taken[i] {
			return false
		}
		if i == last {
			return soleOutput(n) != graph.NoValue
		}
		for _, v := range n.Outputs {
			if v == graph.NoValue {
				continue
			}
			if f.isOut[v] {
				return false
			}
			for _, r := range f.readers[v] {
				if !slices.Contains(members, r) {
					return false
				}
			}
		}
	}
	return true
}

// frugal reports whether memory cannot grow when members wait for the last of them: at every node
// in between that is none of them, what must be kept longer for their sake is no larger than what
// they need not keep any more.
func (f *finder) frugal(members []int) bool {
	first, last := members[0], members[len(members)-1]
	for q := first + 1; q < last; q++ {
		n := f.g.Nodes[q]
		if slices.Contains(members, q) {
			continue
		}
		if row := op.Lookup(n.Domain, n.Op); row != nil && row.View {
			continue
		}
		if !f.balanced(members, q) {
			return false
		}
	}
	return true
}

// balanced compares what the group keeps longer at node q with what it keeps no more.
func (f *finder) balanced(members []int, q int) bool {
	var extra, saved []graph.ValueID
	for _, i := range members {
		if i >= q {
			break
		}
		n := f.g.Nodes[i]
		for _, v := range n.Inputs {
			if v != graph.NoValue && f.endsBefore(v, q) && !slices.Contains(members, f.source[v]) && !slices.Contains(extra, v) {
				extra = append(extra, v)
			}
		}
		for _, v := range n.Outputs {
			if v != graph.NoValue && !f.endsBefore(v, q) {
				saved = append(saved, v)
			}
		}
	}
	for _, v := range extra {
		i := slices.IndexFunc(saved, func(s graph.ValueID) bool { return f.noLarger(v, s) })
		if i < 0 || f.partOfMore(v) {
			return false
		}
		saved = slices.Delete(saved, i, i+1)
	}
	return true
}

// endsBefore reports whether a value takes memory of a run and is not needed any more when node q
// runs.
func (f *finder) endsBefore(v graph.ValueID, q int) bool {
	if f.source[v] < 0 || f.isOut[v] {
		return false
	}
	for _, r := range f.readers[v] {
		if r >= q {
			return false
		}
	}
	return true
}

// noLarger reports whether a is known to take no more bytes than b, unless an extent is 0.
func (f *finder) noLarger(a, b graph.ValueID) bool {
	x, y := f.fact(a), f.fact(b)
	if x.Shape.Unranked() || y.Shape.Unranked() {
		return false
	}
	rest := slices.Clone(y.Shape)
	n, m := float64(x.DType.Bits()), float64(y.DType.Bits())
	for _, d := range x.Shape {
		if k, ok := d.Int(); ok {
			n *= float64(k)
			continue
		}
		i := slices.IndexFunc(rest, d.Same)
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	for _, d := range rest {
		if k, ok := d.Int(); ok {
			m *= float64(k)
		}
	}
	return n <= m
}

// partOfMore reports whether a value may lie within a larger one, which is then kept with it.
func (f *finder) partOfMore(v graph.ValueID) bool {
	for f.source[v] >= 0 {
		n := f.g.Nodes[f.source[v]]
		row := op.Lookup(n.Domain, n.Op)
		if row == nil || row.Parts {
			return true
		}
		if !row.View || n.Input(0) == graph.NoValue {
			return false
		}
		v = n.Inputs[0]
	}
	return false
}

// fuse puts one Fused node in the place of the last of the members, which are closed and in order.
func (f *finder) fuse(members []int) {
	b := &graph.Graph{}
	ids := map[graph.ValueID]graph.ValueID{}
	last := f.g.Nodes[members[len(members)-1]]
	out := &graph.Node{Domain: op.Domain, Op: op.Fused, Version: 1, Name: f.label(members),
		Outputs: []graph.ValueID{soleOutput(last)}}
	add := func(v graph.ValueID) graph.ValueID {
		if id, ok := ids[v]; ok {
			return id
		}
		dt := f.fact(v).DType
		id := b.AddValue(graph.Value{Name: f.g.Values[v].Name, Type: graph.Type{DType: dt}})
		ids[v] = id
		return id
	}
	for _, i := range members {
		for _, v := range f.g.Nodes[i].Inputs {
			if _, ok := ids[v]; ok || v == graph.NoValue || slices.Contains(members, f.source[v]) {
				continue
			}
			b.Inputs = append(b.Inputs, add(v))
			out.Inputs = append(out.Inputs, v)
		}
	}
	for _, i := range members {
		b.Nodes = append(b.Nodes, f.g.Nodes[i].Rewire(add, add))
	}
	b.Outputs = []graph.ValueID{add(out.Outputs[0])}
	out.Attrs = graph.Attrs{{Name: "body", Kind: graph.AttrGraph, Graph: b}}
	for _, i := range members[:len(members)-1] {
		f.remove(f.g.Nodes[i])
	}
	f.swap(last, out)
}

// maxListed is how many operators a fused node's name lists.
const maxListed = 8

// label names a fused node by what is in it and by the name of its first node.
func (f *finder) label(members []int) string {
	var ops []string
	name := ""
	for _, i := range members {
		n := f.g.Nodes[i]
		if ops = append(ops, n.Op); name == "" {
			name = n.Name
		}
	}
	if more := len(ops) - maxListed; more > 0 {
		ops = append(ops[:maxListed], fmt.Sprintf("%d more", more))
	}
	return strings.TrimSpace(strings.Join(ops, "+") + " " + name)
}
