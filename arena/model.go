package arena

import (
	"cmp"
	"slices"
)

// storage is an alias class: buffers that share their bytes.
type storage struct {
	size, align int64
	// start and end are the hull of the life. spans is the life itself when it has gaps, merged
	// and in order; otherwise nil.
	start, end int64
	spans      []Span
	// low is the lowest buffer of the class.
	low int32
	// item is the item that holds the storage, within its offset there.
	item   int32
	within int64
	// stride is the row of the row pack it belongs to, and rows its row count; 0 when there is none.
	stride, rows int64
}

// live says whether the storage ever disturbs another.
func (s *storage) live() bool { return s.size > 0 && s.start < s.end }

// strided says whether there are gaps between the storage's rows.
func (s *storage) strided() bool { return s.rows > 1 && s.size != s.stride*s.rows }

// item is a unit of placement: one storage, or the storages of a pack.
type item struct {
	size, align int64
	// start, end and spans are as in storage, of all storages together.
	start, end int64
	spans      []Span
	// key is the lowest buffer of the item.
	key int32
	// fixed is the item's offset, or −1; fixedBy is the buffer that says so.
	fixed   int64
	fixedBy int32
	// parts are the storages, in pack order. over is the one the others are laid over, or −1.
	parts []int32
	over  int32
	// solid counts the parts that have bytes, over aside.
	solid int
	// rows is the row count of a row pack, and 0 otherwise.
	rows int64
}

// model is a checked problem, with aliases merged and packs laid out.
type model struct {
	p        *Problem
	external []bool
	// class holds the storage of each buffer, −1 when external.
	class    []int32
	storages []storage
	items    []item
	// pools holds the items of each pool, in order of the pool's first buffer.
	pools        []group
	materialized int64
}

// group is one pool and the items in it.
type group struct {
	Pool
	items []int32
}

// newModel checks p and merges what shares storage.
func newModel(p *Problem) (*model, error) {
	materialized, err := p.check()
	if err != nil {
		return nil, err
	}
	m := &model{p: p, materialized: materialized, external: make([]bool, len(p.Buffers))}
	for _, i := range p.External {
		m.external[i] = true
	}
	for i, b := range p.Buffers {
		if m.external[i] && b.Fixed != nil {
			return nil, p.fail(ErrExternal, i, "offset: the buffer is external, and is not placed")
		}
	}
	if err := m.mergeAliases(); err != nil {
		return nil, err
	}
	if err := m.layPacks(); err != nil {
		return nil, err
	}
	if err := m.fix(); err != nil {
		return nil, err
	}
	m.split()
	return m, nil
}

// mergeAliases makes the storages, in order of their lowest buffers.
func (m *model) mergeAliases() error {
	p := m.p
	parent := make([]int32, len(p.Buffers))
	for i := range parent {
		parent[i] = int32(i)
	}
	root := func(i int32) int32 {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for i, a := range p.Aliases {
		if err := m.checkAlias(a); err != nil {
			return placed(err, "aliases[%d]", i)
		}
		x, y := root(int32(a.Out)), root(int32(a.In))
		parent[max(x, y)] = min(x, y)
	}
	m.class = make([]int32, len(p.Buffers))
	m.storages = make([]storage, 0, len(p.Buffers))
	for i := range p.Buffers {
		if m.external[i] {
			m.class[i] = -1
			continue
		}
		if r := root(int32(i)); int(r) != i {
			m.class[i] = m.class[r]
			m.join(m.class[r], i)
			continue
		}
		m.class[i] = int32(len(m.storages))
		m.storages = append(m.storages, storage{low: int32(i), item: -1})
		m.join(m.class[i], i)
	}
	return nil
}

func (m *model) checkAlias(a Alias) error {
	p := m.p
	out, in := &p.Buffers[a.Out], &p.Buffers[a.In]
	switch {
	case m.external[a.Out] || m.external[a.In]:
		return p.fail(ErrExternal, a.Out, "alias over %q names an external buffer", p.name(a.In))
	case out.Size != in.Size:
		return p.fail(ErrAlias, a.Out, "alias over %q: got %d B over %d B, want equal sizes",
			p.name(a.In), out.Size, in.Size)
	case out.Pool != in.Pool:
		return p.fail(ErrPool, a.Out, "alias over %q: got pool %q over pool %q, want one pool",
			p.name(a.In), out.Pool, in.Pool)
	}
	return nil
}

// join adds buffer i to storage c.
func (m *model) join(c int32, i int) {
	b, s := &m.p.Buffers[i], &m.storages[c]
	s.size = b.Size
	s.align = max(s.align, m.p.align(b))
	first := int(s.low) == i
	if first && len(b.More) == 0 {
		s.start, s.end = b.Start, b.End
		return
	}
	life := append([]Span{{b.Start, b.End}}, b.More...)
	if !first {
		life = append(life, lifeOf(s.start, s.end, s.spans)...)
	}
	s.start, s.end, s.spans = merge(life)
}

// lifeOf lists the spans of a life that is stored as a hull and, when it has gaps, as spans.
func lifeOf(start, end int64, spans []Span) []Span {
	if spans != nil {
		return spans
	}
	return []Span{{start, end}}
}

// merge returns the hull of a life that has at least one span and, when it has gaps, its spans
// in order. It reorders life.
func merge(life []Span) (start, end int64, spans []Span) {
	start, end = life[0].Start, life[0].End
	life = slices.DeleteFunc(life, func(s Span) bool { return s.Start == s.End })
	if len(life) == 0 {
		return start, end, nil
	}
	slices.SortFunc(life, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	out := life[:1]
	for _, s := range life[1:] {
		if last := &out[len(out)-1]; s.Start <= last.End {
			last.End = max(last.End, s.End)
		} else {
			out = append(out, s)
		}
	}
	start, end = out[0].Start, out[len(out)-1].End
	if len(out) == 1 {
		return start, end, nil
	}
	return start, end, slices.Clone(out)
}

// split sorts the items into their pools.
func (m *model) split() {
	index := map[string]int{}
	if len(m.items) == 0 {
		m.pools = []group{{Pool: m.p.pool("")}}
		return
	}
	order := make([]int32, len(m.items))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(m.items[a].key, m.items[b].key) })
	for _, i := range order {
		name := m.p.Buffers[m.items[i].key].Pool
		at, ok := index[name]
		if !ok {
			at = len(m.pools)
			index[name] = at
			m.pools = append(m.pools, group{Pool: m.p.pool(name)})
		}
		m.pools[at].items = append(m.pools[at].items, i)
	}
}
