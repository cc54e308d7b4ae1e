package arena

import (
	"context"
	"math"
	"slices"
)

// placer is an order, and how an offset is found for each box in turn.
type placer struct {
	order order
	fit   fit
}

// rules lists the portfolio, the most promising first.
var rules = []placer{
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
	manyRules = 2
)

// rulesForMany are the rules that come first when there are very many boxes.
var rulesForMany = []placer{{byReach, bestFit}, {byCrowd, firstFit}}

// runPortfolio is strategy "portfolio": the best of the seed's rule and of all rules; the earliest
// of equal ones, the seed's before all; woven where that is better. It ends when the
// bound is reached, the budget is used up or ctx is done.
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
	list := rules
	if len(t.boxes) > manyBoxes {
		list = append(slices.Clone(rulesForMany), rules...)
	}
	for i := range list {
		rule := &list[i]
		arena, ok := rule.fit.place(&r, r.sorted(&rule.order))
		if ok {
			best.arena, best.rule = arena, rule.order.name+", "+rule.fit.name
			best.offsets, r.offsets = r.offsets, best.offsets
		}
		if best.stopped || best.arena <= t.bound {
			break
		}
	}
	t.weave(ctx, &best)
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
	// shelf holds the placed boxes, or only the fixed ones when near tells the others; local holds
	// the placed ones that meet one box.
	shelf, local shelf
	met          []int32
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
	arena = r.reset()
	for _, i := range list {
		if !r.next() {
			return 0, false
		}
		b := &r.t.boxes[i]
		off := find(r.around(i), b)
		if off+b.size >= r.best.arena && b.size > 0 {
			return 0, false
		}
		r.put(i, off)
		arena = max(arena, off+b.size)
	}
	return arena, arena < r.best.arena
}

// reset takes all boxes away but the fixed ones.
func (r *run) reset() (arena int64) {
	for i := range r.t.boxes {
		r.offsets[i] = waiting
	}
	return r.shelf.reset(r.t.boxes, r.offsets, r.t.block)
}

// waiting is the offset of a box that has none yet.
const waiting = -1

// around returns a shelf that holds at least the placed boxes that meet box i.
func (r *run) around(i int32) *shelf {
	near := r.t.near()
	if near == nil {
		return &r.shelf
	}
	r.local.clear(r.t.boxes, r.t.block)
	for _, j := range near.of(i) {
		if r.offsets[j] != waiting {
			r.local.put(int(j), r.offsets[j])
		}
	}
	return &r.local
}

func (r *run) put(i int32, off int64) {
	r.offsets[i] = off
	if r.t.near() == nil {
		r.shelf.put(int(i), off)
	}
}

// skyline places above everything it meets the box that then begins lowest, the first in order
// among equals.
func (r *run) skyline(list []int32) (arena int64, ok bool) {
	arena = r.reset()
	place := make([]int32, len(r.t.boxes))
	start := make([]int64, len(list))
	for k, i := range list {
		place[i] = int32(k)
		start[k] = r.shelf.from(&r.t.boxes[i], 0)
	}
	offs := newLowest(start)
	for range list {
		if !r.next() {
			return 0, false
		}
		k := offs.first()
		i, off := list[k], offs.get(k)
		b := &r.t.boxes[i]
		top := off + b.size
		if top >= r.best.arena && b.size > 0 {
			return 0, false
		}
		r.offsets[i] = off
		arena = max(arena, top)
		offs.set(k, none)
		for _, j := range r.meeting(i, list) {
			if r.offsets[j] == waiting && offs.get(int(place[j])) < top {
				offs.set(int(place[j]), r.shelf.from(&r.t.boxes[j], top))
			}
		}
	}
	return arena, arena < r.best.arena
}

// meeting returns the boxes that meet box i, of those in list when it has to look for them.
func (r *run) meeting(i int32, list []int32) []int32 {
	if near := r.t.near(); near != nil {
		return near.of(i)
	}
	r.met = r.met[:0]
	if b := &r.t.boxes[i]; !b.idle() {
		for _, j := range list {
			if o := &r.t.boxes[j]; r.offsets[j] == waiting && !o.idle() && o.meets(b) {
				r.met = append(r.met, j)
			}
		}
	}
	return r.met
}
