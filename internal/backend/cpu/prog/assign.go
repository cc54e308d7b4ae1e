package prog

import (
	"math"
	"slices"

	"github.com/stowage-ml/stowage/internal/simd/vec"
)

// uses counts how often each value is read; the result is read once more.
func (c *code) uses() []int {
	n := make([]int, c.count)
	for i := range c.steps {
		for _, s := range c.steps[i].sources() {
			if s.from == register {
				n[s.i]++
			}
		}
	}
	if c.result.from == register {
		n[c.result.i]++
	}
	return n
}

// sources lists the operands of a step.
func (s *step) sources() []source {
	switch s.form {
	case binary:
		return []source{s.x, s.y}
	case mulAdd:
		return []source{s.x, s.y, s.z}
	}
	return []source{s.x}
}

// tidied returns the code with the steps that nothing reads left out and pairs of steps joined,
// and, unless the anchor's value is the result, with a last step that makes the result.
func (c code) tidied(anchored bool) code {
	c.steps = slices.Clone(c.steps)
	if c.result.from != register || c.result.i == 0 && !anchored {
		c.steps = append(c.steps, step{form: move, x: c.result, dst: c.count})
		c.result = source{register, c.count}
		c.count++
	}
	c.join()
	for used := c.uses(); ; used = c.uses() {
		n := len(c.steps)
		c.steps = slices.DeleteFunc(c.steps, func(s step) bool { return used[s.dst] == 0 })
		if len(c.steps) == n {
			return c
		}
	}
}

// join makes one step of a step and the only one that reads its value, where there is such a
// function: the later step takes the place of both.
func (c *code) join() {
	used := c.uses()
	maker := make([]*step, c.count)
	for i := range c.steps {
		s := &c.steps[i]
		maker[s.dst] = s
		if s.form != binary {
			continue
		}
		for _, swap := range []bool{false, true} {
			if swap && s.binary != vec.Add && s.binary != vec.Mul {
				break
			}
			x, y := s.x, s.y
			if swap {
				x, y = y, x
			}
			if y.from == register && maker[y.i] != nil && used[y.i] == 1 && joinProduct(s, maker[y.i], x) {
				break
			}
			if x.from == register && maker[x.i] != nil && used[x.i] == 1 && c.joinSum(s, maker[x.i], y) {
				break
			}
		}
	}
}

// joinProduct makes x·g(x) one function.
func joinProduct(s, g *step, x source) bool {
	if s.binary != vec.Mul || g.form != unary || g.x != x {
		return false
	}
	switch g.unary {
	case vec.Sigmoid:
		*s = step{form: unary, unary: vec.Swish, x: x, a: 1, dst: s.dst}
	case vec.HardSigmoid:
		*s = step{form: unary, unary: vec.HardSwish, x: x, a: g.a, b: g.b, dst: s.dst}
	default:
		return false
	}
	return true
}

// joinSum makes m+z one step when m is a product with a narrow operand.
func (c *code) joinSum(s, m *step, z source) bool {
	if s.binary != vec.Add || m.form != binary || m.binary != vec.Mul || z.from != narrow {
		return false
	}
	x, y := m.x, m.y
	if x.from == narrow {
		x, y = y, x
	}
	if x.from == narrow || y.from != narrow {
		return false
	}
	*s = step{form: mulAdd, x: x, y: y, z: z, dst: s.dst}
	return true
}

// assign gives every value a register. The result's is the tile's data. The anchor's value leaves
// it when it is read for the last time. Without an anchor it may be the memory of an input, and
// holds nothing before the last step that reads such a one.
func (p *Program) assign() {
	c := &p.code
	p.smalls, p.steps, p.regs = c.smalls, slices.Clone(c.steps), 0
	last, reads := make([]int, c.count), 0
	for i := range p.steps {
		for _, s := range p.steps[i].sources() {
			if s.from == register {
				last[s.i] = i
			} else if s.from == full {
				reads = i
			}
		}
	}
	anchored := c.uses()[0] > 0
	where, free := make([]int, c.count), []int{}
	for i := range p.steps {
		s := &p.steps[i]
		if i == reads && !anchored {
			free = append(free, 0)
		}
		for _, x := range []*source{&s.x, &s.y, &s.z} {
			if x.from != register {
				continue
			}
			v := x.i
			x.i = where[v]
			if last[v] == i {
				last[v] = -1
				free = append(free, x.i)
			}
		}
		where[s.dst], free = p.take(free, i == len(p.steps)-1)
		s.dst = where[s.dst]
	}
}

// take chooses a register for a result: the tile's data for the last one, else the least that is
// free.
func (p *Program) take(free []int, final bool) (int, []int) {
	if final {
		return 0, free
	}
	if len(free) == 0 {
		p.regs++
		return p.regs, free
	}
	k := slices.Index(free, slices.Min(free))
	r := free[k]
	return r, slices.Delete(free, k, k+1)
}

// fulls lists the inputs that are read with the output's shape.
func (c *code) fulls() []int {
	var out []int
	for i := range c.steps {
		for _, s := range c.steps[i].sources() {
			if s.from == full && !slices.Contains(out, s.i) {
				out = append(out, s.i)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Clamp takes a leading limit of the anchor's value (Relu, or Clip to constants) out of the
// program: first comes x < lo → lo, then x > hi → hi, then rest, which is nil when nothing is
// left. Without such a limit, lo and hi are infinite and rest is the program.
func (p *Program) Clamp() (lo, hi float32, rest *Program) {
	lo, hi = float32(math.Inf(-1)), float32(math.Inf(1))
	c := p.code
	if len(c.steps) == 0 {
		return lo, hi, nil
	}
	first := c.steps[0]
	if first.form != unary || first.x != (source{register, 0}) || c.uses()[0] != 1 {
		return lo, hi, p
	}
	switch first.unary {
	case vec.Relu:
		lo = 0
	case vec.Clip:
		lo, hi = first.a, first.b
	default:
		return lo, hi, p
	}
	if len(c.steps) == 1 {
		return lo, hi, nil
	}
	c.steps = slices.Clone(c.steps[1:])
	for i := range c.steps {
		s := &c.steps[i]
		for _, x := range []*source{&s.x, &s.y, &s.z} {
			if *x == (source{register, first.dst}) {
				x.i = 0
			}
		}
	}
	rest = &Program{fn: p.fn, channels: p.channels, runs: p.runs, code: c}
	rest.assign()
	return lo, hi, rest
}
