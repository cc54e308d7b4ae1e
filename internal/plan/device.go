package plan

import (
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/cost"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
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
	// Refused counts how often the device has had less memory than plans counted on.
	Refused int
	// Lost says that nothing can run there any more.
	Lost bool
	// Times multiplies the estimates for the device's kernels; 0 counts as 1.
	Times float64
	// Latency, in nanoseconds, and Rate, in bytes per nanosecond, are those of a copy to or from it;
	// where Rate is 0 the copies' times come from the Coster.
	Latency, Rate float64
}

// deviceName names a device by its number.
func (c *compiler) deviceName(d int) string {
	if d == host {
		return Host
	}
	return c.devices[d-1].Name
}

// several reports whether there are devices beside the host.
func (c *compiler) several() bool { return len(c.devices) > 0 }

// offerElsewhere adds the kernels of the devices beside the host, where the item can run there.
func (c *compiler) offerElsewhere(it *item) error {
	if it.row.Control || !c.movable(it) {
		return nil
	}
	o, w := c.operation(it), c.work(it)
	for d := range c.devices {
		dev, coster := &c.devices[d], c.u.coster
		if c.left(d + 1) {
			continue
		}
		if m, ok := coster.(*cost.Model); ok {
			coster = m.On(dev.Name)
		}
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
			p.ns, p.estimate = coster.Kernel(o, w, &p.Candidate)
			if dev.Times > 0 {
				p.ns = int64(float64(p.ns) * dev.Times)
			}
			p.ns *= c.times(d + 1)
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
		if dev := &c.devices[d-1]; dev.Rate > 0 {
			ns += dev.Latency + float64(bytes)/dev.Rate
			known = true
		}
	}
	if known {
		return int64(math.Min(ns, 1e17))
	}
	return c.u.coster.Transfer(c.deviceName(from), c.deviceName(to), bytes)
}

// transferRow is the row of the operation that copies a value to another device: no graph has it.
var transferRow = op.Row{Domain: op.Domain, Op: "Transfer"}
