package arena

import (
	"fmt"
	"maps"
)

// Outside is the group of a producer or consumer that is not in the plan.
const Outside = -1

// Circuit is a sequence of groups of operations, with the edges between them: the form in which a
// fused graph asks for buffers. Groups run in order, 0 to Groups−1; group g is time [g, g+1).
type Circuit struct {
	Groups int
	Edges  []Edge
	// Dims gives the values of the dims in row expressions; "n" is the widest row count.
	Dims map[string]int64
	// External, Aliases, Packs and RowPacks are those of a Problem, in edges.
	External []int
	Aliases  []Alias
	Packs    [][]int
	RowPacks []RowPack
	// Align is the alignment of every edge, in bytes; 0 means DefaultAlign.
	Align int64
	// RecycleInputs lets the bytes of an edge that is written outside the plan be used again after
	// its last reader; otherwise it lives for the whole plan.
	RecycleInputs bool
	// RecycleUnread ends an edge that nobody reads after its own group; otherwise it lives to the end.
	RecycleUnread bool
}

// Edge is a value that one operation writes and others read: Rows rows of Dim elements.
type Edge struct {
	Name   string
	Rows   Rows
	Dim    int64
	Format Format
	// Producer is the group that writes the edge, and Consumers the groups that read it; Outside
	// stands for whatever is not in the plan.
	Producer  int
	Consumers []int
	// Output says that the edge is read after the plan has run.
	Output bool
	// Fused says that the edge never reaches memory, and needs no buffer.
	Fused bool
}

// LiveRange returns the half-open lifetime of edge e: from the group that writes it to behind the
// last group that reads it. Outputs, edges that something outside the plan reads or writes, and
// edges that nobody reads live to the end; what is written outside lives from the beginning.
func (c *Circuit) LiveRange(e int) (Span, error) {
	edge := &c.Edges[e]
	for _, g := range append([]int{edge.Producer}, edge.Consumers...) {
		if g < Outside || g >= c.Groups {
			return Span{}, c.fail(ErrIndex, e, "got group %d, want one of %d", g, c.Groups)
		}
	}
	end := max(int64(c.Groups), 1)
	live := Span{max(int64(edge.Producer), 0), end}
	if edge.Output || edge.Producer == Outside && !c.RecycleInputs {
		return live, nil
	}
	last := -1
	for _, g := range edge.Consumers {
		if g == Outside {
			return live, nil
		}
		last = max(last, g)
	}
	switch {
	case last >= 0:
		live.End = max(int64(last)+1, live.Start+1)
	case c.RecycleUnread:
		live.End = live.Start + 1
	}
	return live, nil
}

// Problem sizes every edge for maxRows rows, and returns the problem of placing those that are
// not fused. buffers tells which buffer an edge is, −1 for a fused one. A size that overflows, a
// dim that is not a multiple of its scale group and rows that cannot be worked out are ErrSize; a
// constraint on a fused edge is ErrIndex. Both name the edge.
func (c *Circuit) Problem(maxRows int64) (p *Problem, buffers []int, err error) {
	dims := maps.Clone(c.Dims)
	if dims == nil {
		dims = make(map[string]int64)
	}
	dims["n"] = maxRows
	p = &Problem{Align: c.Align}
	buffers = make([]int, len(c.Edges))
	for e := range c.Edges {
		if buffers[e] = -1; c.Edges[e].Fused {
			continue
		}
		b, err := c.buffer(e, dims)
		if err != nil {
			return nil, nil, err
		}
		buffers[e] = len(p.Buffers)
		p.Buffers = append(p.Buffers, b)
	}
	if err := c.constrain(p, buffers); err != nil {
		return nil, nil, err
	}
	return p, buffers, nil
}

// buffer sizes edge e.
func (c *Circuit) buffer(e int, dims map[string]int64) (Buffer, error) {
	edge := &c.Edges[e]
	rows, err := edge.Rows.Eval(dims)
	if err != nil {
		return Buffer{}, c.fail(ErrSize, e, "size: %v", err)
	}
	size, ok := edge.Format.Bytes(rows, edge.Dim)
	if !ok {
		return Buffer{}, c.fail(ErrSize, e, "size: got %d rows of %d elements of %s, "+
			"want a dim in whole groups of %d and fewer than 2^63 B", rows, edge.Dim, edge.Format.Name, edge.Format.Group)
	}
	live, err := c.LiveRange(e)
	if err != nil {
		return Buffer{}, err
	}
	return Buffer{Name: edge.Name, Size: size, Rows: rows, Start: live.Start, End: live.End}, nil
}

// constrain translates the constraints from edges to buffers.
func (c *Circuit) constrain(p *Problem, buffers []int) error {
	var err error
	buffer := func(e int) int {
		if e < 0 || e >= len(buffers) || buffers[e] < 0 {
			if err == nil {
				err = c.fail(ErrIndex, e, "is not materialised, and cannot be in a constraint")
			}
			return -1
		}
		return buffers[e]
	}
	all := func(edges []int) (out []int) {
		for _, e := range edges {
			out = append(out, buffer(e))
		}
		return out
	}
	p.External = all(c.External)
	for _, a := range c.Aliases {
		p.Aliases = append(p.Aliases, Alias{Out: buffer(a.Out), In: buffer(a.In)})
	}
	for _, k := range c.Packs {
		p.Packs = append(p.Packs, all(k))
	}
	for _, k := range c.RowPacks {
		r := RowPack{Members: all(k.Members)}
		if k.Over != nil {
			r.Over = new(buffer(*k.Over))
		}
		p.RowPacks = append(p.RowPacks, r)
	}
	return err
}

// fail names edge e as a problem names its buffers.
func (c *Circuit) fail(kind error, e int, format string, args ...any) error {
	name := ""
	if e >= 0 && e < len(c.Edges) {
		name = c.Edges[e].Name
	}
	return &Error{Kind: kind, Buffer: label(name, e), Index: e, Detail: fmt.Sprintf(format, args...)}
}
