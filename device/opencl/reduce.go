package opencl

import (
	"fmt"
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// reduction is how the elements of a slice become one: from start, by step of s and the element f, to
// what finish makes of s and the count n.
type reduction struct{ start, step, finish string }

var reductions = map[string]reduction{
	"ReduceSum":       {"0.0f", "s += f;", "s"},
	"ReduceMean":      {"0.0f", "s += f;", "s / n"},
	"ReduceMax":       {"-INFINITY", "s = st_max(s, f);", "s"},
	"ReduceMin":       {"INFINITY", "s = st_min(s, f);", "s"},
	"ReduceProd":      {"1.0f", "s *= f;", "s"},
	"ReduceL1":        {"0.0f", "s += fabs(f);", "s"},
	"ReduceL2":        {"0.0f", "s = fma(f, f, s);", "sqrt(s)"},
	"ReduceSumSquare": {"0.0f", "s = fma(f, f, s);", "s"},
	"ReduceLogSum":    {"0.0f", "s += f;", "log(s)"},
}

// makeReduce reduces the axes, which lie side by side once those of one element are left out.
func makeReduce(b *builder, n *graph.Node, in, out []*value) bool {
	x := in[0]
	list, ok := listOf(n, "axes", in, 1)
	if !ok || x.dtype != tensor.Float32 {
		return false
	}
	axes, err := op.ReduceAxes(n, list, len(x.shape))
	if err != nil || len(axes) == 0 {
		return false
	}
	return b.reduce(reductions[n.Op], x, out[0], axes)
}

// makeGlobalPool reduces all axes behind the channels.
func makeGlobalPool(b *builder, n *graph.Node, in, out []*value) bool {
	var axes []int
	for i := 2; i < len(in[0].shape); i++ {
		axes = append(axes, i)
	}
	r := reductions["ReduceMean"]
	if n.Op == "GlobalMaxPool" {
		r = reductions["ReduceMax"]
	}
	return in[0].dtype == tensor.Float32 && len(axes) > 0 && b.reduce(r, in[0], out[0], axes)
}

// reduce adds the task: an item reduces one slice.
func (b *builder) reduce(r reduction, x, y *value, axes []int) bool {
	var kept, gone []int64
	var keptSteps, goneSteps []int64
	for i, step := range stepsOf(x.shape) {
		if slices.Contains(axes, i) {
			gone, goneSteps = append(gone, x.shape[i]), append(goneSteps, step)
		} else {
			kept, keptSteps = append(kept, x.shape[i]), append(keptSteps, step)
		}
	}
	k := strided{dims: kept, in: keptSteps, out: stepsOf(kept)}
	k.join()
	g := strided{dims: gone, in: goneSteps, out: stepsOf(gone)}
	g.join()
	if y.count() == 0 {
		return true
	}
	if len(g.dims) > 3 || product(g.dims) == 0 {
		return false
	}
	c := newCode(b.d)
	c.read("p", x)
	c.write("y", y)
	w := b.walk(c, k.dims)
	c.num("n", product(g.dims))
	at := w.index(c, "p", k.in)
	w.open(c)
	c.f("float s = %s; int base = %s;", r.start, at)
	for i := range g.dims {
		c.num(fmt.Sprintf("g%d", i), g.dims[i])
		c.num(fmt.Sprintf("t%d", i), g.in[i])
		c.f("for (int i%d = 0; i%d < g%d; i%d++)", i, i, i, i)
	}
	c.f("{ int e = base;")
	for i := range g.dims {
		c.f("e += i%d * t%d;", i, i)
	}
	c.f("float f = p[e]; %s }\ny[lin] = %s;", r.step, r.finish)
	w.close(c)
	b.tasks = append(b.tasks, c.task())
	return true
}

// rows adds the numbers and the loop over rows of n elements that are step apart: a kernel's item does
// one, which starts at element base.
func (b *builder) rows(c *code, outer, n, inner int64) {
	c.num("n", n)
	c.num("inner", inner)
	c.num("rows", outer*inner)
	local := int64(1)
	if !b.d.id.cpu {
		local = 64
	}
	c.grid([3]int64{outer * inner}, [3]int64{local}, 1)
	c.f("int row = get_global_id(0); if (row >= rows) return;")
	c.f("int lo = row %% inner, base = (row - lo) * n + lo;")
}

// makeSoftmax makes Softmax and LogSoftmax: an item does one row, and reads each element before it
// writes the one in its place.
func makeSoftmax(b *builder, n *graph.Node, in, out []*value) bool {
	x := in[0]
	axis, err := op.SoftmaxAxis(n, len(x.shape))
	if err != nil || x.dtype != tensor.Float32 || len(x.shape) == 0 {
		return false
	}
	outer, extent, inner := product(x.shape[:axis]), int64(1), int64(1)
	switch {
	case n.Version >= 13:
		extent, inner = x.shape[axis], product(x.shape[axis+1:])
	case axis < len(x.shape):
		extent = product(x.shape[axis:])
	}
	if x.count() == 0 {
		return true
	}
	c := newCode(b.d)
	c.read("p", x)
	c.write("y", out[0])
	b.rows(c, outer, extent, inner)
	c.f("float top = -INFINITY, s = 0.0f;")
	c.f("for (int i = 0; i < n; i++) top = st_max(top, p[base + i * inner]);")
	if n.Op == "LogSoftmax" {
		c.f("for (int i = 0; i < n; i++) s += exp(p[base + i * inner] - top);")
		c.f("s = log(s); for (int i = 0; i < n; i++) y[base + i * inner] = p[base + i * inner] - top - s;")
	} else {
		c.f("for (int i = 0; i < n; i++) { float e = exp(p[base + i * inner] - top); s += e; y[base + i * inner] = e; }")
		c.f("s = 1.0f / s; for (int i = 0; i < n; i++) y[base + i * inner] *= s;")
	}
	b.tasks = append(b.tasks, c.task())
	return true
}

// makeLayerNorm makes LayerNormalization without its further outputs, and RMSNormalization.
func makeLayerNorm(b *builder, n *graph.Node, in, out []*value) bool {
	x := in[0]
	axis, ok := axisOf(n, -1, len(x.shape))
	if !ok || x.dtype != tensor.Float32 || len(out) > 1 {
		return false
	}
	extent := product(x.shape[axis:])
	if x.count() == 0 {
		return true
	}
	c := newCode(b.d)
	c.read("p", x)
	c.read("scale", in[1])
	bias := ""
	if in[1].dtype != tensor.Float32 || in[1].count() != extent {
		return false
	}
	if len(in) > 2 && in[2].present() {
		if in[2].count() != extent {
			return false
		}
		c.read("bias", in[2])
		bias = " + bias[i]"
	}
	c.write("y", out[0])
	b.rows(c, product(x.shape[:axis]), extent, 1)
	c.f("float mean = 0.0f, s = 0.0f;")
	if n.Op == "LayerNormalization" {
		c.f("for (int i = 0; i < n; i++) mean += p[base + i];\nmean /= n;")
	}
	c.f("for (int i = 0; i < n; i++) { float d = p[base + i] - mean; s = fma(d, d, s); }")
	c.f("s = 1.0f / sqrt(s / n + %s);", float(n.Attrs.Float("epsilon", 1e-5)))
	c.f("for (int i = 0; i < n; i++) y[base + i] = (p[base + i] - mean) * s * scale[i]%s;", bias)
	b.tasks = append(b.tasks, c.task())
	return true
}

// makeInstanceNorm normalises each channel of each image.
func makeInstanceNorm(b *builder, n *graph.Node, in, out []*value) bool {
	x := in[0]
	if x.dtype != tensor.Float32 || len(x.shape) < 3 {
		return false
	}
	if x.count() == 0 {
		return true
	}
	c := newCode(b.d)
	c.read("p", x)
	c.read("scale", in[1])
	c.read("bias", in[2])
	c.write("y", out[0])
	b.rows(c, x.shape[0]*x.shape[1], product(x.shape[2:]), 1)
	c.num("channels", x.shape[1])
	c.f("float mean = 0.0f, s = 0.0f; int ch = row %% channels;")
	c.f("for (int i = 0; i < n; i++) mean += p[base + i];\nmean /= n;")
	c.f("for (int i = 0; i < n; i++) { float d = p[base + i] - mean; s = fma(d, d, s); }")
	c.f("s = scale[ch] / sqrt(s / n + %s);", float(n.Attrs.Float("epsilon", 1e-5)))
	c.f("for (int i = 0; i < n; i++) y[base + i] = (p[base + i] - mean) * s + bias[ch];")
	b.tasks = append(b.tasks, c.task())
	return true
}

// makeBatchNorm applies given statistics.
func makeBatchNorm(b *builder, n *graph.Node, in, out []*value) bool {
	x := in[0]
	if x.dtype != tensor.Float32 || len(x.shape) < 2 || len(out) > 1 || n.Attrs.Int("training_mode", 0) != 0 ||
		in[1].count() != x.shape[1] || in[1].dtype != tensor.Float32 || in[3].dtype != tensor.Float32 {
		return false
	}
	if x.count() == 0 {
		return true
	}
	c := newCode(b.d)
	c.read("p", x)
	for i, name := range []string{"scale", "bias", "mean", "variance"} {
		c.read(name, in[i+1])
	}
	c.write("y", out[0])
	w := b.walk(c, []int64{x.shape[0], x.shape[1], product(x.shape[2:])})
	channel := "c1"
	w.open(c)
	c.f("y[lin] = (p[lin] - mean[%[1]s]) * (scale[%[1]s] / sqrt(variance[%[1]s] + %[2]s)) + bias[%[1]s];", channel,
		float(n.Attrs.Float("epsilon", 1e-5)))
	w.close(c)
	b.tasks = append(b.tasks, c.task())
	return true
}
