package plan

import (
	"cmp"
	"math"
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
)

// partBoxes lists the parts of each class with lifetimes of their own, in order of their bytes: those
// into which the values of the class cut it, each with the lifetime of the values that it is part of.
func (m *layout) partBoxes() []box {
	var out []box
	m.eachClass(func(values []graph.ValueID) {
		if !m.inArena(m.root(values[0])) {
			return
		}
		r := m.root(values[0])
		if m.pitch[r] != 0 {
			out = append(out, m.whole(r))
			return
		}
		ends := m.ends(values)
		start := len(out)
		for i := range ends[1:] {
			b := m.part(values, ends[i], ends[i+1])
			if n := len(out); n > start && out[n-1].first == b.first && out[n-1].last == b.last {
				out[n-1].bytes += b.bytes
				continue
			}
			out = append(out, b)
		}
	})
	return out
}

// part returns the range [lo, hi) of a class of these values.
func (m *layout) part(values []graph.ValueID, lo, hi int64) box {
	root := m.root(values[0])
	b := box{root: root, device: m.c.inst[root].device, at: lo, bytes: hi - lo, first: math.MaxInt, last: -1}
	for _, v := range values {
		if at := m.at(v); at > lo || at+m.c.size(v) < hi {
			continue
		}
		s := m.spans[v]
		if b.last = max(b.last, s.last); s.first >= 0 {
			b.first = min(b.first, s.first)
		}
	}
	if b.first > b.last {
		panic("BUG: plan: bytes that nothing writes: " + m.c.name(values[0]))
	}
	return b
}

// eachClass calls f with the values of each class that the steps use, in order of their bytes;
// classes come in order of their first value.
func (m *layout) eachClass(f func(values []graph.ValueID)) {
	var all []graph.ValueID
	for i := range m.spans {
		if v := graph.ValueID(i); m.spans[v].last >= 0 && m.of(v).base == graph.NoValue {
			all = append(all, v)
		}
	}
	slices.SortStableFunc(all, func(a, b graph.ValueID) int {
		return cmp.Or(cmp.Compare(m.root(a), m.root(b)), cmp.Compare(m.at(a), m.at(b)))
	})
	for lo := 0; lo < len(all); {
		hi := lo + 1
		for hi < len(all) && m.root(all[hi]) == m.root(all[lo]) {
			hi++
		}
		f(all[lo:hi])
		lo = hi
	}
}

// columns returns where a value starts and ends in its class; in one with rows, in its first row.
func (m *layout) columns(v graph.ValueID) (lo, hi int64) {
	if p := m.pitch[m.root(v)]; p != 0 && !m.lined[v] {
		return m.at(v), m.at(v) + p
	}
	if m.lined[v] {
		return m.at(v), m.at(v) + m.c.size(v)/m.c.of(v).shape[0]
	}
	return m.at(v), m.at(v) + m.c.size(v)
}

// ends returns where the columns of the values of a class start and end, in order: two at least.
func (m *layout) ends(values []graph.ValueID) []int64 {
	ends := make([]int64, 0, 2*len(values))
	for _, v := range values {
		lo, hi := m.columns(v)
		ends = append(ends, lo, hi)
	}
	slices.Sort(ends)
	if ends = slices.Compact(ends); len(ends) == 1 {
		ends = append(ends, ends[0])
	}
	return ends
}
