package opencl

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// window is how the window of a convolution or pool moves along one axis.
type window struct{ in, kernel, out, begin, stride, dilation int64 }

// windowsOf returns the windows of both axes of an image; a signal is an image of one row.
func windowsOf(axes []op.Axis, err error) (w [2]window, ok bool) {
	if err != nil || len(axes) < 1 || len(axes) > 2 {
		return w, false
	}
	w[0] = window{1, 1, 1, 0, 1, 1}
	for i := range axes {
		a := &axes[i]
		x := &w[2-len(axes)+i]
		for _, f := range []struct {
			to   *int64
			from graph.Dim
		}{{&x.in, a.In}, {&x.kernel, a.Kernel}, {&x.out, a.Out}, {&x.begin, a.Begin}} {
			if *f.to, ok = f.from.Int(); !ok {
				return w, false
			}
		}
		x.stride, x.dilation = a.Stride, a.Dilation
	}
	return w, true
}

// conv is a convolution of images.
type conv struct {
	b               *builder
	x, w, bias, y   *value
	h, v            window
	n, group        int64
	ins, outs       int64
	transposed      bool
	tail            *tail
	insEach, outsOf int64
}

// newConv reads a convolution; false where there is no kernel for it.
func newConv(b *builder, n *graph.Node, in []*value, out *value, t *tail) (*conv, bool) {
	x, w := in[0], in[1]
	if x.dtype != tensor.Float32 || w.dtype != tensor.Float32 || len(x.shape) < 3 || len(w.shape) != len(x.shape) {
		return nil, false
	}
	k := &conv{b: b, x: x, w: w, bias: &value{}, y: out, n: x.shape[0], ins: x.shape[1], outs: out.shape[1],
		group: n.Attrs.Int("group", 1), tail: t, transposed: n.Op == "ConvTranspose"}
	windows := op.Windows
	if k.transposed {
		windows = op.TransposedWindows
	}
	axes, ok := windowsOf(windows(n.Attrs, graph.Of(x.shape[2:]...), graph.Of(w.shape[2:]...)))
	if !ok {
		return nil, false
	}
	if k.v, k.h = axes[0], axes[1]; len(in) > 2 && in[2].present() {
		k.bias = in[2]
	}
	k.insEach, k.outsOf = k.ins/k.group, k.outs/k.group
	return k, x.count() > 0 && w.count() > 0
}

func makeConv(b *builder, n *graph.Node, in, out []*value) bool {
	return convolve(b, n, in, out[0], nil)
}

// convolve makes a convolution: directly where each output channel has one input channel, as a product
// of matrices elsewhere.
func convolve(b *builder, n *graph.Node, in []*value, out *value, t *tail) bool {
	k, ok := newConv(b, n, in, out, t)
	if !ok {
		return false
	}
	if out.count() == 0 {
		return true
	}
	if k.transposed || k.insEach == 1 && k.group > 1 {
		return k.direct()
	}
	return k.product()
}

// direct makes the kernel whose items sum up each output's window.
func (k *conv) direct() bool {
	c := newCode(k.b.d)
	c.read("p", k.x)
	c.read("w", k.w)
	if k.bias.present() {
		c.read("bias", k.bias)
	}
	shape := tensor.Shape{k.n, k.outs, k.v.out, k.h.out}
	names, at, ok := k.b.tailOperands(c, k.tail, shape)
	if !ok {
		return false
	}
	c.write("y", k.y)
	w := k.b.walk(c, shape)
	for i := range names {
		at[names[i]] = w.load(c, i, at[names[i]], k.tail, names[i], shape)
	}
	for _, num := range []struct {
		name string
		n    int64
	}{{"ih", k.v.in}, {"iw", k.h.in}, {"ph", k.v.begin}, {"pw", k.h.begin}, {"ins", k.ins}, {"each", k.insEach},
		{"outs_of", k.outsOf}} {
		c.num(num.name, num.n)
	}
	w.open(c)
	c.f("float s = %s;", map[bool]string{true: "bias[c1]", false: "0.0f"}[k.bias.present()])
	if k.transposed {
		k.transposedSum(c)
	} else {
		k.depthSum(c)
	}
	if !storeTail(c, k.tail, names, at, "y[lin]") {
		return false
	}
	w.close(c)
	k.b.tasks = append(k.b.tasks, c.task())
	return true
}

// depthSum writes the sum over the window of one input channel.
func (k *conv) depthSum(c *code) {
	kh, kw := k.v.kernel, k.h.kernel
	c.f("__global const float *q = p + (c0 * ins + c1 / outs_of) * ih * iw, *u = w + c1 * %d;", kh*kw)
	c.f("int iy0 = c2 * %d - ph, ix0 = x * %d - pw;", k.v.stride, k.h.stride)
	c.f("for (int i = 0; i < %d; i++) { int iy = iy0 + i * %d; if (iy < 0 || iy >= ih) continue;", kh, k.v.dilation)
	c.f("for (int j = 0; j < %d; j++) { int ix = ix0 + j * %d;", kw, k.h.dilation)
	c.f("if (ix >= 0 && ix < iw) s = fma(q[iy * iw + ix], u[i * %d + j], s); } }", kw)
}

// transposedSum writes the sum over the input elements that reach an output element.
func (k *conv) transposedSum(c *code) {
	kh, kw := k.v.kernel, k.h.kernel
	c.f("int g = c1 / outs_of, o = c1 %% outs_of;")
	c.f("for (int i = 0; i < %d; i++) { int iy = c2 + ph - i * %d; if (iy < 0 || iy %% %d != 0) continue; iy /= %d;", kh,
		k.v.dilation, k.v.stride, k.v.stride)
	c.f("if (iy >= ih) continue; for (int j = 0; j < %d; j++) { int ix = x + pw - j * %d;", kw, k.h.dilation)
	c.f("if (ix < 0 || ix %% %d != 0) continue; ix /= %d; if (ix >= iw) continue;", k.h.stride, k.h.stride)
	c.f("for (int e = 0; e < each; e++) { int ch = g * each + e;")
	c.f("s = fma(p[((c0 * ins + ch) * ih + iy) * iw + ix], w[((ch * outs_of + o) * %d + i) * %d + j], s); } } }", kh, kw)
}

// tailOperands adds the operands of a tail beside the anchor's result. The texts are set by load.
func (b *builder) tailOperands(c *code, t *tail, shape tensor.Shape) (names []int, at map[int]string, ok bool) {
	at = map[int]string{}
	if t == nil {
		return nil, at, true
	}
	at[t.from] = "s"
	for _, i := range t.order() {
		if i == t.from {
			continue
		}
		c.read(fmt.Sprintf("e%d", len(names)), t.reads[i])
		names = append(names, i)
	}
	return names, at, true
}

// load is the text of a tail's operand's element at a walk's place. The shape of images stands for that
// of signals too, whose row is one.
func (w *walk) load(c *code, k int, _ string, t *tail, i int, shape tensor.Shape) string {
	s := t.reads[i].shape
	if full := t.reads[t.from].shape; len(full) == 3 && len(s) > 0 {
		s = append(append(tensor.Shape{}, s[:len(s)-1]...), 1, s[len(s)-1])
	}
	steps := make([]int64, len(shape))
	step := int64(1)
	for j := len(s) - 1; j >= 0; j-- {
		if d := len(shape) - len(s) + j; s[j] != 1 {
			steps[d] = step
		}
		step *= s[j]
	}
	return fmt.Sprintf("e%d[%s]", k, w.index(c, fmt.Sprintf("e%d", k), steps))
}

// storeTail applies a tail to s and stores the result.
func storeTail(c *code, t *tail, names []int, at map[int]string, to string) bool {
	if t == nil {
		c.f("%s = s;", to)
		return true
	}
	first, load := loads(names, at, t.reads)
	load[t.from] = "s"
	lines, result, ok := t.lines(load)
	if !ok || result.dtype != tensor.Float32 {
		return false
	}
	for _, l := range append(first, lines...) {
		c.f("%s", l)
	}
	c.f("%s = %s;", to, result.text)
	return true
}

// product makes the convolution as one product for each image: the weights by the windows, which are
// packed as columns.
func (k *conv) product() bool {
	kh, kw := k.v.kernel, k.h.kernel
	depth, pixels := k.insEach*kh*kw, k.v.out*k.h.out
	panels, size := k.b.panelsOf(k.group, depth, pixels)
	if panels.at.bytes > maxScratch {
		return false
	}
	plain := kh*kw == 1 && k.v.stride*k.h.stride == 1 && k.v.in == k.v.out && k.h.in == k.h.out && k.v.begin == 0 &&
		k.h.begin == 0
	g := &gemm{tail: k.tail}
	if !g.place([3]int64{k.n, k.outs, pixels}) {
		return false
	}
	var strips matrix
	striped := false
	for i := range k.n {
		first := i * k.ins * k.v.in * k.h.in
		if plain {
			k.b.pack(matrix{v: k.x, first: first, batch: k.insEach * pixels, down: pixels, across: 1}, k.group, depth, pixels,
				panels, size)
		} else {
			k.columns(first, panels, size)
		}
		p := &gemm{m: k.outsOf, n: pixels, k: depth, batch: k.group, panels: panels, panelBatch: size, y: k.y,
			first: i * k.outs * pixels, scale: 1, biasScale: 1, tail: k.tail, extra: map[int]matrix{}}
		p.a = matrix{v: k.w, batch: k.outsOf * depth, down: depth, across: 1}
		if i == 0 {
			k.b.stripe(p)
			strips, striped = p.a, p.strips
		}
		p.a, p.strips = strips, striped
		if k.bias.present() {
			p.bias = matrix{v: k.bias, batch: k.outsOf, down: 1}
		}
		for j, x := range g.extra {
			x.first = i * x.batch
			x.batch = x.down * k.outsOf
			p.extra[j] = x
		}
		if !k.b.product(p) {
			return false
		}
	}
	return true
}

// columns adds the task that packs the windows of one image.
func (k *conv) columns(first int64, panels *value, size int64) {
	kh, kw := k.v.kernel, k.h.kernel
	depth, pixels := k.insEach*kh*kw, k.v.out*k.h.out
	nr := k.b.d.tile().columns()
	c := newCode(k.b.d)
	c.read("p", k.x)
	c.write("y", panels)
	for _, num := range []struct {
		name string
		n    int64
	}{{"first", first}, {"n", pixels}, {"k", depth}, {"size", size}, {"each", k.insEach}, {"ih", k.v.in}, {"iw", k.h.in},
		{"ow", k.h.out}, {"ph", k.v.begin}, {"pw", k.h.begin}} {
		c.num(num.name, num.n)
	}
	const run = 64
	c.grid([3]int64{(depth + run - 1) / run, (pixels + nr - 1) / nr, k.group}, [3]int64{1, 1, 1}, 3)
	c.f("int r0 = get_global_id(0) * %d, r1 = min(k, r0 + %d);", run, run)
	c.f("int c0 = get_global_id(1) * %d, b = get_global_id(2);", nr)
	c.f("p += first + b * each * ih * iw; y += b * size + c0 * k;")
	c.f("int iy[%d], ix[%d];", nr, nr)
	c.f("for (int j = 0; j < %d; j++) { int at = c0 + j; int far = at >= n; int oy = at / ow;", nr)
	c.f("iy[j] = far ? -(1 << 28) : oy * %d - ph; ix[j] = (at - oy * ow) * %d - pw; }", k.v.stride, k.h.stride)
	c.f("for (int r = r0; r < r1; r++) {")
	c.f("int ch = r / %d, e = r - ch * %d;", kh*kw, kh*kw)
	c.f("int dy = e / %d * %d, dx = e %% %d * %d;", kw, k.v.dilation, kw, k.h.dilation)
	c.f("__global const float *q = p + ch * ih * iw;")
	c.f("#pragma clang loop vectorize(assume_safety)\nfor (int j = 0; j < %d; j++) {", nr)
	c.f("int h = iy[j] + dy, w = ix[j] + dx;")
	c.f("int inside = h >= 0 && h < ih && w >= 0 && w < iw;")
	c.f("float f = q[inside ? h * iw + w : 0]; y[r * %d + j] = inside ? f : 0.0f; } }", nr)
	k.b.tasks = append(k.b.tasks, c.task())
}

// makePool makes MaxPool and AveragePool.
func makePool(b *builder, n *graph.Node, in, out []*value) bool {
	x, y := in[0], out[0]
	if x.dtype != tensor.Float32 || len(out) > 1 && out[1].present() || len(x.shape) < 3 {
		return false
	}
	axes, ok := windowsOf(op.Windows(n.Attrs, graph.Of(x.shape[2:]...), graph.Of(n.Attrs.Ints("kernel_shape", nil)...)))
	if !ok {
		return false
	}
	if y.count() == 0 {
		return true
	}
	if x.count() == 0 {
		return false
	}
	v, h := axes[0], axes[1]
	c := newCode(b.d)
	c.read("p", x)
	c.write("y", y)
	w := b.walk(c, []int64{x.shape[0] * x.shape[1], v.out, h.out})
	for _, num := range []struct {
		name string
		n    int64
	}{{"ih", v.in}, {"iw", h.in}, {"ph", v.begin}, {"pw", h.begin}, {"sh", v.stride}, {"sw", h.stride}} {
		c.num(num.name, num.n)
	}
	most := n.Op == "MaxPool"
	var pads [4]int64
	if p := n.Attrs.Ints("pads", nil); len(p) == 4 {
		copy(pads[:], p)
	} else if len(p) == 2 {
		pads[1], pads[3] = p[0], p[1]
	}
	auto := n.Attrs.Str("auto_pad", "NOTSET")
	if !most && n.Attrs.Int("count_include_pad", 0) != 0 && auto != "NOTSET" && auto != "" && auto != "VALID" {
		return false
	}
	c.num("eh", v.in+pads[2])
	c.num("ew", h.in+pads[3])
	w.open(c)
	c.f("__global const float *q = p + c0 * ih * iw; int iy0 = c1 * sh - ph, ix0 = x * sw - pw, count = 0;")
	c.f("float s = %s;", map[bool]string{true: "-INFINITY", false: "0.0f"}[most])
	c.f("for (int i = 0; i < %d; i++) { int iy = iy0 + i * %d;", v.kernel, v.dilation)
	c.f("for (int j = 0; j < %d; j++) { int ix = ix0 + j * %d; if (iy >= 0 && iy < ih && ix >= 0 && ix < iw) {", h.kernel,
		h.dilation)
	switch {
	case most:
		c.f("s = st_max(s, q[iy * iw + ix]); } } }\ny[lin] = s;")
	case n.Attrs.Int("count_include_pad", 0) != 0:
		c.f("s += q[iy * iw + ix]; } if (iy < eh && ix < ew) count++; } }\ny[lin] = s / count;")
	default:
		c.f("s += q[iy * iw + ix]; count++; } } }\ny[lin] = s / count;")
	}
	w.close(c)
	b.tasks = append(b.tasks, c.task())
	return true
}
