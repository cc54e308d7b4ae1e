package arena

import (
	"context"
	"math"
)

// rules lists the portfolio: an order, and how an offset is found for each box. The most promising
// come first, those that suit very many boxes before all.
var rules = []struct {
	order order
	fit   fit
}{
	{bySize, firstFit}, {byLength, firstFit}, {byCrowd, firstFit}, {byReach, bestFit},
	{byStart, skyline}, {byEnd, skyline}, {byBreadth, skyline}, {byReach, skyline}, {byArea, skyline},
	{byAlign, firstFit}, {byStart, bestFit}, {byEnd, firstFit}, {byEnd, bestFit}, {bySize, bestFit},
	{byBreadth, firstFit}, {byReach, firstFit}, {byCrowd, bestFit}, {byLength, bestFit},
	{byArea, firstFit}, {byStart, firstFit}, {byBreadth, bestFit}, {byArea, bestFit},
	{bySize, skyline}, {byLength, skyline}, {byCrowd, skyline}, {byAlign, skyline}, {byAlign, bestFit},
}

// manyBoxes is the number of boxes above which the whole portfolio takes seconds; manyRules is how
// many rules are then tried, unless a budget is given.
const (
	manyBoxes = 8192
	manyRules = 4
)

// runPortfolio is strategy "portfolio": the best of the seed's rule and of all rules; the earliest
// of equal ones, the seed's before all. It ends when the bound is reached, the budget is used up
// or ctx is done.
func runPortfolio(ctx context.Context, t *task) answer {
	best := runSeed(ctx, t)
	if best.arena <= t.bound {
		return best
	}
	r := run{ctx: ctx, t: t, best: &best, offsets: make([]int64, len(t.boxes)), budget: t.budget}
	if n := len(t.boxes); r.budget == 0 && n > manyBoxes {
		r.budget = manyRules * int64(n)
	}
	if r.budget == 0 {
		r.budget = math.MaxInt64 - best.nodes
	}
	r.budget += best.nodes
	for i := range rules {
		rule := &rules[i]
		arena, ok := rule.fit.place(&r, r.sorted(&rule.order))
		if ok {
			best.arena, best.rule = arena, rule.order.name+", "+rule.fit.name
			best.offsets, r.offsets = r.offsets, best.offsets
		}
		if best.stopped || best.arena <= t.bound {
			break
		}
	}
	return best
}

// fit is a way to place boxes in a given order. place reports whether all end below the best
// arena so far; it gives up at the first that does not.
type fit struct {
	name  string
	place func(r *run, list []int32) (arena int64, ok bool)
}

// The fits.
var (
	firstFit = fit{"first fit", func(r *run, list []int32) (int64, bool) { return r.fit(list, (*shelf).first) }}
	bestFit  = fit{"best fit", func(r *run, list []int32) (int64, bool) { return r.fit(list, (*shelf).best) }}
	skyline  = fit{"skyline", (*run).skyline}
)

// checkEvery is how many placements are made between two looks at the context.
const checkEvery = 256

// run is the state of one portfolio.
type run struct {
	ctx  context.Context
	t    *task
	best *answer
	// budget is the value of best.nodes at which to stop.
	budget  int64
	offsets []int64
	shelf   shelf
	// lists holds the order that each rule asked for, by name.
	lists map[string][]int32
}

// sorted returns the boxes in that order.
func (r *run) sorted(o *order) []int32 {
	if r.lists == nil {
		r.lists = make(map[string][]int32)
	}
	list, ok := r.lists[o.name]
	if !ok {
		list = o.sorted(r.t)
		r.lists[o.name] = list
	}
	return list
}

// next counts a placement, and says whether it may be made.
func (r *run) next() bool {
	n := r.best.nodes
	if n >= r.budget || n%checkEvery == 0 && r.ctx.Err() != nil {
		r.best.stopped = true
		return false
	}
	r.best.nodes++
	return true
}

// fit places each box where find says.
func (r *run) fit(list []int32, find func(*shelf, *box) int64) (arena int64, ok bool) {
	arena = r.shelf.reset(r.t.boxes, r.offsets, r.t.block)
	for _, i := range list {
		if !r.next() {
			return 0, false
		}
		b := &r.t.boxes[i]
		off := find(&r.shelf, b)
		if off+b.size >= r.best.arena && b.size > 0 {
			return 0, false
		}
		r.shelf.put(b, off)
		r.offsets[i] = off
		arena = max(arena, off+b.size)
	}
	return arena, arena < r.best.arena
}

// skyline places above everything it meets the box that then begins lowest, the first in order
// among equals.
func (r *run) skyline(list []int32) (arena int64, ok bool) {
	arena = r.shelf.reset(r.t.boxes, r.offsets, r.t.block)
	type waiting struct {
		off int64
		b   *box
		i   int32
	}
	left := make([]waiting, 0, len(list))
	low := 0
	for _, i := range list {
		b := &r.t.boxes[i]
		w := waiting{r.shelf.from(b, 0), b, i}
		if left = append(left, w); w.off < left[low].off {
			low = len(left) - 1
		}
	}
	for len(left) > 0 {
		if !r.next() {
			return 0, false
		}
		now, at := left[low], low
		top := now.off + now.b.size
		if top >= r.best.arena && now.b.size > 0 {
			return 0, false
		}
		r.offsets[now.i] = now.off
		arena = max(arena, top)
		// The boxes behind the placed one close up; all that meet it move above it.
		left = append(left[:at], left[at+1:]...)
		low = 0
		for k := range left {
			w := &left[k]
			if w.off < top && !now.b.idle() && !w.b.idle() && w.b.meets(now.b) {
				w.off = r.shelf.from(w.b, top)
			}
			if w.off < left[low].off {
				low = k
			}
		}
	}
	return arena, arena < r.best.arena
}
