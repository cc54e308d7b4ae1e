package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/place"
	"github.com/stowage-ml/stowage/tensor"
)

// host is the device whose memory is the process's: the callers', the constants' and the first
// arena's.
const host = 0

// Host is its name.
const Host = "cpu"

// Device is where steps may run beside the host.
type Device struct {
	Name    string
	Backend backend.Backend
	// Capacity is how many bytes the arena and the constants may take together; 0 means no limit.
	Capacity int64
	// Times multiplies the estimates for the device's kernels; 0 counts as 1.
	Times float64
	// Latency, in nanoseconds, and Rate, in bytes per nanosecond, are those of a copy to or from it;
	// where Rate is 0 the copies' times come from the Coster, when it knows any.
	Latency, Rate float64
}

// deviceName names a device by its number.
func (c *compiler) deviceName(d int) string {
	if d == host {
		return Host
	}
	return c.u.limits.Devices[d-1].Name
}

// several reports whether there are devices beside the host.
func (c *compiler) several() bool { return len(c.u.limits.Devices) > 0 }

// offerElsewhere adds the kernels of the devices beside the host, where the item can run there.
func (c *compiler) offerElsewhere(it *item) error {
	if it.row.Control || !c.movable(it) {
		return nil
	}
	o, w := c.operation(it), c.work(it)
	for d := range c.u.limits.Devices {
		dev := &c.u.limits.Devices[d]
		if it.view && it.options[0].joins {
			free := it.options[0]
			free.device = d + 1
			it.options = append(it.options, free)
			continue
		}
		cands, err := dev.Backend.Candidates(o)
		if err != nil {
			return fmt.Errorf("plan: node %s: device %q: %w", it.node.Label(), dev.Name, err)
		}
		for i := range cands {
			p := option{Candidate: cands[i], device: d + 1}
			if p.Precision > c.u.limits.Precision || !c.normalise(it, &p) || p.blocked {
				continue
			}
			p.ns, p.estimate = c.u.coster.Kernel(o, w, &p.Candidate)
			if dev.Times > 0 {
				p.ns = int64(float64(p.ns) * dev.Times)
			}
			// Where the operands cannot be one another's memory, the device's own kernel moves them.
			p.joins = c.joinable(it, backend.RowMajor)
			it.options = append(it.options, p)
		}
	}
	return nil
}

// movable reports whether all of the item's operands can be in a device's memory.
func (c *compiler) movable(it *item) bool {
	for _, vs := range [][]graph.ValueID{it.in, it.out} {
		for _, v := range vs {
			if v != graph.NoValue && (c.fate[v] == placed || c.of(v).dtype == tensor.String) {
				return false
			}
		}
	}
	return true
}

// transferTime is the estimated time of a copy of so many bytes between two devices.
func (c *compiler) transferTime(from, to int, bytes int64) int64 {
	var ns float64
	known := false
	for _, d := range []int{from, to} {
		if d == host {
			continue
		}
		if dev := &c.u.limits.Devices[d-1]; dev.Rate > 0 {
			ns += dev.Latency + float64(bytes)/dev.Rate
			known = true
		}
	}
	if known {
		return int64(math.Min(ns, 1e17))
	}
	if m, ok := c.u.coster.(interface {
		Transfer(from, to string, bytes int64) int64
	}); ok {
		return m.Transfer(c.deviceName(from), c.deviceName(to), bytes)
	}
	const latency, rate = 30_000, 5
	return latency + bytes/rate
}

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
	if err != nil {
		if full, ok := errors.AsType[*place.CapacityError](err); ok {
			return fmt.Errorf("plan: memory of devices: %w", full)
		}
		return fmt.Errorf("plan: devices: %w", err)
	}
	if err := place.Validate(&q.p, sol); err != nil {
		return fmt.Errorf("BUG: plan: devices: %w", err)
	}
	why, err := place.Explain(&q.p, sol)
	if err != nil {
		return fmt.Errorf("BUG: plan: devices: %w", err)
	}
	for i := range c.items {
		it := &c.items[i]
		it.device = sol.Device[i]
		it.where = string(why[i].Reason)
		if r := why[i].RunnerUp; r >= 0 {
			it.elsewhere, it.farther = c.deviceName(r), why[i].Margin
		}
		kept := make([]option, 0, len(it.options))
		for _, o := range it.options {
			if o.device == it.device {
				kept = append(kept, o)
			}
		}
		it.options = kept
	}
	c.counted = sol.Used
	if c.counted == nil {
		c.counted = make([]int64, 1+len(c.u.limits.Devices))
	}
	cost := &Cost{BoundNs: sol.Bound}
	for _, t := range sol.Tried {
		if t.Fits {
			cost.Strategies = append(cost.Strategies, Strategy{Name: t.Name, CostNs: t.Cost})
		}
	}
	c.stage.Cost = cost
	return nil
}

// placement writes the problem: an item costs what its cheapest kernel on a device does.
func (c *compiler) placement() *placement {
	n := 1 + len(c.u.limits.Devices)
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
	n := 1 + len(c.u.limits.Devices)
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
	if c.u.limits.NotHost && elsewhere && !it.view {
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
			bytes += aligned(c.size(v)) / reuse
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

// transferRow is the row of the operation that copies a value to another device: no graph has it.
var transferRow = op.Row{Domain: op.Domain, Op: "Transfer"}
