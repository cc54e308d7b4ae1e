package place

import (
	"fmt"
	"math"
)

const (
	maxDevices = 64
	maxRelay   = 8
)

// check finds the first thing wrong with a problem, cycles and views aside.
func (p *Problem) check() error {
	for _, f := range []func() error{p.checkDevices, p.checkNodes, p.checkTensors, p.checkLinks, p.checkReach} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Problem) checkDevices() error {
	k := len(p.Devices)
	if k == 0 {
		return fail(ErrShape, "devices", "", "got none, want at least one")
	}
	if k > maxDevices {
		return fail(ErrLimit, "devices", "", "got %d, want at most %d", k, maxDevices)
	}
	if p.relays() && k > maxRelay {
		return fail(ErrLimit, "devices", "", "got %d, want at most %d where copies go through others", k, maxRelay)
	}
	if p.Exit < NoExit || p.Exit >= k {
		return fail(ErrIndex, "exit", "", "got device %d, want one of %d, or %d for none", p.Exit, k, NoExit)
	}
	if p.Capacity == nil {
		return nil
	}
	if len(p.Capacity) != k {
		return fail(ErrShape, "capacity", "", "got %d entries, want %d, one for each device", len(p.Capacity), k)
	}
	for d, c := range p.Capacity {
		if c < Unlimited {
			return fail(ErrBytes, fmt.Sprintf("capacity[%d]", d), p.Devices[d], "got %d B, want at least 0 B", c)
		}
	}
	return nil
}

func (p *Problem) checkNodes() error {
	k := len(p.Devices)
	for i := range p.Nodes {
		n := &p.Nodes[i]
		at := func(field string) string { return fmt.Sprintf("nodes[%d].%s", i, field) }
		if len(n.Cost) != k {
			return fail(ErrShape, at("cost"), n.Name, "got %d entries, want %d, one for each device", len(n.Cost), k)
		}
		if n.Bytes != nil && len(n.Bytes) != k {
			return fail(ErrShape, at("bytes"), n.Name, "got %d entries, want %d, one for each device", len(n.Bytes), k)
		}
		able := false
		for d, c := range n.Cost {
			if c < 0 && c != Cannot {
				return fail(ErrCost, at(fmt.Sprintf("cost[%d]", d)), n.Name, "got %d ns, want at least 0 ns", c)
			}
			able = able || c != Cannot
			if n.Bytes != nil && n.Bytes[d] < 0 {
				return fail(ErrBytes, at(fmt.Sprintf("bytes[%d]", d)), n.Name, "got %d B, want at least 0 B", n.Bytes[d])
			}
		}
		if !able {
			return fail(ErrNowhere, at("cost"), n.Name, "got no device that can run it, want at least one")
		}
	}
	return nil
}

func (p *Problem) checkTensors() error {
	for i := range p.Tensors {
		t := &p.Tensors[i]
		at := func(field string) string { return fmt.Sprintf("tensors[%d].%s", i, field) }
		name := p.TensorName(i)
		switch {
		case t.From >= len(p.Nodes) || t.From < View:
			return fail(ErrIndex, at("from"), name, "got node %d, want one of %d", t.From, len(p.Nodes))
		case t.From == Fixed && (t.At < 0 || t.At >= len(p.Devices)):
			return fail(ErrIndex, at("from"), name, "got device %d, want one of %d", t.At, len(p.Devices))
		case t.From == View && (t.At < 0 || t.At >= len(p.Tensors)):
			return fail(ErrIndex, at("view"), name, "got tensor %d, want one of %d", t.At, len(p.Tensors))
		case t.Bytes < 0:
			return fail(ErrBytes, at("bytes"), name, "got %d B, want at least 0 B", t.Bytes)
		}
		for j, to := range t.To {
			if to < 0 || to >= len(p.Nodes) {
				return fail(ErrIndex, at(fmt.Sprintf("to[%d]", j)), name, "got node %d, want one of %d", to, len(p.Nodes))
			}
		}
	}
	return nil
}

func (p *Problem) checkLinks() error {
	k := len(p.Devices)
	if len(p.Latency) != k {
		return fail(ErrShape, "latency_ns", "", "got %d rows, want %d, one for each device", len(p.Latency), k)
	}
	if len(p.PerByte) != k {
		return fail(ErrShape, "ns_per_byte", "", "got %d rows, want %d, one for each device", len(p.PerByte), k)
	}
	for a := range k {
		if len(p.Latency[a]) != k {
			field := fmt.Sprintf("latency_ns[%d]", a)
			return fail(ErrShape, field, p.Devices[a], "got %d entries, want %d", len(p.Latency[a]), k)
		}
		if len(p.PerByte[a]) != k {
			field := fmt.Sprintf("ns_per_byte[%d]", a)
			return fail(ErrShape, field, p.Devices[a], "got %d entries, want %d", len(p.PerByte[a]), k)
		}
		for b := range k {
			if l := p.Latency[a][b]; l < NoLink {
				return fail(ErrLink, fmt.Sprintf("latency_ns[%d][%d]", a, b), "", "got %d ns, want at least 0 ns", l)
			}
			if r := p.PerByte[a][b]; r < 0 || math.IsNaN(r) || math.IsInf(r, 0) {
				return fail(ErrLink, fmt.Sprintf("ns_per_byte[%d][%d]", a, b), "", "got %v ns, want at least 0 ns", r)
			}
		}
	}
	return nil
}

// relays reports whether copies may go through other devices.
func (p *Problem) relays() bool {
	if p.Relay {
		return len(p.Devices) > 1
	}
	for a, row := range p.Latency {
		for b, l := range row {
			if l == NoLink && a != b {
				return true
			}
		}
	}
	return false
}

// checkReach asks that a copy can get from every device to every other.
func (p *Problem) checkReach() error {
	if !p.relays() {
		return nil
	}
	for a := range p.Devices {
		seen := make([]bool, len(p.Devices))
		seen[a] = true
		for todo := []int{a}; len(todo) > 0; {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for b, l := range p.Latency[at] {
				if l != NoLink && !seen[b] {
					seen[b] = true
					todo = append(todo, b)
				}
			}
		}
		for b, ok := range seen {
			if !ok {
				return fail(ErrLink, fmt.Sprintf("latency_ns[%d][%d]", a, b), "",
					"got no way from %q to %q, want one, through other devices if need be", p.Devices[a], p.Devices[b])
			}
		}
	}
	return nil
}
