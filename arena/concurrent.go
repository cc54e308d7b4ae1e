package arena

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
)

// Concurrent is operations that run on several queues: a partial order in the place of times.
// Buffers may share bytes when every use of the one has ended before any use of the other begins;
// operations that neither order nor use tells apart may run at the same time.
type Concurrent struct {
	// After lists, for each operation, those that have ended when it begins. What follows from
	// other entries need not be listed.
	After [][]int
	// Uses lists, for each buffer, the operations that write or read it. A buffer without uses is
	// never live.
	Uses [][]int
	// Keep lists the buffers that are read when all operations have ended.
	Keep []int
}

// Lifetimes returns lives for the buffers, in pieces, such that two of them meet exactly when
// the order lets the two buffers be in use together. Instants stand for sets of buffers that may all
// be in use at once; they follow the operations as they are listed, as far as there is one order.
// Operations that wait for each other are ErrOrder, and those that are not there ErrIndex. It takes
// time and memory proportional to operations² + buffers² × (operations + buffers)/64, at worst.
func (c *Concurrent) Lifetimes() ([][]Span, error) {
	order, err := c.sorted()
	if err != nil {
		return nil, err
	}
	k := newCrews(c, order)
	k.sweep(order)
	k.rest()
	return k.lives(), nil
}

// check finds operations and buffers that are not there.
func (c *Concurrent) check() error {
	missing := func(what string, list []int, n int) error {
		for _, i := range list {
			if i < 0 || i >= n {
				return &Error{Kind: ErrIndex, Index: -1, Detail: fmt.Sprintf("%s: got %d, want one of %d", what, i, n)}
			}
		}
		return nil
	}
	for i, list := range c.After {
		if err := missing(fmt.Sprintf("after[%d]", i), list, len(c.After)); err != nil {
			return err
		}
	}
	for i, list := range c.Uses {
		if err := missing(fmt.Sprintf("uses[%d]", i), list, len(c.After)); err != nil {
			return err
		}
	}
	return missing("keep", c.Keep, len(c.Uses))
}

// Apply gives the buffers of p, which are those of Uses, their Lifetimes.
func (c *Concurrent) Apply(p *Problem) error {
	lives, err := c.Lifetimes()
	if err != nil {
		return err
	}
	if len(lives) != len(p.Buffers) {
		return &Error{Kind: ErrIndex, Index: -1, Detail: fmt.Sprintf("uses: got %d, want one for each of %d buffers",
			len(lives), len(p.Buffers))}
	}
	for i := range p.Buffers {
		b := &p.Buffers[i]
		b.Start, b.End, b.More = 0, 0, nil
		if len(lives[i]) > 0 {
			b.Start, b.End, b.More = lives[i][0].Start, lives[i][0].End, lives[i][1:]
		}
	}
	return nil
}

// sorted returns the operations in an order in which they can run: as listed, where possible.
func (c *Concurrent) sorted() ([]int, error) {
	n := len(c.After)
	if err := c.check(); err != nil {
		return nil, err
	}
	var order []int
	state := make([]uint8, n)
	for i := range n {
		var cycle bool
		if order, cycle = c.visit(i, state, order); cycle {
			return nil, &Error{Kind: ErrOrder, Index: -1, Detail: "operations: got some that wait for each other"}
		}
	}
	return order, nil
}

// visit appends operation i behind those that it waits for. state is 1 while an operation is being
// visited, and 2 afterwards.
func (c *Concurrent) visit(i int, state []uint8, order []int) (out []int, cycle bool) {
	type frame struct{ op, next int }
	stack := []frame{{i, 0}}
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		if f.next == 0 {
			if state[f.op] == 2 {
				stack = stack[:len(stack)-1]
				continue
			}
			state[f.op] = 1
		}
		if f.next == len(c.After[f.op]) {
			state[f.op] = 2
			order = append(order, f.op)
			stack = stack[:len(stack)-1]
			continue
		}
		before := c.After[f.op][f.next]
		f.next++
		switch state[before] {
		case 0:
			stack = append(stack, frame{before, 0})
		case 1:
			return order, true
		}
	}
	return order, false
}

// set is a set of small integers.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 == 1 }

// keep takes out what is not in o.
func (s set) keep(o set) {
	for w := range s {
		s[w] &= o[w]
	}
}

// meets says whether the two sets have a member in common.
func (s set) meets(o set) bool {
	for w := range s {
		if s[w]&o[w] != 0 {
			return true
		}
	}
	return false
}

func (s set) each(visit func(i int)) {
	for w, bitsLeft := range s {
		for ; bitsLeft != 0; bitsLeft &= bitsLeft - 1 {
			visit(w*64 + bits.TrailingZeros64(bitsLeft))
		}
	}
}

// crews finds sets of buffers that may be in use at once, so that any two that may be are in one.
type crews struct {
	c *Concurrent
	// meets holds, for each buffer, those that may be in use with it.
	meets []set
	// open holds the pairs that no crew has yet.
	open []set
	// list holds the crews, each at an instant; instants of one sweep step are equal.
	list []crew
	// first is the instant of the first crew of each buffer; −1 for none.
	first []int
}

type crew struct {
	at      int
	members []int
}

// newCrews works out which buffers meet.
func newCrews(c *Concurrent, order []int) *crews {
	n, b := len(c.After), len(c.Uses)
	// later holds, for each operation, all that begin after it has ended.
	later := make([]set, n)
	for i := range later {
		later[i] = newSet(n)
	}
	for _, op := range slices.Backward(order) {
		for _, before := range c.After[op] {
			later[before].add(op)
			for w := range later[op] {
				later[before][w] |= later[op][w]
			}
		}
	}
	kept := newSet(b)
	for _, i := range c.Keep {
		kept.add(i)
	}
	k := &crews{c: c, meets: make([]set, b), open: make([]set, b), first: slices.Repeat([]int{-1}, b)}
	for i := range b {
		k.meets[i], k.open[i] = newSet(b), newSet(b)
	}
	behind := make([]set, b)
	for i := range b {
		behind[i] = c.behind(later, i, kept.has(i))
	}
	for i := range b {
		for j := range i {
			if len(c.Uses[i]) > 0 && len(c.Uses[j]) > 0 && !c.within(j, behind[i]) && !c.within(i, behind[j]) {
				k.meets[i].add(j)
				k.meets[j].add(i)
			}
		}
	}
	for i := range b {
		copy(k.open[i], k.meets[i])
	}
	return k
}

// behind returns the operations that begin when every use of buffer i has ended.
func (c *Concurrent) behind(later []set, i int, kept bool) set {
	out := newSet(len(c.After))
	if kept || len(c.Uses[i]) == 0 {
		return out
	}
	copy(out, later[c.Uses[i][0]])
	for _, op := range c.Uses[i][1:] {
		out.keep(later[op])
	}
	return out
}

// within says whether all uses of buffer i are in s.
func (c *Concurrent) within(i int, s set) bool {
	return !slices.ContainsFunc(c.Uses[i], func(op int) bool { return !s.has(op) })
}

// sweep makes a crew for each operation: what is in use while it runs when they all run one
// after the other, and whoever else meets all of these.
func (k *crews) sweep(order []int) {
	b := len(k.c.Uses)
	place := make([]int, len(order))
	for t, op := range order {
		place[op] = t
	}
	starts, last := make([][]int, len(order)), make([]int, b)
	for i, uses := range k.c.Uses {
		if len(uses) == 0 {
			continue
		}
		first := len(order)
		for _, op := range uses {
			first, last[i] = min(first, place[op]), max(last[i], place[op])
		}
		starts[first] = append(starts[first], i)
	}
	for _, i := range k.c.Keep {
		last[i] = len(order)
	}
	var live []int
	for t := range order {
		live = slices.DeleteFunc(live, func(i int) bool { return last[i] < t })
		if len(starts[t]) == 0 {
			continue
		}
		live = append(live, starts[t]...)
		k.add(t, slices.Clone(live))
	}
}

// rest makes crews for the pairs that the sweep has left.
func (k *crews) rest() {
	for i := range k.open {
		k.open[i].each(func(j int) {
			if j < i && k.open[i].has(j) {
				k.add(k.first[i], []int{i, j})
			}
		})
	}
}

// add completes a crew with buffers that meet all its members and have a pair with one of them
// that is in no crew yet, and closes its pairs.
func (k *crews) add(at int, members []int) {
	can, in := newSet(len(k.meets)), newSet(len(k.meets))
	copy(can, k.meets[members[0]])
	in.add(members[0])
	for _, i := range members[1:] {
		can.keep(k.meets[i])
		in.add(i)
	}
	can.each(func(i int) {
		if can.has(i) && k.open[i].meets(in) {
			members = append(members, i)
			in.add(i)
			can.keep(k.meets[i])
		}
	})
	for _, i := range members {
		for w := range in {
			k.open[i][w] &^= in[w]
		}
		if k.first[i] < 0 {
			k.first[i] = at
		}
	}
	k.list = append(k.list, crew{at, members})
}

// lives numbers the crews in order of their instants, and returns for each buffer those it is in.
func (k *crews) lives() [][]Span {
	slices.SortStableFunc(k.list, func(a, b crew) int { return cmp.Compare(a.at, b.at) })
	out := make([][]Span, len(k.meets))
	for t, w := range k.list {
		now := int64(t)
		for _, i := range w.members {
			if last := len(out[i]) - 1; last >= 0 && out[i][last].End == now {
				out[i][last].End++
			} else {
				out[i] = append(out[i], Span{now, now + 1})
			}
		}
	}
	return out
}
