package arena

import (
	"context"
	"strings"
)

// The strategies.
const (
	// Auto is the choice for whoever has none: Exact with a budget that keeps it to about a second.
	Auto = "auto"
	// Exact is Portfolio, then branch and bound until no better plan exists, or one within the
	// capacity is found when there is a capacity. Without a budget it gives up after a minute or so.
	Exact = "exact"
	// Portfolio is the best of Seed and of several orders with first fit, best fit and skyline.
	Portfolio = "portfolio"
	// Seed is first fit in order of start, larger first, lowest buffer first.
	Seed = "seed"
)

// Options says how a problem is solved. The zero value is good for every problem.
type Options struct {
	// Strategy is one of Strategies; "" means Auto.
	Strategy string
	// Budget is the number of placements that may be tried before the best plan so far is
	// returned; 0 means the strategy's own: about a second for Auto, a minute for Exact, no limit
	// for Portfolio unless there are very many buffers. Those of the seed's rule do not count.
	Budget int64
}

// task is one pool, as a strategy sees it.
type task struct {
	boxes []box
	// pieces are what packs are when they are no blocks, by box; nil where all boxes are blocks.
	pieces [][]piece
	bound  int64
	block  int64
	budget int64
	// capacity is the arena that is small enough; 0 when none is too large, and then the smallest
	// is wanted.
	capacity int64
	// crowd is worked out when an order first asks for it.
	crowd *crowd
	// nearby is worked out by near, once; scan is a switch that says not to.
	nearby   *near
	nearDone bool
	scan     bool
}

// answer is what a strategy makes of a task.
type answer struct {
	offsets []int64
	arena   int64
	rule    string
	nodes   int64
	stopped bool
	// optimal says that all plans below the arena were tried.
	optimal bool
}

// strategies lists what there is, best first.
var strategies = []struct {
	name string
	run  func(context.Context, *task) answer
}{
	{Auto, runAuto},
	{Exact, runExact},
	{Portfolio, runPortfolio},
	{Seed, runSeed},
}

// Strategies lists the names that Options.Strategy takes.
func Strategies() []string {
	out := make([]string, len(strategies))
	for i, s := range strategies {
		out[i] = s.name
	}
	return out
}

// strategy finds a strategy by name.
func strategy(p *Problem, name string) (func(context.Context, *task) answer, error) {
	for _, s := range strategies {
		if s.name == name {
			return s.run, nil
		}
	}
	return nil, p.failAll(ErrStrategy, "strategy: got %q, want one of %s", name, strings.Join(Strategies(), ", "))
}

// Solve gives every buffer an offset. The same problem and options give the same plan, unless ctx
// ends first: then the plan is the best so far, with Stopped set, and ctx's error is returned only
// when it had ended before Solve began.
//
// A problem that is wrong gives an *Error. A capacity that is too small gives a *CapacityError,
// together with the best plan found unless the error says that there is none.
func Solve(ctx context.Context, p *Problem, opts Options) (*Plan, error) {
	name := opts.Strategy
	if name == "" {
		name = Auto
	}
	run, err := strategy(p, name)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, err := newModel(p)
	if err != nil {
		return nil, err
	}
	bounds, err := m.bounds()
	if err != nil {
		return nil, err
	}
	plan := m.newPlan(name)
	at := make([]int64, len(m.storages))
	var over error
	for i := range m.pools {
		g := &m.pools[i]
		ans := run(ctx, m.task(g, bounds[i].Bytes, opts.Budget))
		m.place(g, &ans, at)
		plan.add(g.Name, &ans, bounds[i])
		if g.Capacity > 0 && ans.arena > g.Capacity && over == nil {
			over = p.capacityError(g.Pool, bounds[i], ans.arena)
		}
	}
	for i, c := range m.class {
		if c >= 0 {
			plan.Offsets[i] = at[c]
		}
	}
	plan.Proven = plan.Arena == plan.LowerBound
	return plan, over
}

// add counts one pool's answer.
func (plan *Plan) add(pool string, ans *answer, bound Bound) {
	plan.Arena += ans.arena
	plan.LowerBound += bound.Bytes
	plan.Nodes += ans.nodes
	plan.Stopped = plan.Stopped || ans.stopped
	plan.Pools = append(plan.Pools, PoolPlan{Name: pool, Arena: ans.arena, Bound: bound, Rule: ans.rule,
		Optimal: ans.optimal || ans.arena == bound.Bytes})
}

// bounds returns the bound of each pool; a capacity below it is an error.
func (m *model) bounds() ([]Bound, error) {
	bounds := make([]Bound, len(m.pools))
	for i := range m.pools {
		g := &m.pools[i]
		bounds[i] = m.bound(g)
		if g.Capacity > 0 && bounds[i].Bytes > g.Capacity {
			return nil, m.p.capacityError(g.Pool, bounds[i], 0)
		}
	}
	return bounds, nil
}

func (m *model) task(g *group, bound, budget int64) *task {
	t := &task{bound: bound, block: g.Block, budget: budget, capacity: g.Capacity, boxes: make([]box, len(g.items))}
	t.pieces = m.piecesOf(g)
	for i, at := range g.items {
		it := &m.items[at]
		t.boxes[i] = box{
			size: it.size, align: it.align, start: it.start, end: it.end,
			spans: it.spans, fixed: it.fixed, key: it.key,
		}
	}
	return t
}

func (m *model) newPlan(name string) *Plan {
	n := len(m.p.Buffers)
	plan := &Plan{
		Offsets: make([]int64, n), RowStride: make([]int64, n),
		Materialized: m.materialized, Strategy: name, Pools: make([]PoolPlan, 0, len(m.pools)),
	}
	for i := range m.p.Buffers {
		b := &m.p.Buffers[i]
		if m.external[i] {
			plan.Offsets[i] = Unplaced
			continue
		}
		rows := max(b.Rows, 1)
		plan.RowStride[i] = b.Size / rows
		if s := &m.storages[m.class[i]]; s.rows == rows {
			plan.RowStride[i] = s.stride
		}
	}
	return plan
}

// place turns the offsets of a pool's boxes into those of its storages.
func (m *model) place(g *group, ans *answer, at []int64) {
	for i, x := range g.items {
		for _, c := range m.items[x].parts {
			at[c] = ans.offsets[i] + m.storages[c].within
		}
	}
}
