package plan

import (
	"slices"

	"github.com/stowage-ml/stowage/arena"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// piece is a range of a class's bytes that no value of the class covers in part only.
type piece struct {
	root   graph.ValueID
	lo, hi int64
}

// dagger describes the steps, in their order, and the pieces that they write and read, to what
// orders them.
type dagger struct {
	m      *layout
	d      arena.DAG
	pieces []piece
	// from is the first piece of each class, −1 for those without.
	from []int
}

// dag describes the steps as operations on pieces. Values that are not in the arena have no size.
// Lifetimes and outputs must be known, and nothing be in place yet.
func (m *layout) dag() *arena.DAG {
	g := &dagger{m: m, from: make([]int, len(m.class))}
	for i := range g.from {
		g.from[i] = -1
	}
	m.eachClass(g.cut)
	steps := m.c.stage.Steps
	g.d.Nodes = make([]arena.Node, len(steps))
	random := -1
	for t := range steps {
		s := &steps[t]
		n := &g.d.Nodes[t]
		n.Name, n.Scratch = s.Node.Label(), aligned(s.ScratchBytes)
		for _, v := range s.Out {
			n.Makes = g.add(n.Makes, v)
		}
		for _, v := range s.reads {
			n.Reads = g.add(n.Reads, v)
		}
		if s.item.row.Random || s.Control != nil {
			// Random numbers come in the order of their makers, which may be in a body.
			if random >= 0 {
				n.After = append(n.After, random)
			}
			random = t
		}
		g.over(s)
	}
	return &g.d
}

// cut adds the pieces of a class.
func (g *dagger) cut(values []graph.ValueID) {
	m := g.m
	r := m.root(values[0])
	k := &m.class[r]
	g.from[r] = len(g.pieces)
	ends := m.ends(values)
	for i := range ends[1:] {
		v := arena.Value{Name: m.c.name(r), Size: ends[i+1] - ends[i]}
		if m.pitch[r] != 0 {
			v.Size *= k.bytes / m.pitch[r]
		}
		if i == len(ends)-2 {
			v.Size += aligned(k.bytes) - k.bytes
		}
		if k.output >= 0 || m.c.fate[r] == placed {
			v.Size = 0
		}
		for _, u := range values {
			if lo, hi := m.columns(u); lo <= ends[i] && hi >= ends[i+1] && m.spans[u].last == len(m.c.stage.Steps) {
				v.Keep = true
			}
		}
		g.pieces = append(g.pieces, piece{r, ends[i], ends[i+1]})
		g.d.Values = append(g.d.Values, v)
	}
}

// add appends the pieces of a value to a list that has none of them twice.
func (g *dagger) add(list []int, v graph.ValueID) []int {
	if v == graph.NoValue {
		return list
	}
	m := g.m
	r := m.root(v)
	i := g.from[r]
	if i < 0 {
		return list
	}
	lo, hi := m.columns(v)
	for ; i < len(g.pieces) && g.pieces[i].root == r; i++ {
		if p := &g.pieces[i]; p.lo >= lo && p.hi <= hi && !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	return list
}

// over notes which values the first output of a step may be written over.
func (g *dagger) over(s *Step) {
	m, it := g.m, s.item
	list := it.overwrites()
	if len(list) == 0 {
		return
	}
	out := g.whole(it.out[0])
	if out < 0 {
		return
	}
	for _, j := range list {
		if j >= len(it.in) || it.in[j] == graph.NoValue || m.c.of(it.in[j]).dtype == tensor.String ||
			m.c.inst[it.in[j]].layout != m.c.inst[it.out[0]].layout ||
			m.c.inst[it.in[j]].device != m.c.inst[it.out[0]].device {
			continue
		}
		in := g.whole(it.in[j])
		if in >= 0 && g.d.Values[in].Size == g.d.Values[out].Size && !slices.Contains(g.d.Values[out].Over, in) {
			g.d.Values[out].Over = append(g.d.Values[out].Over, in)
		}
	}
}

// whole returns the piece of a value that is all of its class, in the arena; −1 otherwise.
func (g *dagger) whole(v graph.ValueID) int {
	m := g.m
	r := m.root(v)
	i := g.from[r]
	if i < 0 || m.class[r].output >= 0 || m.c.size(v) == 0 || m.c.size(v) != m.class[r].bytes ||
		i+1 < len(g.pieces) && g.pieces[i+1].root == r {
		return -1
	}
	return i
}

// aligned rounds up to Align.
func aligned(n int64) int64 { return (n + Align - 1) / Align * Align }
