package place

import (
	"context"
	"math/bits"
	"slices"
)

// Schedule is a placement for devices that run at the same time. Its times are those of a
// simulation: each device runs one node at a time, each ordered pair of devices makes one copy at a
// time, copies begin when the tensor is made, and nodes go in order of the longest way to the end.
type Schedule struct {
	// Device, Start and Finish are indexed like Problem.Nodes.
	Device        []int
	Start, Finish []int64
	// Span is the time until all nodes are done and all outputs are at the exit.
	Span int64
	// Bound is a span that no placement can be under.
	Bound int64
	// SumSpan is the span of the solution that was given. Where no placement was found whose span is
	// less by more than MinGain percent, the schedule is that of the solution, and Kept is true.
	SumSpan int64
	Kept    bool
}

const (
	// MinGain is the gain, in percent, below which Parallel keeps a solution.
	MinGain = 2
	// maxSimulations is where Parallel ends its search for a shorter span.
	maxSimulations = 20000
)

// Parallel looks for a placement with a shorter span than a solution's, which must be one that
// Validate accepts: by moving single nodes and short chains, from the solution, from the earliest
// finish of each node in turn (HEFT; Topcuoglu, Hariri and Wu) and from the best one device. It
// keeps capacities. Where ctx ends, it returns the best so far.
func Parallel(ctx context.Context, p *Problem, s *Solution) (*Schedule, error) {
	return ParallelWithin(ctx, p, s, maxSimulations)
}

// ParallelWithin is Parallel with a bound on the number of simulations, each of which takes time for
// every node.
func ParallelWithin(ctx context.Context, p *Problem, s *Solution, simulations int) (*Schedule, error) {
	m, err := newModel(p)
	if err != nil {
		return nil, err
	}
	if err := Validate(p, s); err != nil {
		return nil, err
	}
	sim := newSimulator(m)
	given := sim.run(s.Device)
	best, left := s.Device, simulations
	span := given
	for _, start := range [][]int{s.Device, sim.earliest(), sim.bestAlone()} {
		if start == nil {
			continue
		}
		x := slices.Clone(start)
		if now := sim.improve(ctx, x, &left); now < span {
			best, span = x, now
		}
	}
	out := &Schedule{Device: slices.Clone(best), SumSpan: given, Bound: sim.bound()}
	// 100·span > (100 − MinGain)·given, without its products.
	if span >= given-given/100*MinGain-given%100*MinGain/100 {
		out.Device, out.Kept = slices.Clone(s.Device), true
	}
	out.Span = sim.run(out.Device)
	out.Start, out.Finish = slices.Clone(sim.start), slices.Clone(sim.finish)
	return out, nil
}

// simulator runs placements.
type simulator struct {
	m *model
	// order is that in which nodes are run, longest way to the end first.
	order []int
	// start and finish are those of the nodes of the last run.
	start, finish []int64
	// device and engine hold when each device, and each pair, is free again.
	device, engine []int64
	// at is indexed by wire·k + device: when the tensor is there; never if it is not.
	at []int64
}

func newSimulator(m *model) *simulator {
	s := &simulator{
		m: m, start: make([]int64, m.n), finish: make([]int64, m.n), device: make([]int64, m.k),
		engine: make([]int64, m.k*m.k), at: make([]int64, len(m.wires)*m.k),
	}
	way := s.ways(func(v int) int64 {
		sum, count := int64(0), int64(0)
		for d := range m.k {
			if c := m.cost[v*m.k+d]; c != never {
				sum, count = add(sum, c), count+1
			}
		}
		return sum / count
	}, func(w *wire) int64 {
		sum := int64(0)
		for _, c := range w.hop {
			sum = add(sum, c)
		}
		return sum / int64(len(w.hop))
	})
	// The sort is stable, and a node's way is at least as long as that of its readers.
	s.order = slices.Clone(m.order)
	slices.SortStableFunc(s.order, func(a, b int) int {
		switch {
		case way[a] > way[b]:
			return -1
		case way[a] < way[b]:
			return 1
		}
		return 0
	})
	return s
}

// ways returns the length of the longest way from the start of each node to the end.
func (s *simulator) ways(node func(v int) int64, copy func(w *wire) int64) []int64 {
	m := s.m
	way := make([]int64, m.n)
	for i := m.n - 1; i >= 0; i-- {
		v := m.order[i]
		longest := int64(0)
		for _, id := range m.outs[v] {
			w := &m.wires[id]
			for _, u := range w.readers {
				longest = max(longest, add(copy(w), way[u]))
			}
		}
		way[v] = add(node(v), longest)
	}
	return way
}

// bound is the longest way if each node is on its fastest device and copies take no time.
func (s *simulator) bound() int64 {
	way := s.ways(func(v int) int64 { return slices.Min(s.m.cost[v*s.m.k : (v+1)*s.m.k]) }, func(*wire) int64 { return 0 })
	longest := int64(0)
	for _, l := range way {
		longest = max(longest, l)
	}
	return longest
}

// reset makes everything free, and puts tensors where they are before anything runs.
func (s *simulator) reset() {
	clear(s.device)
	clear(s.engine)
	for i := range s.at {
		s.at[i] = never
	}
	for i := range s.m.wires {
		if w := &s.m.wires[i]; w.home < 0 {
			s.at[i*s.m.k+w.at] = 0
		}
	}
}

// bring makes the copy of a wire to a device, if it is not there, and returns when it is.
func (s *simulator) bring(id int, home, d int) int64 {
	w := &s.m.wires[id]
	at := s.at[id*s.m.k:]
	for from := home; at[d] == never; {
		next := d
		if w.next != nil {
			next = int(w.next[from*w.k+d])
		}
		if at[next] == never {
			engine := &s.engine[from*w.k+next]
			begin := max(at[from], *engine)
			*engine = add(begin, w.hop[from*w.k+next])
			at[next] = *engine
		}
		from = next
	}
	return at[d]
}

// run simulates a placement and returns its span.
func (s *simulator) run(x []int) int64 {
	s.reset()
	span := int64(0)
	for i := range s.m.wires {
		if w := &s.m.wires[i]; w.home < 0 {
			span = max(span, s.send(i, x))
		}
	}
	for _, v := range s.order {
		span = max(span, s.node(v, x[v]))
		for _, id := range s.m.outs[v] {
			span = max(span, s.send(int(id), x))
		}
	}
	return span
}

// send makes all copies of a wire, and returns when it is at the exit, if it has to be there.
func (s *simulator) send(id int, x []int) int64 {
	w := &s.m.wires[id]
	home := w.homeOf(x)
	for set := s.m.held(w, x); set != 0; set &= set - 1 {
		s.bring(id, home, bits.TrailingZeros64(set))
	}
	if w.need == 0 {
		return 0
	}
	return s.at[id*s.m.k+bits.TrailingZeros64(w.need)]
}

// node runs a node whose inputs are there, and returns when it is done.
func (s *simulator) node(v, d int) int64 {
	begin := s.device[d]
	for _, id := range s.m.ins[v] {
		begin = max(begin, s.at[int(id)*s.m.k+d])
	}
	s.start[v], s.finish[v] = begin, add(begin, s.m.cost[v*s.m.k+d])
	s.device[d] = s.finish[v]
	for _, id := range s.m.outs[v] {
		s.at[int(id)*s.m.k+d] = s.finish[v]
	}
	return s.finish[v]
}

// earliest places each node where it finishes first, or returns nil when one has no room anywhere.
func (s *simulator) earliest() []int {
	s.reset()
	m := s.m
	x, f := make([]int, m.n), m.filler()
	for _, v := range s.order {
		best, least := -1, int64(0)
		for d := range m.k {
			if !m.can(f, v, d) {
				continue
			}
			ready := s.device[d]
			for _, id := range m.ins[v] {
				w := &m.wires[id]
				home := w.homeOf(x)
				arrival := s.at[int(id)*m.k+d]
				if arrival == never {
					arrival = add(max(s.at[int(id)*m.k+home], s.engine[home*m.k+d]), w.hop[home*m.k+d])
				}
				ready = max(ready, arrival)
			}
			if done := add(ready, m.cost[v*m.k+d]); best < 0 || done < least {
				best, least = d, done
			}
		}
		if best < 0 {
			return nil
		}
		x[v] = best
		f.take(v, best)
		for _, id := range m.ins[v] {
			s.bring(int(id), m.wires[id].homeOf(x), best)
		}
		s.node(v, best)
	}
	return x
}

// bestAlone returns the best of one device for all, as far as it can.
func (s *simulator) bestAlone() []int {
	var best []int
	var least int64
	for d := range s.m.k {
		if x := s.m.alone(d); x != nil {
			if span := s.run(x); best == nil || span < least {
				best, least = x, span
			}
		}
	}
	return best
}

// improve moves single nodes, and nodes with what alone reads them, while that shortens the span,
// which it returns.
func (s *simulator) improve(ctx context.Context, x []int, left *int) int64 {
	span := s.run(x)
	for better := true; better; {
		better = false
		for _, v := range s.order {
			for length := 1; length <= 8; length *= 2 {
				part := s.chain(v, length)
				if len(part) < length {
					break
				}
				for d := range s.m.k {
					if *left <= 0 || ctx.Err() != nil {
						return span
					}
					if now, ok := s.try(x, part, d, span); ok {
						*left--
						better = better || now < span
						span = now
					}
				}
			}
		}
	}
	return span
}

// chain returns a node and those behind it, up to a number, each the first reader of the one before.
func (s *simulator) chain(v, length int) []int {
	out := []int{v}
	for len(out) < length {
		last := out[len(out)-1]
		if len(s.m.outs[last]) == 0 || len(s.m.wires[s.m.outs[last][0]].readers) == 0 {
			return out
		}
		out = append(out, s.m.wires[s.m.outs[last][0]].readers[0])
	}
	return out
}

// try moves some nodes to a device if that shortens the span and fits, and returns the span that x
// then has. It is not ok when there was nothing to simulate.
func (s *simulator) try(x []int, part []int, d int, span int64) (int64, bool) {
	before := make([]int, len(part))
	moved := false
	for i, v := range part {
		if s.m.cost[v*s.m.k+d] == never {
			return span, false
		}
		before[i] = x[v]
		moved = moved || x[v] != d
	}
	if !moved {
		return span, false
	}
	for _, v := range part {
		x[v] = d
	}
	if s.m.fits(x) {
		if now := s.run(x); now < span {
			return now, true
		}
	}
	for i, v := range part {
		x[v] = before[i]
	}
	return span, true
}
