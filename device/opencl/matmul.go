package opencl

import (
	"fmt"
	"strings"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

func makeMatMul(b *builder, n *graph.Node, in, out []*value) bool {
	return matMul(b, n, in, out[0], nil)
}

// matMul makes numpy's product; batches are all of one extent or 1.
func matMul(b *builder, _ *graph.Node, in []*value, out *value, t *tail) bool {
	as, bs := in[0].shape, in[1].shape
	if len(as) < 2 || len(bs) < 2 || in[0].dtype != tensor.Float32 || in[1].dtype != tensor.Float32 {
		return false
	}
	m, k, n := as[len(as)-2], as[len(as)-1], bs[len(bs)-1]
	ab, bb := product(as[:len(as)-2]), product(bs[:len(bs)-2])
	batch := max(ab, bb)
	if batch*m*n != out.count() || ab != 1 && ab != batch || bb != 1 && bb != batch {
		return false
	}
	if bb == 1 && ab > 1 {
		// One right side: the batches are more rows.
		m, batch, ab = m*ab, 1, 1
	}
	a := matrix{v: in[0], down: k, across: 1}
	if ab > 1 {
		a.batch = m * k
	}
	p := matrix{v: in[1], down: n, across: 1}
	if bb > 1 {
		p.batch = k * n
	}
	g := &gemm{m: m, n: n, k: k, batch: batch, a: a, y: out, scale: 1, tail: t}
	return b.multiply(g, p, bb, [3]int64{batch, m, n})
}

// multiply packs the right side and multiplies by it; dims are those of the result as batches, rows and
// columns, to which the operands of a tail are broadcast.
func (b *builder) multiply(g *gemm, p matrix, batches int64, dims [3]int64) bool {
	if g.m*g.n*g.batch == 0 {
		return true
	}
	if g.k == 0 || !g.place(dims) {
		return false
	}
	mark := b.scratch
	panels, size := b.panelsOf(batches, g.k, g.n)
	if panels.at.bytes > maxScratch {
		return false
	}
	if g.panels = panels; batches > 1 {
		g.panelBatch = size
	}
	if t := p.v.data; t != nil && p.first == 0 {
		// Constants are packed once, by the host.
		b.scratch = mark
		how := fmt.Sprintf("%s %p %v"+strings.Repeat(" %d", 7), prefix, b.d, b.d.tile(), batches, g.k, g.n, size, p.batch,
			p.down, p.across)
		panels.at = b.consts.Get(t, how, func() any {
			return b.fixed(func() []byte { return packed(t, p, batches, g.k, g.n, size, b.d.tile().columns()) }, 4*batches*size)
		}).(operand)
		b.stripe(g)
		return b.product(g)
	}
	b.pack(p, batches, g.k, g.n, panels, size)
	b.stripe(g)
	return b.product(g)
}

// stripe packs the left side for a processor, where that is worth it: rows that are a power of two apart
// push each other out of the caches.
func (b *builder) stripe(g *gemm) {
	t := b.d.tile()
	if !b.d.id.cpu || g.m < 2*t.rows || g.n < t.columns() {
		return
	}
	size := (g.m + t.rows - 1) / t.rows * t.rows * g.k
	batches := int64(1)
	if g.a.batch > 0 {
		batches = g.batch
	}
	// The transpose of the left side in panels as wide as a tile is high.
	x := matrix{v: g.a.v, first: g.a.first, batch: g.a.batch, down: g.a.across, across: g.a.down}
	v := &value{dtype: tensor.Float32, shape: tensor.Shape{batches * size}}
	if d := g.a.v.data; d != nil && x.first == 0 {
		how := fmt.Sprintf("%s %p strips"+strings.Repeat(" %d", 8), prefix, b.d, t.rows, batches, g.k, g.m, size, x.batch,
			x.down, x.across)
		v.at = b.consts.Get(d, how, func() any {
			return b.fixed(func() []byte { return packed(d, x, batches, g.k, g.m, size, t.rows) }, 4*batches*size)
		}).(operand)
	} else {
		v = b.temp(tensor.Float32, v.shape)
		b.packWide(x, batches, g.k, g.m, v, size, t.rows)
	}
	g.a = matrix{v: v}
	if g.strips = true; batches > 1 {
		g.a.batch = size
	}
}

// packed does on the host what pack's task does.
func packed(t *tensor.Tensor, x matrix, batch, k, n, size, nr int64) []byte {
	src := tensor.Cast[float32](t.Bytes())
	dst := make([]float32, batch*size)
	for b := range batch {
		for c := range n {
			at := dst[b*size+c/nr*nr*k+c%nr:]
			for r := range k {
				at[r*nr] = src[b*x.batch+r*x.down+c*x.across]
			}
		}
	}
	return bytesOf(dst)
}

// maxScratch bounds the bytes of packed operands.
const maxScratch = 512 << 20

// place finds the steps of a tail's operands through a result of the given dimensions; false where
// they are not as regular as that.
func (g *gemm) place(dims [3]int64) bool {
	if g.tail == nil {
		return true
	}
	g.extra = map[int]matrix{}
	shape := g.tail.reads[g.tail.from].shape
	for _, i := range g.tail.order() {
		if i == g.tail.from {
			continue
		}
		v := g.tail.reads[i]
		x, ok := alongside(v.shape, shape, dims)
		if !ok {
			return false
		}
		x.v = v
		g.extra[i] = x
	}
	return true
}

// alongside returns the steps of an operand that is broadcast to shape, where shape is seen as
// batches, rows and columns.
func alongside(s, shape tensor.Shape, dims [3]int64) (x matrix, ok bool) {
	sp, ok := spreadOf(shape, []tensor.Shape{s})
	if !ok {
		return x, false
	}
	// Walk the joined dimensions from the innermost on, and cut them at the three.
	d := len(sp.dims) - 1
	left := int64(1)
	if d >= 0 {
		left = sp.dims[d]
	}
	step := int64(0)
	if d >= 0 {
		step = sp.steps[0][d]
	}
	var got [3]int64
	for k := 2; k >= 0; k-- {
		need := dims[k]
		if need == 1 {
			continue
		}
		if left == 1 {
			if d--; d < 0 {
				return x, false
			}
			left, step = sp.dims[d], sp.steps[0][d]
		}
		got[k] = step
		for need > 1 {
			switch {
			case left%need == 0:
				left /= need
				step *= need
				need = 1
			case need%left == 0 && d > 0 && sp.steps[0][d-1] == step*left:
				need /= left
				d--
				left, step = sp.dims[d], sp.steps[0][d]
			default:
				return x, false
			}
		}
	}
	return matrix{batch: got[0], down: got[1], across: got[2]}, true
}

func makeGemm(b *builder, n *graph.Node, in, out []*value) bool {
	return gemmNode(b, n, in, out[0], nil)
}

// gemmNode makes the operator Gemm.
func gemmNode(b *builder, n *graph.Node, in []*value, out *value, t *tail) bool {
	if in[0].dtype != tensor.Float32 || len(in[0].shape) != 2 || len(in[1].shape) != 2 {
		return false
	}
	m, nn := out.shape[0], out.shape[1]
	g := &gemm{m: m, n: nn, batch: 1, y: out, tail: t, scale: n.Attrs.Float("alpha", 1),
		biasScale: n.Attrs.Float("beta", 1)}
	g.a = matrix{v: in[0], down: in[0].shape[1], across: 1}
	g.k = in[0].shape[1]
	if n.Attrs.Int("transA", 0) != 0 {
		g.k = in[0].shape[0]
		g.a.down, g.a.across = 1, m
	}
	p := matrix{v: in[1], down: nn, across: 1}
	if n.Attrs.Int("transB", 0) != 0 {
		p.down, p.across = 1, g.k
	}
	dims := [3]int64{1, m, nn}
	if len(in) > 2 && in[2].present() {
		x, ok := alongside(in[2].shape, out.shape, dims)
		if !ok {
			return false
		}
		x.v = in[2]
		g.bias = x
	}
	return b.multiply(g, p, 1, dims)
}
