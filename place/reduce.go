package place

import "math/bits"

// reduce removes devices from dom that some best placement does without: where another device is at
// least as good whatever the neighbours do (dead-end elimination; Desmet, Goldstein). It changes
// no device that is limited, nor one that is compared with a limited one.
func (m *model) reduce(dom []uint64) {
	todo := make([]int, 0, m.n)
	queued := make([]bool, m.n)
	push := func(v int) {
		if !queued[v] && dom[v]&(dom[v]-1) != 0 {
			queued[v] = true
			todo = append(todo, v)
		}
	}
	for _, v := range m.order {
		push(v)
	}
	for next := 0; next < len(todo); next++ {
		v := todo[next]
		queued[v] = false
		if !m.reduceNode(dom, v) {
			continue
		}
		push(v)
		for _, id := range m.ins[v] {
			w := &m.wires[id]
			if w.home >= 0 {
				push(w.home)
			}
			if len(w.readers) <= maxWatch {
				for _, u := range w.readers {
					push(u)
				}
			}
		}
		for _, id := range m.outs[v] {
			for _, u := range m.wires[id].readers {
				push(u)
			}
		}
	}
}

const (
	// maxWatch is the number of readers up to which those of one tensor are looked at again when one
	// of them changes.
	maxWatch = 16
	// maxOthers is the number of readers up to which it matters where the others may be.
	maxOthers = 256
)

// reduceNode removes what it can from one node's devices, and reports whether there was anything.
func (m *model) reduceNode(dom []uint64, v int) bool {
	before := dom[v]
	for set := before; set != 0; set &= set - 1 {
		d := bits.TrailingZeros64(set)
		for by := dom[v] &^ (1 << d); by != 0; by &= by - 1 {
			e := bits.TrailingZeros64(by)
			if m.caps != nil && (m.size[v*m.k+d] != 0 || m.size[v*m.k+e] != 0) {
				continue
			}
			gain := m.cost[v*m.k+d] - m.cost[v*m.k+e]
			if gain >= 0 && gain < MaxCost && m.worst(dom, v, d, e, gain) <= gain {
				dom[v] &^= 1 << d
				break
			}
		}
	}
	return dom[v] != before
}

// worst bounds what the copies around node v can cost more with v on e than with v on d. It may stop
// when that is above the limit.
func (m *model) worst(dom []uint64, v, d, e int, limit int64) int64 {
	sum := int64(0)
	for _, id := range m.ins[v] {
		if sum = max(sum+m.worstIn(dom, &m.wires[id], v, d, e), -MaxCost); sum > limit {
			return sum
		}
	}
	for _, id := range m.outs[v] {
		if sum = max(sum+m.worstOut(dom, &m.wires[id], d, e), -MaxCost); sum > limit {
			return sum
		}
	}
	return sum
}

// worstIn is the part of a wire that v reads.
func (m *model) worstIn(dom []uint64, w *wire, v, d, e int) int64 {
	must, may := w.need, ^uint64(0)
	if len(w.readers) <= maxOthers {
		must, may = w.others(dom, v)
	}
	if must>>e&1 != 0 {
		return 0
	}
	homes := uint64(1) << w.at
	if w.home >= 0 {
		homes = dom[w.home]
	}
	most := -MaxCost
	for ; homes != 0; homes &= homes - 1 {
		h := bits.TrailingZeros64(homes)
		more := w.hop[h*m.k+e]
		if w.tree == nil && may>>d&1 == 0 || may == 0 {
			// Nobody else brings it to d.
			more -= w.hop[h*m.k+d]
		}
		most = max(most, more)
	}
	return most
}

// others returns the devices that need a wire in any case, and those that may, v aside.
func (w *wire) others(dom []uint64, v int) (must, may uint64) {
	must, may = w.need, w.need
	for _, u := range w.readers {
		if u == v {
			continue
		}
		may |= dom[u]
		if dom[u]&(dom[u]-1) == 0 {
			must |= dom[u]
		}
	}
	return must, may
}

// worstOut is the part of a wire that the node makes.
func (m *model) worstOut(dom []uint64, w *wire, d, e int) int64 {
	if w.tree != nil {
		// From e to d, and on as before.
		return w.hop[e*m.k+d]
	}
	must, may := w.others(dom, -1)
	more, less := int64(0), int64(0)
	for set := may; set != 0; set &= set - 1 {
		t := bits.TrailingZeros64(set)
		by := w.hop[e*m.k+t] - w.hop[d*m.k+t]
		switch {
		case by > 0:
			more = add(more, by)
		case must>>t&1 != 0:
			less = add(less, -by)
		}
	}
	if more == MaxCost {
		return MaxCost
	}
	return more - less
}
