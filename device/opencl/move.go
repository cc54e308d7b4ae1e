package opencl

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// strided is a copy: element (i0, i1, …) is read at from + Σ i·in and written at to + Σ i·out.
type strided struct {
	dims, in, out []int64
	from, to      int64
}

// stepsOf returns how far apart the elements of a row-major tensor are along each dimension.
func stepsOf(s []int64) []int64 {
	out := make([]int64, len(s))
	step := int64(1)
	for i := len(s) - 1; i >= 0; i-- {
		out[i] = step
		step *= s[i]
	}
	return out
}

// join drops dimensions of one element, and joins those that are one behind the other on both sides.
func (s *strided) join() {
	var j strided
	for i, n := range s.dims {
		if n == 1 {
			continue
		}
		if k := len(j.dims) - 1; k >= 0 && j.in[k] == s.in[i]*n && j.out[k] == s.out[i]*n {
			j.dims[k] *= n
			j.in[k], j.out[k] = s.in[i], s.out[i]
			continue
		}
		j.dims, j.in, j.out = append(j.dims, n), append(j.in, s.in[i]), append(j.out, s.out[i])
	}
	if len(j.dims) == 0 {
		j.dims, j.in, j.out = []int64{1}, []int64{0}, []int64{0}
	}
	s.dims, s.in, s.out = j.dims, j.in, j.out
}

// move adds a strided copy from x to y.
func (b *builder) move(x, y *value, s strided) bool {
	word := wordNames[x.dtype.Bits()]
	if word == "" || x.dtype.Bits() != y.dtype.Bits() {
		return false
	}
	s.join()
	if product(s.dims) == 0 {
		return true
	}
	c := newCode(b.d)
	c.operand("p", word, x.at, false)
	c.operand("y", word, y.at, true)
	w := b.walk(c, s.dims)
	c.num("from", s.from)
	c.num("to", s.to)
	in, out := w.index(c, "p", s.in), w.index(c, "y", s.out)
	w.open(c)
	c.f("y[to + %s] = p[from + %s];", out, in)
	w.close(c)
	b.tasks = append(b.tasks, c.task())
	return true
}

// makeCopy serves operators that give a value another shape.
func makeCopy(b *builder, _ *graph.Node, in, out []*value) bool {
	n := in[0].count()
	if n != out[0].count() || in[0].dtype != out[0].dtype {
		return false
	}
	return b.move(in[0], out[0], strided{dims: []int64{n}, in: []int64{1}, out: []int64{1}})
}

func makeTranspose(b *builder, n *graph.Node, in, out []*value) bool {
	rank := len(in[0].shape)
	perm := n.Attrs.Ints("perm", nil)
	if perm == nil {
		for i := range rank {
			perm = append(perm, int64(rank-1-i))
		}
	}
	from := stepsOf(in[0].shape)
	s := strided{dims: out[0].shape, out: stepsOf(out[0].shape)}
	for _, p := range perm {
		if p < 0 || p >= int64(rank) {
			return false
		}
		s.in = append(s.in, from[p])
	}
	return len(perm) == rank && b.move(in[0], out[0], s)
}

func makeExpand(b *builder, _ *graph.Node, in, out []*value) bool {
	x, y := in[0].shape, out[0].shape
	if len(x) > len(y) {
		return false
	}
	steps := stepsOf(x)
	s := strided{dims: y, in: make([]int64, len(y)), out: stepsOf(y)}
	for i, n := range x {
		if d := len(y) - len(x) + i; n != 1 {
			s.in[d] = steps[i]
		}
	}
	return b.move(in[0], out[0], s)
}

// listOf returns a list that an attribute or a constant input holds.
func listOf(n *graph.Node, name string, in []*value, i int) (list []int64, ok bool) {
	if a := n.Attrs.Ints(name, nil); a != nil {
		return a, true
	}
	if i >= len(in) || !in[i].present() {
		return nil, true
	}
	if in[i].data == nil {
		return nil, false
	}
	f := op.FactOf(in[i].data)
	return f.Ints()
}

func makeSlice(b *builder, n *graph.Node, in, out []*value) bool {
	x := in[0].shape
	starts, ok1 := listOf(n, "starts", in, 1)
	axes, ok2 := listOf(n, "axes", in, 3)
	steps, ok3 := listOf(n, "steps", in, 4)
	if !ok1 || !ok2 || !ok3 || len(out[0].shape) != len(x) {
		return false
	}
	each := stepsOf(x)
	s := strided{dims: out[0].shape, in: slices.Clone(each), out: stepsOf(out[0].shape)}
	for i, start := range starts {
		axis, step := int64(i), int64(1)
		if axes != nil {
			axis = axes[i]
		}
		if axis < 0 {
			axis += int64(len(x))
		}
		if steps != nil {
			step = steps[i]
		}
		if start < 0 {
			start = max(start, -x[axis]) + x[axis]
		}
		if step < 0 {
			start = min(start, x[axis]-1)
		}
		s.from += min(start, x[axis]) * each[axis]
		s.in[axis] = each[axis] * step
	}
	return b.move(in[0], out[0], s)
}

// axisOf resolves an axis that counts from the end where it is negative.
func axisOf(n *graph.Node, def int64, rank int) (int, bool) {
	a := n.Attrs.Int("axis", def)
	if a < 0 {
		a += int64(rank)
	}
	return int(a), a >= 0 && a < int64(rank)
}

func makeConcat(b *builder, n *graph.Node, in, out []*value) bool {
	y := out[0].shape
	axis, ok := axisOf(n, 1, len(y))
	if !ok {
		return false
	}
	steps := stepsOf(y)
	at := int64(0)
	for _, x := range in {
		s := strided{dims: x.shape, in: stepsOf(x.shape), out: steps, to: at * steps[axis]}
		if x.dtype != out[0].dtype || !b.move(x, out[0], s) {
			return false
		}
		at += x.shape[axis]
	}
	return true
}

func makeSplit(b *builder, n *graph.Node, in, out []*value) bool {
	x := in[0].shape
	axis, ok := axisOf(n, 0, len(x))
	if !ok {
		return false
	}
	steps := stepsOf(x)
	at := int64(0)
	for _, y := range out {
		if !y.present() {
			return false
		}
		s := strided{dims: y.shape, in: steps, out: stepsOf(y.shape), from: at * steps[axis]}
		if !b.move(in[0], y, s) {
			return false
		}
		at += y.shape[axis]
	}
	return true
}

// makeGather picks along one axis by a list of indices that the device holds.
func makeGather(b *builder, n *graph.Node, in, out []*value) bool {
	x, idx, y := in[0], in[1], out[0]
	axis, ok := axisOf(n, 0, len(x.shape))
	word := wordNames[x.dtype.Bits()]
	if !ok || word == "" || idx.dtype != tensor.Int64 && idx.dtype != tensor.Int32 {
		return false
	}
	if y.count() == 0 {
		return true
	}
	extent := x.shape[axis]
	if idx.data == nil || !within(idx.data, extent) {
		// What the device is told only then could lie outside.
		return false
	}
	dims := []int64{product(x.shape[:axis]), idx.count(), product(x.shape[axis+1:])}
	c := newCode(b.d)
	c.operand("p", word, x.at, false)
	c.read("at", idx)
	c.operand("y", word, y.at, true)
	w := b.walk(c, dims)
	c.num("extent", extent)
	w.open(c)
	c.f("int k = (int)at[c1]; if (k < 0) k += extent;")
	c.f("y[lin] = p[(c0 * extent + k) * d2 + x];")
	w.close(c)
	b.tasks = append(b.tasks, c.task())
	return true
}

// within reports whether all indices are of an axis of so many elements.
func within(t *tensor.Tensor, extent int64) bool {
	ok := func(i int64) bool { return i >= -extent && i < extent }
	if t.DType() == tensor.Int32 {
		return !slices.ContainsFunc(tensor.Cast[int32](t.Bytes()), func(i int32) bool { return !ok(int64(i)) })
	}
	return !slices.ContainsFunc(tensor.Cast[int64](t.Bytes()), func(i int64) bool { return !ok(i) })
}

// makePad copies what is inside, and fills the rest.
func makePad(b *builder, n *graph.Node, in, out []*value) bool {
	x, y := in[0], out[0]
	rank := len(x.shape)
	pads, ok1 := listOf(n, "pads", in, 1)
	axes, ok2 := listOf(n, "axes", in, 3)
	mode := n.Attrs.Str("mode", "constant")
	if !ok1 || !ok2 || x.dtype != tensor.Float32 || rank == 0 || mode == "wrap" || x.count() == 0 {
		return false
	}
	begin := make([]int64, rank)
	for i := range len(pads) / 2 {
		a := int64(i)
		if axes != nil {
			a = axes[i]
		}
		if a < 0 {
			a += int64(rank)
		}
		begin[a] = pads[i]
		if mode != "constant" && (max(pads[i], pads[i+len(pads)/2]) >= x.shape[a] && mode == "reflect" ||
			min(pads[i], pads[i+len(pads)/2]) < 0) {
			return false
		}
	}
	if y.count() == 0 {
		return true
	}
	fill := float(n.Attrs.Float("value", 0))
	c := newCode(b.d)
	c.read("p", x)
	if len(in) > 2 && in[2].present() {
		c.read("fill", in[2])
		fill = "fill[0]"
	}
	c.write("y", y)
	w := b.walk(c, y.shape)
	w.open(c)
	padSource(c, x.shape, begin, mode, fill)
	w.close(c)
	b.tasks = append(b.tasks, c.task())
	return true
}

// padSource writes the element that an output's element is a copy of.
func padSource(c *code, shape, begin []int64, mode, fill string) {
	rank := len(shape)
	c.f("int at = 0, inside = 1;")
	for i, n := range shape {
		name := coordinate(i, rank)
		c.f("{ int n = %d, k = %s - (%d);", n, name, begin[i])
		switch mode {
		case "edge":
			c.f("k = clamp(k, 0, n - 1);")
		case "reflect":
			c.f("k = abs(k); if (k >= n) k = 2 * (n - 1) - k;")
		default:
			c.f("inside = inside && k >= 0 && k < n;")
		}
		c.f("at = at * n + k; }")
	}
	c.f("y[lin] = inside ? p[at] : %s;", fill)
}

// coordinate names a walk's coordinate.
func coordinate(i, rank int) string {
	if i == rank-1 {
		return "x"
	}
	return "c" + string(rune('0'+i))
}
