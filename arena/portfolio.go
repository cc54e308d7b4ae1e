package arena

import "context"

// runPortfolio is strategy "portfolio": the best of the seed's rule and every order with first
// fit and best fit; the earliest of equal ones, the seed's rule before all. It ends when the
// bound is reached, the budget is used up or ctx is done.
func runPortfolio(ctx context.Context, t *task) answer {
	best := runSeed(ctx, t)
	free := best.nodes
	offsets := make([]int64, len(t.boxes))
	var s shelf
	for _, o := range orders {
		if best.arena <= t.bound {
			break
		}
		list := o.sorted(t)
		for _, fit := range fits {
			if best.arena <= t.bound || best.stopped {
				break
			}
			r := run{ctx: ctx, t: t, limit: best.arena, offsets: offsets, nodes: best.nodes, free: free}
			arena, ok := r.fit(&s, list, fit.find)
			best.nodes, best.stopped = r.nodes, r.stopped
			if ok {
				best.arena, best.rule = arena, o.name+", "+fit.name
				best.offsets, offsets = offsets, best.offsets
			}
		}
		if best.stopped {
			break
		}
	}
	return best
}

// fits lists the ways to choose an offset for a box.
var fits = []struct {
	name string
	find func(*shelf, *box) int64
}{
	{"first fit", (*shelf).first},
	{"best fit", (*shelf).best},
}

// checkEvery is how many placements are made between two looks at the context.
const checkEvery = 256

// run is one pass over the boxes in a given order.
type run struct {
	ctx     context.Context
	t       *task
	limit   int64
	offsets []int64
	// nodes counts placements; free of them are outside the budget.
	nodes, free int64
	stopped     bool
}

// fit places the boxes of list and reports whether all end below the limit. It gives up at the
// first that does not.
func (r *run) fit(s *shelf, list []int32, find func(*shelf, *box) int64) (arena int64, ok bool) {
	arena = s.reset(r.t.boxes, r.offsets, r.t.block)
	for _, i := range list {
		if r.t.budget > 0 && r.nodes-r.free >= r.t.budget || r.nodes%checkEvery == 0 && r.ctx.Err() != nil {
			r.stopped = true
			return 0, false
		}
		r.nodes++
		b := &r.t.boxes[i]
		off := find(s, b)
		if off+b.size >= r.limit && b.size > 0 {
			return 0, false
		}
		s.put(b, off)
		r.offsets[i] = off
		arena = max(arena, off+b.size)
	}
	return arena, arena < r.limit
}
