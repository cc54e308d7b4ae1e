package backend

import (
	"cmp"
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// scratchAlign is the alignment of ranges of scratch memory.
const scratchAlign = 64

// place gives every value of the body its memory.
func (b *body) place() {
	for i, v := range b.g.Outputs {
		s := b.span[v]
		s.output, s.last = i, len(b.steps)
	}
	b.overwrite()
	var spans []*span
	seen := map[*span]bool{}
	add := func(s *span) {
		if s = s.root(); s.input < 0 && s.output < 0 && !seen[s] {
			seen[s] = true
			spans = append(spans, s)
		}
	}
	for i := range b.steps {
		for k := range b.steps[i].out {
			if o := &b.steps[i].out[k]; o.view.DType != tensor.Undefined {
				add(b.span[o.value])
			}
		}
		if s := b.steps[i].scratch; s != nil {
			add(s)
		}
	}
	b.fit(spans)
	for i := range b.steps {
		st := &b.steps[i]
		for _, os := range [][]operand{st.in, st.out} {
			for k := range os {
				if os[k].view.DType != tensor.Undefined {
					os[k].at = b.span[os[k].value].root()
				}
			}
		}
	}
}

// homeFree reports whether the first output's memory may be written from step first on, with a
// value of that many bytes: no input that the node may overwrite is read any more, or it is read
// by that very step at the index that is written.
func (b *body) homeFree(first int, bytes int64) bool {
	home := RowMajor.Bytes(b.o.Out[0].DType, b.o.Out[0].Shape)
	if bytes > home {
		return false
	}
	for _, i := range b.over {
		v := b.g.Inputs[i]
		last := b.span[v].last
		if last > first || last == first && (bytes < home || !op.MayOverwrite(b.steps[first].node, v)) {
			return false
		}
	}
	return true
}

// overwrite joins the output of a step with an input that ends there, where the step's row allows
// it.
func (b *body) overwrite() {
	for t := range b.steps {
		st := &b.steps[t]
		if len(st.out) == 0 || st.out[0].view.DType == tensor.Undefined {
			continue
		}
		out := b.span[st.out[0].value]
		for _, j := range op.Lookup(st.node.Domain, st.node.Op).Overwrites(st.node) {
			v := st.node.Input(j)
			if v == graph.NoValue || !op.MayOverwrite(st.node, v) {
				continue
			}
			in := b.span[v].root()
			if in.input >= 0 || in.output >= 0 || in.last != t || in.bytes != out.bytes || b.shared(st.node, in, j) {
				continue
			}
			if out.output > 0 || out.output == 0 && !b.homeFree(in.first, in.bytes) {
				continue
			}
			out.first = in.first
			in.joined = out
			break
		}
	}
}

// shared reports whether a node reads the memory of input j through another input too.
func (b *body) shared(n *graph.Node, s *span, j int) bool {
	for i, v := range n.Inputs {
		if i != j && v != graph.NoValue && b.span[v].root() == s {
			return true
		}
	}
	return false
}

// fit gives spans their places: in the first output's memory where it is free and large enough,
// else at the lowest offset of the scratch memory that nothing else has at the time. Larger spans
// are placed first.
func (b *body) fit(spans []*span) {
	slices.SortStableFunc(spans, func(x, y *span) int { return cmp.Compare(y.bytes, x.bytes) })
	guests := []*span{b.span[b.g.Outputs[0]].root()}
	var placed []*span
	for _, s := range spans {
		if !s.inScratch && b.homeFree(s.first, s.bytes) && !slices.ContainsFunc(guests, s.meets) {
			s.output = 0
			guests = append(guests, s)
			continue
		}
		s.inScratch = true
		s.offset = lowest(s, placed)
		placed = append(placed, s)
		b.scratch = max(b.scratch, s.offset+s.bytes)
	}
}

// meets reports whether two spans are alive at one time.
func (s *span) meets(o *span) bool { return s.first <= o.last && o.first <= s.last }

// lowest returns the lowest aligned offset at which s is beside all that is placed.
func lowest(s *span, placed []*span) int64 {
	at := int64(0)
	for again := true; again; {
		again = false
		for _, p := range placed {
			if s.meets(p) && at < p.offset+p.bytes && p.offset < at+s.bytes {
				at = (p.offset + p.bytes + scratchAlign - 1) / scratchAlign * scratchAlign
				again = true
			}
		}
	}
	return at
}
