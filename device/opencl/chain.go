package opencl

import (
	"fmt"
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// member is a node of a chain: what it reads is earlier members' results or the chain's operands.
type member struct {
	node *graph.Node
	in   []int
	out  int
}

// chain is a run of elementwise nodes as one kernel. Results and operands are numbered together.
type chain struct {
	members []member
	// reads maps the numbers of operands to what they are.
	reads map[int]*value
	// types is known for operands, and becomes so for results.
	last int
}

// order lists the numbers of the operands.
func (ch *chain) order() []int {
	var out []int
	for _, m := range ch.members {
		for _, i := range m.in {
			if i >= 0 && ch.reads[i] != nil && !slices.Contains(out, i) {
				out = append(out, i)
			}
		}
	}
	return out
}

// lines writes the members as assignments to v0, v1 …, given the texts of the operands' elements;
// the result is the last one's name.
func (ch *chain) lines(load map[int]string) (lines []string, result term, ok bool) {
	terms := map[int]term{}
	for i, text := range load {
		v := ch.reads[i]
		terms[i] = term{text: text, dtype: v.dtype, data: v.data}
	}
	for k := range ch.members {
		m := &ch.members[k]
		in := make([]term, len(m.in))
		for i, from := range m.in {
			if from >= 0 {
				in[i] = terms[from]
			}
		}
		t, ok := express(m.node, in)
		if !ok {
			return nil, term{}, false
		}
		name := fmt.Sprintf("v%d", k)
		lines = append(lines, fmt.Sprintf("%s %s = %s;", typeNames[t.dtype], name, t.text))
		terms[m.out] = term{text: name, dtype: t.dtype}
	}
	return lines, terms[ch.last], true
}

// loads declares the elements that the members read, so that each is read once.
func loads(names []int, at map[int]string, reads map[int]*value) (lines []string, load map[int]string) {
	load = map[int]string{}
	for k, i := range names {
		load[i] = fmt.Sprintf("x%d", k)
		lines = append(lines, fmt.Sprintf("%s x%d = %s;", typeNames[reads[i].dtype], k, at[i]))
	}
	return lines, load
}

// spread is the steps of operands through the elements of an output whose dimensions are joined
// where all operands allow it.
type spread struct {
	dims  []int64
	steps [][]int64
}

// spreadOf aligns shapes to the right of out; ok is false where one is not broadcast to it.
func spreadOf(out tensor.Shape, shapes []tensor.Shape) (s spread, ok bool) {
	full := make([][]int64, len(shapes))
	for k, sh := range shapes {
		if len(sh) > len(out) {
			return s, false
		}
		full[k] = make([]int64, len(out))
		step := int64(1)
		for j := len(sh) - 1; j >= 0; j-- {
			d := len(out) - len(sh) + j
			switch {
			case sh[j] == out[d] && sh[j] != 1:
				full[k][d] = step
			case sh[j] != 1:
				return s, false
			}
			step *= sh[j]
		}
	}
	s.steps = make([][]int64, len(shapes))
	for d, n := range out {
		if n == 1 {
			continue
		}
		last := len(s.dims) - 1
		joins := last >= 0
		for k := range shapes {
			joins = joins && s.steps[k][last] == full[k][d]*n
		}
		if joins {
			s.dims[last] *= n
			for k := range shapes {
				s.steps[k][last] = full[k][d]
			}
			continue
		}
		s.dims = append(s.dims, n)
		for k := range shapes {
			s.steps[k] = append(s.steps[k], full[k][d])
		}
	}
	if len(s.dims) == 0 {
		s.dims = []int64{1}
		for k := range shapes {
			s.steps[k] = []int64{0}
		}
	}
	return s, true
}

// chainTask writes a chain as one kernel: each item does a run of the innermost dimension on devices
// that are processors, and one element on others.
func (b *builder) chainTask(ch *chain, out *value) bool {
	names := ch.order()
	shapes := make([]tensor.Shape, len(names))
	for k, i := range names {
		shapes[k] = ch.reads[i].shape
	}
	s, ok := spreadOf(out.shape, shapes)
	if !ok || typeNames[out.dtype] == "" {
		return false
	}
	c := newCode(b.d)
	for k, i := range names {
		c.read(fmt.Sprintf("p%d", k), ch.reads[i])
	}
	c.write("y", out)
	w := b.walk(c, s.dims)
	at := map[int]string{}
	for k, i := range names {
		at[i] = fmt.Sprintf("p%d[%s]", k, w.index(c, fmt.Sprintf("p%d", k), s.steps[k]))
	}
	first, load := loads(names, at, ch.reads)
	lines, result, ok := ch.lines(load)
	if !ok || result.dtype != out.dtype {
		return false
	}
	w.open(c)
	for _, l := range slices.Concat(first, lines) {
		c.f("%s", l)
	}
	c.f("y[%s] = %s;", w.linear(), result.text)
	w.close(c)
	b.tasks = append(b.tasks, c.task())
	return true
}
