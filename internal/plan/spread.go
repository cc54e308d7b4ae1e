package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/place"
)

// spread decides about devices.
func (c *compiler) spread() error {
	for i := range c.items {
		if err := c.offerElsewhere(&c.items[i]); err != nil {
			return err
		}
	}
	if c.bare() {
		if err := c.missing(); err != nil {
			return err
		}
	}
	c.findOutside()
	if c.saved != nil {
		return c.stay()
	}
	if c.like != nil && c.followDevices() {
		return nil
	}
	return c.onDevices()
}

// bare reports whether the host may run nothing.
func (c *compiler) bare() bool { return c.u.limits.NoFallback && c.u.limits.NotHost }

// placement is the problem of choosing devices, with what its numbers stand for.
type placement struct {
	p place.Problem
	// tensor is, for each value, its number in the problem, −1 for none.
	tensor []int
}

// onDevices decides on which device each item runs, and leaves it the options that it has there.
func (c *compiler) onDevices() error {
	q := c.placement()
	sol, err := place.Solve(context.Background(), &q.p, place.Options{})
	if errors.Is(err, place.ErrCapacity) && c.arm.Out[host] && !c.bare() && !c.hostToo {
		c.hostToo = true
		return c.onDevices()
	}
	if err != nil {
		if full, ok := errors.AsType[*place.CapacityError](err); ok {
			return fmt.Errorf("plan: memory of devices: %w", full)
		}
		return fmt.Errorf("plan: devices: %w", err)
	}
	if err := place.Validate(&q.p, sol); err != nil {
		return fmt.Errorf("BUG: plan: devices: %w", err)
	}
	cost := &Cost{BoundNs: sol.Bound}
	for _, t := range sol.Tried {
		if t.Fits {
			cost.Strategies = append(cost.Strategies, Strategy{Name: t.Name, CostNs: t.Cost})
		}
	}
	c.stage.Cost = cost
	apart, err := c.apart(q, sol)
	if err != nil {
		return err
	}
	why, err := place.Explain(&q.p, apart)
	if err != nil {
		return fmt.Errorf("BUG: plan: devices: %w", err)
	}
	for i := range c.items {
		it := &c.items[i]
		it.device, it.where = apart.Device[i], string(why[i].Reason)
		if it.device != sol.Device[i] {
			it.where = "shortens the run beside other devices"
		}
		if r := why[i].RunnerUp; r >= 0 {
			it.elsewhere, it.farther = c.deviceName(r), why[i].Margin
		}
		it.keep()
	}
	if c.counted = apart.Used; c.counted == nil {
		c.counted = make([]int64, 1+len(c.devices))
	}
	return nil
}

// simulations bounds how many nodes are simulated in the search for a shorter run: some ten
// milliseconds.
const simulations = 500_000

// apart looks for a placement with which devices that run at the same time are done sooner.
func (c *compiler) apart(q *placement, sol *place.Solution) (*place.Solution, error) {
	tries := simulations / max(1, len(q.p.Nodes))
	if c.b.arm > 0 {
		// There are many arms, and they are seldom taken.
		tries /= 10
	}
	sched, err := place.ParallelWithin(context.Background(), &q.p, sol, tries)
	if err != nil {
		return nil, fmt.Errorf("BUG: plan: devices: %w", err)
	}
	c.stage.Together = &Together{SpanNs: sched.Span, SumSpanNs: sched.SumSpan, Kept: sched.Kept}
	if sched.Kept {
		return sol, nil
	}
	fixed := q.p
	fixed.Nodes = slices.Clone(q.p.Nodes)
	for i := range fixed.Nodes {
		x := &fixed.Nodes[i]
		x.Cost = slices.Clone(x.Cost)
		for d := range x.Cost {
			if d != sched.Device[i] {
				x.Cost[d] = place.Cannot
			}
		}
	}
	out, err := place.Solve(context.Background(), &fixed, place.Options{Strategy: place.Greedy})
	if err != nil {
		return nil, fmt.Errorf("BUG: plan: devices: %w", err)
	}
	// No more than the bound of the sums is known of this placement.
	out.Bound, out.Proven = sol.Bound, out.Cost == sol.Bound
	return out, nil
}

// keep leaves an item the options on its device.
func (it *item) keep() {
	kept := make([]option, 0, len(it.options))
	for _, o := range it.options {
		if o.device == it.device {
			kept = append(kept, o)
		}
	}
	it.options = kept
}

// followDevices puts every item on the device that it has in the plan that is followed; false when one
// cannot run there.
func (c *compiler) followDevices() bool {
	for i := range c.items {
		want, ok := c.like[c.items[i].node]
		on := func(o option) bool { return o.device == want.device }
		if !ok || !slices.ContainsFunc(c.items[i].options, on) {
			return false
		}
	}
	for i := range c.items {
		it := &c.items[i]
		it.device, it.where = c.like[it.node].device, "as for the largest shapes"
		it.keep()
	}
	c.counted = make([]int64, 1+len(c.devices))
	return true
}

// placement writes the problem: an item costs what its cheapest kernel on a device does.
func (c *compiler) placement() *placement {
	n := 1 + len(c.devices)
	q := &placement{tensor: make([]int, len(c.u.Graph.Values))}
	q.p = place.Problem{Exit: host, Latency: make([][]int64, n), PerByte: make([][]float64, n)}
	for a := range n {
		q.p.Devices = append(q.p.Devices, c.deviceName(a))
		q.p.Latency[a], q.p.PerByte[a] = make([]int64, n), make([]float64, n)
		for b := range n {
			if a != b {
				const large = 1 << 24
				q.p.Latency[a][b] = c.transferTime(a, b, 0)
				q.p.PerByte[a][b] = float64(c.transferTime(a, b, large)-q.p.Latency[a][b]) / large
			}
		}
	}
	if c.caps != nil {
		q.p.Capacity = c.caps
	}
	for v := range q.tensor {
		q.tensor[v] = -1
	}
	for i := range c.items {
		q.p.Nodes = append(q.p.Nodes, c.placeNode(&c.items[i]))
		for k, v := range c.items[i].node.Outputs {
			if v != graph.NoValue {
				c.placeTensor(q, v, i, k)
			}
		}
	}
	for i := range c.items {
		for _, v := range c.items[i].node.Inputs {
			if v == graph.NoValue || c.fate[v] == fixed {
				continue
			}
			if q.tensor[v] < 0 {
				c.placeTensor(q, v, place.Fixed, 0)
			}
			t := &q.p.Tensors[q.tensor[v]]
			t.To = append(t.To, i)
		}
	}
	return q
}

func (c *compiler) placeTensor(q *placement, v graph.ValueID, from, _ int) {
	q.tensor[v] = len(q.p.Tensors)
	q.p.Tensors = append(q.p.Tensors, place.Tensor{Name: c.name(v), From: from, At: host, Bytes: c.size(v),
		Out: from >= 0 && c.outside[v]})
}

// reuse is how many values are thought to share a byte of an arena, while it is not known.
const reuse = 8

// placeNode is an item as a node of the placement.
func (c *compiler) placeNode(it *item) place.Node {
	n := 1 + len(c.devices)
	x := place.Node{Name: it.node.Label(), Cost: make([]int64, n), Bytes: make([]int64, n)}
	for d := range n {
		x.Cost[d] = place.Cannot
	}
	for k := range it.options {
		o := &it.options[k]
		if x.Cost[o.device] == place.Cannot || o.cost() < x.Cost[o.device] {
			x.Cost[o.device] = max(0, o.cost())
		}
	}
	elsewhere := false
	for d := 1; d < n; d++ {
		elsewhere = elsewhere || x.Cost[d] != place.Cannot
	}
	if c.arm.Out[host] && !c.hostToo && elsewhere && !it.view {
		x.Cost[host] = place.Cannot
	}
	if c.caps == nil {
		return x
	}
	var bytes int64
	for _, v := range it.node.Inputs {
		if v != graph.NoValue && c.fate[v] == fixed {
			bytes += aligned(c.size(v))
		}
	}
	for _, v := range it.node.Outputs {
		if v != graph.NoValue {
			// The arena gives the bytes to others in turn.
			bytes += c.u.lanes() * (aligned(c.size(v)) / reuse)
		}
	}
	for d := 1; d < n; d++ {
		x.Bytes[d] = bytes
	}
	return x
}

// missing lists the items that no device but the host can run.
func (c *compiler) missing() error {
	var names []string
	for i := range c.items {
		it := &c.items[i]
		elsewhere := it.view
		for k := range it.options {
			elsewhere = elsewhere || it.options[k].device != host
		}
		if !elsewhere {
			names = append(names, it.node.Label())
		}
	}
	if len(names) == 0 {
		return nil
	}
	const most = 8
	more := ""
	if len(names) > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	return fmt.Errorf("plan: no fallback: got nodes that none of the devices can run, want none: %s%s",
		strings.Join(names, ", "), more)
}
