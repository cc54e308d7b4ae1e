package place

import (
	"context"
	"fmt"
	"strings"
)

// The strategies.
const (
	// Auto is the choice for whoever has none: the best of all others.
	Auto = "auto"
	// Exact finds the best placement and proves it, or where that takes too much searches for it.
	Exact = "exact"
	// CarryForward is the table of Carry.
	CarryForward = "carry"
	// Greedy takes for each node the device where its own time and its copies are least.
	Greedy = "greedy"
	// Priority takes devices in a fixed order, as other runtimes do.
	Priority = "priority"
	// Single is the best of one device for all nodes that can run there.
	Single = "single"
)

// DefaultBudget is the budget of Options that set none.
const DefaultBudget = 1 << 24

// Options says how a problem is solved. The zero value is good for every problem.
type Options struct {
	// Strategy is one of Strategies; "" means Auto.
	Strategy string
	// Budget is the number of table entries that Exact may fill to prove its placement, and again
	// to search for one where that is not enough; 0 means DefaultBudget.
	Budget int64
	// Priority is the order of devices for that strategy. Those that it does not list follow as
	// they are listed in the problem, the exit last.
	Priority []int
}

// answer is what a strategy makes of a problem: x is nil when it finds nothing that fits.
type answer struct {
	x      []int
	bound  int64
	method string
}

// solver is the state of one Solve.
type solver struct {
	ctx  context.Context
	m    *model
	opts Options
	// stopped says that the context ended.
	stopped bool
	// warm is where a short search starts, one of many; nil means a long one.
	warm []int
	// infeasible is set when it is certain that nothing fits.
	infeasible error
}

// strategies lists what there is, best first. Auto, which is all of them, aside, each is run for
// itself.
var strategies = []struct {
	name string
	run  func(*solver) answer
}{
	{Exact, runExact},
	{CarryForward, simple(runCarry)},
	{Greedy, simple(runGreedy)},
	{Priority, simple(runPriority)},
	{Single, simple(runSingle)},
}

func simple(run func(*solver) []int) func(*solver) answer {
	return func(s *solver) answer { return answer{x: run(s)} }
}

// Strategies lists the names that Options.Strategy takes.
func Strategies() []string {
	out := []string{Auto}
	for _, s := range strategies {
		out = append(out, s.name)
	}
	return out
}

// Solve gives every node a device. The same problem and options give the same solution, unless ctx
// ends first: then it is the best so far, with Stopped set, and ctx's error is returned only when
// it had ended before Solve began.
//
// A problem that is wrong gives an *Error, capacities that are too small a *CapacityError. Where a
// capacity is limited, a solution is not always found although there is one.
func Solve(ctx context.Context, p *Problem, opts Options) (*Solution, error) {
	if opts.Strategy == "" {
		opts.Strategy = Auto
	}
	if opts.Budget <= 0 {
		opts.Budget = DefaultBudget
	}
	if err := opts.check(p); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, err := newModel(p)
	if err != nil {
		return nil, err
	}
	if err := m.pinned(); err != nil {
		return nil, err
	}
	s := &solver{ctx: ctx, m: m, opts: opts}
	return s.solve()
}

func (o *Options) check(p *Problem) error {
	known := false
	for _, name := range Strategies() {
		known = known || name == o.Strategy
	}
	if !known {
		return fail(ErrStrategy, "strategy", "", "got %q, want one of %s", o.Strategy, strings.Join(Strategies(), ", "))
	}
	for i, d := range o.Priority {
		if d < 0 || d >= len(p.Devices) {
			return fail(ErrIndex, fmt.Sprintf("priority[%d]", i), "", "got device %d, want one of %d", d, len(p.Devices))
		}
	}
	return nil
}

// solve runs the strategies that are asked for, and takes the best; the first of those alike.
func (s *solver) solve() (*Solution, error) {
	answers := make([]answer, len(strategies))
	for i := range strategies {
		if name := s.opts.Strategy; name == Auto || name == strategies[i].name {
			answers[i] = strategies[i].run(s)
		}
	}
	sol := &Solution{Cost: -1, Bound: s.m.floor(), Stopped: s.stopped}
	for i, a := range answers {
		if name := s.opts.Strategy; name != Auto && name != strategies[i].name {
			continue
		}
		r := Result{Name: strategies[i].name, Fits: a.x != nil}
		if r.Fits {
			r.Cost = s.m.total(a.x)
			if sol.Cost < 0 || r.Cost < sol.Cost {
				sol.Device, sol.Cost, sol.Strategy = a.x, r.Cost, r.Name
			}
		}
		sol.Tried = append(sol.Tried, r)
		if a.bound > sol.Bound {
			sol.Bound = a.bound
		}
		if a.method != "" {
			sol.Method = a.method
		}
	}
	if sol.Cost < 0 {
		if s.infeasible != nil {
			return nil, s.infeasible
		}
		return nil, s.m.overflow()
	}
	sol.Proven = sol.Cost == sol.Bound
	sol.Copies = s.m.copies(sol.Device)
	sol.Used = s.m.used(sol.Device)
	return sol, nil
}

// floor bounds the cost of every placement: each node's least, and copies that are needed whatever
// else is.
func (m *model) floor() int64 {
	sum := int64(0)
	for v := range m.n {
		least := never
		for d := range m.k {
			least = min(least, m.cost[v*m.k+d])
		}
		sum = add(sum, least)
	}
	for i := range m.wires {
		w := &m.wires[i]
		must, _ := w.others(m.dom, -1)
		homes := uint64(1) << w.at
		if w.home >= 0 {
			homes = m.dom[w.home]
		}
		least := never
		for h := range m.k {
			if homes>>h&1 != 0 {
				least = min(least, w.to(h, must))
			}
		}
		sum = add(sum, least)
	}
	return sum
}

// used returns the bytes taken of each device; sums end at the largest int64.
func (m *model) used(x []int) []int64 {
	out := make([]int64, m.k)
	for v, d := range x {
		if b := m.p.Nodes[v].Bytes; b != nil {
			out[d] = plus(out[d], b[d])
		}
	}
	return out
}
