package graph

import (
	"fmt"
	"slices"
)

// build makes the patched graph of the nodes in order.
func (e *edit) build(order []int) *Graph {
	read := make([]bool, len(e.values))
	written := make([]bool, len(e.values))
	for _, id := range slices.Concat(e.g.Inputs, e.outputs) {
		read[id] = true
	}
	for _, i := range order {
		for _, id := range e.reads(i) {
			read[id] = true
		}
		for _, id := range e.nodes[i].Outputs {
			if id != NoValue {
				written[id] = true
			}
		}
	}
	e.rename(read, written)
	out := &Graph{Name: e.g.Name, Nodes: make([]*Node, 0, len(order))}
	ids := e.keep(out, read, written)
	for _, id := range e.g.Inputs {
		out.Inputs = append(out.Inputs, ids[id])
	}
	for _, id := range e.outputs {
		out.Outputs = append(out.Outputs, ids[id])
	}
	for _, c := range e.g.Captures {
		if read[c.Inner] {
			out.Captures = append(out.Captures, Capture{Outer: c.Outer, Inner: ids[c.Inner]})
		}
	}
	reader := func(id ValueID) ValueID { return ids[e.to[id]] }
	writer := func(id ValueID) ValueID { return ids[id] }
	if e.p.Sparse {
		reader = func(id ValueID) ValueID { return e.to[id] }
		writer = func(id ValueID) ValueID { return id }
	}
	for _, i := range order {
		out.Nodes = append(out.Nodes, e.nodes[i].Rewire(reader, writer))
	}
	return out
}

// keep gives the graph those values that are read or written, in the memory that they have, and returns
// the new id of each.
func (e *edit) keep(out *Graph, read, written []bool) []ValueID {
	if e.p.Sparse {
		for i := range e.values {
			if !read[i] && !written[i] {
				e.values[i] = Value{}
			}
		}
		out.Values = e.values
		return e.to
	}
	ids := make([]ValueID, len(e.values))
	kept := e.values[:0]
	for i := range e.values {
		if ids[i] = NoValue; read[i] || written[i] {
			ids[i] = ValueID(len(kept))
			kept = append(kept, e.values[i])
		}
	}
	clear(e.values[len(kept):])
	out.Values = slices.Clip(kept)
	return ids
}

// rename gives every value of the result a name of its own.
func (e *edit) rename(read, written []bool) {
	if !e.distinct(read, written) {
		for i, name := range e.names(read, written) {
			e.values[i].Name = name
		}
		return
	}
	for id, name := range e.named {
		e.values[id].Name = name
	}
}

// distinct reports whether the names that values have are one for each, given that the graph's own are.
func (e *edit) distinct(read, written []bool) bool {
	fresh := len(e.values) - e.old
	added := make(map[string]bool, fresh)
	add := func(name string) bool {
		if name == "" || added[name] {
			return false
		}
		added[name] = true
		return true
	}
	for _, id := range e.outputs {
		// Outputs that keep their own name count among the others.
		if name := e.named[id]; name != e.name(id) && !add(name) {
			return false
		}
	}
	for i := e.old; i < len(e.values); i++ {
		_, renamed := e.named[ValueID(i)]
		own := !renamed || e.named[ValueID(i)] == e.name(ValueID(i))
		if own && (read[i] || written[i]) && !add(e.name(ValueID(i))) {
			return false
		}
	}
	if len(added) == 0 {
		return true
	}
	for i := range e.old {
		if !read[i] && !written[i] {
			continue
		}
		if name, ok := e.named[ValueID(i)]; ok && name != e.name(ValueID(i)) {
			continue
		}
		if added[e.name(ValueID(i))] {
			return false
		}
	}
	return true
}

// names gives every value of the result a name of its own. Outputs come first, then inputs, then
// what is read; what is only written gives way.
func (e *edit) names(read, written []bool) []string {
	names := make([]string, len(e.values))
	// tries counts how often a name was asked for; a name in it is taken.
	tries := make(map[string]int, len(e.values))
	set := func(id ValueID, name string) {
		if names[id] != "" {
			return
		}
		try := name
		for try == "" || tries[try] > 0 {
			tries[name]++
			try = fmt.Sprintf("%s~%d", name, tries[name])
		}
		names[id] = try
		tries[try]++
	}
	for _, id := range e.outputs {
		set(id, e.named[id])
	}
	for _, id := range e.g.Inputs {
		set(id, e.name(id))
	}
	for _, some := range [][]bool{read, written} {
		for i, ok := range some {
			if ok {
				set(ValueID(i), e.name(ValueID(i)))
			}
		}
	}
	return names
}

// Rewire returns the node with every value that it reads, through its subgraphs too, and every
// value that it computes put through a map; NoValue stays. It returns n itself when nothing
// changes, and shares with n what does not.
func (n *Node) Rewire(read, written func(ValueID) ValueID) *Node {
	ins, outs, attrs := mapIDs(n.Inputs, read), mapIDs(n.Outputs, written), n.Attrs
	for i := range n.Attrs {
		if k := n.Attrs[i].Kind; k != AttrGraph && k != AttrGraphs {
			continue
		}
		a := n.Attrs[i]
		if !rewireAttr(&a, read) {
			continue
		}
		if &attrs[0] == &n.Attrs[0] {
			attrs = slices.Clone(n.Attrs)
		}
		attrs[i] = a
	}
	if sameSlice(ins, n.Inputs) && sameSlice(outs, n.Outputs) && sameSlice(attrs, n.Attrs) {
		return n
	}
	out := *n
	out.Inputs, out.Outputs, out.Attrs = ins, outs, attrs
	return &out
}

// sameSlice reports whether two slices of one length are the same memory.
func sameSlice[T any](a, b []T) bool { return len(a) == 0 || &a[0] == &b[0] }

// mapIDs puts ids through a map; it returns ids itself when nothing changes.
func mapIDs(ids []ValueID, f func(ValueID) ValueID) []ValueID {
	out := ids
	for i, id := range ids {
		if id == NoValue {
			continue
		}
		to := f(id)
		if to == id {
			continue
		}
		if &out[0] == &ids[0] {
			out = slices.Clone(ids)
		}
		out[i] = to
	}
	return out
}

// rewireAttr rewrites the captures of an attribute's subgraphs; it reports whether any changes.
func rewireAttr(a *Attr, read func(ValueID) ValueID) (changed bool) {
	switch a.Kind {
	case AttrGraph:
		a.Graph, changed = rewireBody(a.Graph, read)
	case AttrGraphs:
		gs := slices.Clone(a.Graphs)
		for i := range gs {
			b, c := rewireBody(gs[i], read)
			gs[i], changed = b, changed || c
		}
		a.Graphs = gs
	}
	return changed
}

func rewireBody(b *Graph, read func(ValueID) ValueID) (*Graph, bool) {
	captures := slices.Clone(b.Captures)
	for i := range captures {
		captures[i].Outer = read(captures[i].Outer)
	}
	if slices.Equal(captures, b.Captures) {
		return b, false
	}
	out := *b
	out.Captures = captures
	return &out, true
}
