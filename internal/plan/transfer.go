package plan

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
)

// remoteKey names the instance of a value on a device beside the host.
type remoteKey struct {
	of     graph.ValueID
	device int
}

// on returns the row-major instance of a value on a device: v itself on the host.
func (c *compiler) on(v graph.ValueID, device int) graph.ValueID {
	if v == graph.NoValue || device == host {
		return v
	}
	k := remoteKey{v, device}
	if r, ok := c.remote[k]; ok {
		return r
	}
	r := graph.ValueID(len(c.inst))
	c.inst = append(c.inst, instance{of: v, device: device})
	c.fate = append(c.fate, absent)
	c.before = append(c.before, false)
	c.carried = append(c.carried, false)
	if c.fate[v] == fixed {
		c.fate[r] = fixed
	}
	if c.remote == nil {
		c.remote = map[remoteKey]graph.ValueID{}
	}
	c.remote[k] = r
	return r
}

// carrier adds the copies between devices.
type carrier struct {
	c *compiler
	// needs holds, for each value, the devices that read it, as bits.
	needs []uint64
	items []item
}

// transfer gives the operands of every item the instances on its device, and adds the items that copy
// values from one device to another: one for each value and device that is not where it is made. A
// copy comes right behind the maker; one of a value that existed before comes before its first reader.
func (c *compiler) transfer() {
	k := &carrier{c: c, needs: make([]uint64, len(c.u.Graph.Values)), items: make([]item, 0, len(c.items)+8)}
	for i := range c.items {
		it := &c.items[i]
		for _, v := range it.in {
			if v != graph.NoValue && c.inst[v].of == v && c.fate[v] != fixed {
				k.needs[v] |= 1 << it.device
			}
		}
		for _, v := range it.reads[len(it.reads)-it.captured:] {
			k.needs[v] |= 1 << host
		}
	}
	for v := range k.needs {
		if c.carried[v] {
			k.needs[v] |= 1 << host
		}
	}
	for _, v := range c.u.Graph.Outputs {
		k.needs[v] |= 1 << host
	}
	for i := range c.items {
		k.item(&c.items[i])
	}
	c.items = k.items
}

// item adds an item with the copies around it.
func (k *carrier) item(it *item) {
	c := k.c
	if it.device != host {
		captured := it.reads[len(it.reads)-it.captured:]
		it.in = k.move(it.in, it.device)
		for _, v := range it.in {
			if v != graph.NoValue && c.fate[v] == absent {
				k.copy(c.inst[v].of, host, it.device)
			}
		}
		it.reads = slices.Concat(present(it.in), captured)
		outs := k.move(it.out, it.device)
		for i, v := range it.out {
			if v != graph.NoValue {
				c.fate[outs[i]], c.fate[v] = c.fate[v], absent
			}
		}
		it.out = outs
	}
	k.items = append(k.items, *it)
	for _, v := range it.out {
		if v == graph.NoValue || c.inst[v].layout != backend.RowMajor {
			continue
		}
		of := c.inst[v].of
		for d := range 1 + len(c.devices) {
			if d != it.device && k.needs[of]>>d&1 == 1 {
				k.copy(of, it.device, d)
			}
		}
	}
}

func (k *carrier) move(vs []graph.ValueID, device int) []graph.ValueID {
	out := make([]graph.ValueID, len(vs))
	for i, v := range vs {
		out[i] = k.c.on(v, device)
	}
	return out
}

// copy adds the item that copies a value.
func (k *carrier) copy(v graph.ValueID, from, to int) {
	c := k.c
	in, out := c.on(v, from), c.on(v, to)
	if c.fate[out] != absent {
		return
	}
	c.fate[out] = made
	n := &graph.Node{Domain: transferRow.Domain, Op: transferRow.Op, Version: 1, Name: c.name(v),
		Inputs: []graph.ValueID{v}, Outputs: []graph.ValueID{v}}
	// A copy is the work of the device that is not the host; between two such, of the one it is from.
	device := from
	if from == host {
		device = to
	}
	k.items = append(k.items, item{node: n, row: &transferRow, in: []graph.ValueID{in}, out: []graph.ValueID{out},
		reads: []graph.ValueID{in}, device: device, transfer: true, from: from, to: to, runner: -1,
		reason: "copies to where it is read", options: []option{{
			Candidate: backend.Candidate{Name: "copy", Source: "go"}, device: device,
			ns: c.transferTime(from, to, c.size(v)), estimate: "roofline"}}})
}
