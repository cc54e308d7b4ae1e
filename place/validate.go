package place

import (
	"fmt"
	"math"
	"math/big"
)

// Validate checks a solution against its problem, from the problem's text alone: it shares no code
// with what found it. It finds nodes where they cannot run, readers without the bytes that they
// read, copies that are not needed or not from where the tensor is, capacities that are exceeded,
// and costs, bounds and claims of proof that do not add up. That the bound holds it cannot check. The
// problem must be one that Solve takes; the solution may be anything.
// Every error unwraps to ErrInvalid. It takes O(nodes × devices + edges) time.
func Validate(p *Problem, s *Solution) error {
	v := &verifier{p: p, s: s, sum: new(big.Int)}
	for _, check := range []func() error{v.nodes, v.memory, v.views, v.copies, v.reads, v.totals} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// verifier is the state of one Validate.
type verifier struct {
	p   *Problem
	s   *Solution
	sum *big.Int
	// origin holds the tensor whose bytes each tensor is.
	origin []int
	// has says for each tensor, and each device, whether it is there; wants whether it must get there.
	has, wants []bool
}

func (v *verifier) bad(field, name, format string, args ...any) error {
	return &Error{Kind: ErrInvalid, Field: field, Name: name, Detail: fmt.Sprintf(format, args...)}
}

func (v *verifier) nodes() error {
	if len(v.s.Device) != len(v.p.Nodes) {
		return v.bad("solution", "", "got %d devices, want %d, one for each node", len(v.s.Device), len(v.p.Nodes))
	}
	for i, d := range v.s.Device {
		n := v.p.Nodes[i]
		if d < 0 || d >= len(v.p.Devices) || d >= len(n.Cost) || n.Cost[d] < 0 {
			return v.bad(fmt.Sprintf("nodes[%d]", i), n.Name, "got device %d, want one that can run it", d)
		}
		v.sum.Add(v.sum, big.NewInt(n.Cost[d]))
	}
	return nil
}

func (v *verifier) memory() error {
	if len(v.s.Used) != len(v.p.Devices) {
		return v.bad("solution", "", "got bytes of %d devices, want %d", len(v.s.Used), len(v.p.Devices))
	}
	for d, name := range v.p.Devices {
		sum := new(big.Int)
		for i, at := range v.s.Device {
			if at == d && v.p.Nodes[i].Bytes != nil {
				sum.Add(sum, big.NewInt(v.p.Nodes[i].Bytes[d]))
			}
		}
		if !sum.IsInt64() {
			sum = big.NewInt(math.MaxInt64)
		}
		if used := sum.Int64(); used != v.s.Used[d] {
			return v.bad("solution", name, "got %d B taken, want %d B", v.s.Used[d], used)
		}
		if v.p.Capacity != nil && v.p.Capacity[d] >= 0 && sum.Cmp(big.NewInt(v.p.Capacity[d])) > 0 {
			return v.bad("solution", name, "got %v B taken, want at most %d B", sum, v.p.Capacity[d])
		}
	}
	return nil
}

// views follows each view, as many steps as there are tensors.
func (v *verifier) views() error {
	n := len(v.p.Tensors)
	v.origin = make([]int, n)
	for i := range v.p.Tensors {
		v.origin[i] = i
	}
	for changed, round := true, 0; changed; round++ {
		if round > n {
			return v.bad("tensors", "", "got a view of itself")
		}
		changed = false
		for i, at := range v.origin {
			if t := v.p.Tensors[at]; t.From == View {
				next := v.origin[t.At]
				if next == at || next == i {
					return v.bad("tensors", v.p.Tensors[i].Name, "got a view of itself")
				}
				v.origin[i], changed = next, true
			}
		}
	}
	devices := len(v.p.Devices)
	v.has, v.wants = make([]bool, n*devices), make([]bool, n*devices)
	for i, t := range v.p.Tensors {
		switch {
		case t.From >= 0:
			v.has[i*devices+v.s.Device[t.From]] = true
		case t.From == Fixed:
			v.has[i*devices+t.At] = true
		}
	}
	for i, t := range v.p.Tensors {
		for _, to := range t.To {
			v.wants[v.origin[i]*devices+v.s.Device[to]] = true
		}
		if t.Out && v.p.Exit >= 0 {
			v.wants[v.origin[i]*devices+v.p.Exit] = true
		}
	}
	return nil
}

// copies makes every copy, in order.
func (v *verifier) copies() error {
	through := v.p.Relay
	for a, row := range v.p.Latency {
		for b, l := range row {
			through = through || a != b && l < 0
		}
	}
	for i, c := range v.s.Copies {
		field := fmt.Sprintf("copies[%d]", i)
		if c.Tensor < 0 || c.Tensor >= len(v.p.Tensors) || v.origin[c.Tensor] != c.Tensor {
			return v.bad(field, "", "got tensor %d, want one that is no view", c.Tensor)
		}
		t := v.p.Tensors[c.Tensor]
		if c.From < 0 || c.From >= len(v.p.Devices) || c.To < 0 || c.To >= len(v.p.Devices) || c.Bytes != t.Bytes {
			return v.bad(field, t.Name, "got %d B from device %d to %d, want %d B between two", c.Bytes, c.From, c.To, t.Bytes)
		}
		row := c.Tensor * len(v.p.Devices)
		if !v.has[row+c.From] || v.has[row+c.To] {
			return v.bad(field, t.Name, "got a copy from device %d to %d, want one from where it is to where it is not",
				c.From, c.To)
		}
		if !through && !v.wants[row+c.To] {
			return v.bad(field, t.Name, "got a copy to device %d, want none where nobody reads it", c.To)
		}
		if !through && (t.From == Fixed && c.From != t.At || t.From >= 0 && c.From != v.s.Device[t.From]) {
			return v.bad(field, t.Name, "got a copy from device %d, want one from where it is made", c.From)
		}
		want, ok := v.cost(c)
		if !ok || c.Cost != want {
			return v.bad(field, t.Name, "got %d ns, want %d ns over a link", c.Cost, want)
		}
		v.has[row+c.To] = true
		v.sum.Add(v.sum, big.NewInt(want))
	}
	return nil
}

// cost works out what a copy costs with as many digits as that takes.
func (v *verifier) cost(c Copy) (int64, bool) {
	latency, rate := v.p.Latency[c.From][c.To], v.p.PerByte[c.From][c.To]
	if latency < 0 {
		return 0, false
	}
	product := new(big.Float).SetPrec(200).Mul(big.NewFloat(rate), big.NewFloat(float64(c.Bytes)))
	if rate != math.Trunc(rate) {
		rounded, _ := product.Float64()
		product = big.NewFloat(math.Round(rounded))
	}
	ns, _ := product.Int(nil)
	ns.Add(ns, big.NewInt(latency))
	if ns.Cmp(big.NewInt(MaxCost)) > 0 {
		return MaxCost, true
	}
	return ns.Int64(), true
}

func (v *verifier) reads() error {
	for i, wants := range v.wants {
		if wants && !v.has[i] {
			at, d := i/len(v.p.Devices), i%len(v.p.Devices)
			return v.bad(fmt.Sprintf("tensors[%d]", at), v.p.Tensors[at].Name,
				"got a reader on %q without a copy, want one", v.p.Devices[d])
		}
	}
	return nil
}

func (v *verifier) totals() error {
	want := big.NewInt(MaxCost)
	if v.sum.Cmp(want) < 0 {
		want = v.sum
	}
	if want.Cmp(big.NewInt(v.s.Cost)) != 0 {
		return v.bad("solution", "", "got a cost of %d ns, want %v ns", v.s.Cost, want)
	}
	if v.s.Bound < 0 || v.s.Bound > v.s.Cost || v.s.Proven != (v.s.Bound == v.s.Cost) {
		return v.bad("solution", "", "got bound %d ns, proven %v, want at most the cost, %d ns, and proven when equal",
			v.s.Bound, v.s.Proven, v.s.Cost)
	}
	for _, r := range v.s.Tried {
		if r.Fits && r.Cost < v.s.Cost || r.Name == v.s.Strategy && (!r.Fits || r.Cost != v.s.Cost) {
			return v.bad("solution", r.Name, "got a strategy's cost of %d ns, want at least %d ns, and that for the winner",
				r.Cost, v.s.Cost)
		}
	}
	return nil
}
