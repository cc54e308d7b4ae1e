package arena

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// limits is how far a strategy goes without a budget.
type limits struct {
	// perBox and nodes bound the nodes; effort bounds them times what one costs.
	perBox, nodes, effort int64
}

var (
	autoLimits  = limits{perBox: 500, nodes: 400_000, effort: 2e9}
	exactLimits = limits{perBox: math.MaxInt32, nodes: 4_000_000, effort: 1e11}
)

// runExact is strategy "exact": the portfolio, then branch and bound until no better plan exists,
// one within the capacity is found when there is a capacity, or the budget is used up.
func runExact(ctx context.Context, t *task) answer { return t.deepen(ctx, exactLimits) }

// runAuto is strategy "auto": as "exact", with limits for those in a hurry.
func runAuto(ctx context.Context, t *task) answer { return t.deepen(ctx, autoLimits) }

// deepen improves the answer of the portfolio by branch and bound.
func (t *task) deepen(ctx context.Context, lim limits) answer {
	ans := runPortfolio(ctx, t)
	goal := max(t.bound, t.capacity)
	if ans.arena <= goal || ctx.Err() != nil {
		return ans
	}
	nodes := min(lim.nodes, lim.perBox*int64(len(t.boxes)))
	if t.budget > 0 {
		lim.effort = 0
		free := 0
		for i := range t.boxes {
			if t.boxes[i].fixed < 0 {
				free++
			}
		}
		// The seed's own placements are free.
		if nodes = t.budget - (ans.nodes - int64(free)); nodes <= 0 {
			ans.stopped = true
			return ans
		}
	}
	ans.stopped = false
	t.improve(ctx, &ans, goal, nodes, lim.effort)
	return ans
}

// improve works on the parts of the task, the highest first. What is below the best arena of a
// part that has been given up cannot lower the whole.
func (t *task) improve(ctx context.Context, ans *answer, goal, nodes, effort int64) {
	parts := apart(t.boxes)
	tops := make([]int64, len(parts))
	order := make([]int, len(parts))
	for k, list := range parts {
		order[k] = k
		for _, i := range list {
			tops[k] = max(tops[k], ans.offsets[i]+t.boxes[i].size)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(tops[b], tops[a]) })
	// The search knows blocks only: that it has tried all of them proves nothing about others.
	ans.optimal = goal == t.bound && t.pieces == nil
	for _, k := range order {
		if tops[k] <= goal {
			break
		}
		s := t.seeker(ctx, parts[k], ans)
		s.goal, s.top, s.budget, s.effort = goal, tops[k], nodes, effort
		s.seek()
		nodes -= s.nodes
		ans.nodes += s.nodes
		ans.stopped = ans.stopped || s.stopped
		ans.optimal = ans.optimal && !s.stopped
		if s.found {
			ans.rule = "branch and bound"
		}
		for j, i := range parts[k] {
			ans.offsets[i] = s.offsets[j]
		}
		goal = max(goal, s.top)
	}
	ans.arena = 0
	for i := range t.boxes {
		if b := &t.boxes[i]; b.size > 0 {
			ans.arena = max(ans.arena, ans.offsets[i]+b.size)
		}
	}
}

// seeker prepares the search for a better plan of the boxes in list.
func (t *task) seeker(ctx context.Context, list []int32, ans *answer) *seeker {
	s := &seeker{ctx: ctx, block: t.block, boxes: make([]box, len(list)), offsets: make([]int64, len(list))}
	for j, i := range list {
		s.boxes[j], s.offsets[j] = t.boxes[i], ans.offsets[i]
	}
	return s
}
