package ref

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// noise returns a tensor of small whole numbers, so that sums do not depend on their order.
func noise(seed uint64, shape ...int64) *tensor.Tensor {
	r := rand.New(rand.NewPCG(seed, 1))
	data := make([]float32, count(shape))
	for i := range data {
		data[i] = float32(r.IntN(17) - 8)
	}
	return ten(shape, data...)
}

// f32 returns the elements of a float32 tensor.
func f32(x *tensor.Tensor) []float32 { return tensor.Cast[float32](x.Bytes()) }

// as converts a float32 tensor to another floating-point type.
func as(dt tensor.DType, x *tensor.Tensor) *tensor.Tensor {
	out, err := tensor.Zeros(dt, x.Shape())
	if err != nil {
		panic(err)
	}
	for i, v := range f32(x) {
		setFloat(dt, out.Bytes(), i, float64(v))
	}
	return out
}

// convCase is a convolution with every list of attributes spelled out.
type convCase struct {
	x, w                     tensor.Shape
	strides, dilations, pads []int64
	group                    int64
	bias                     bool
}

func (c *convCase) String() string {
	return fmt.Sprintf("x%v w%v s%v d%v p%v g%d bias=%v", c.x, c.w, c.strides, c.dilations, c.pads, c.group, c.bias)
}

func (c *convCase) node(op string) *graph.Node {
	return node(op, attrInts("strides", c.strides...), attrInts("dilations", c.dilations...),
		attrInts("pads", c.pads...), attrInt("group", c.group))
}

// flat returns the row-major number of a position, and whether the position is inside.
func flat(shape tensor.Shape, at ...int64) (n int64, inside bool) {
	for i, d := range shape {
		if at[i] < 0 || at[i] >= d {
			return 0, false
		}
		n = n*d + at[i]
	}
	return n, true
}

// positions yields every position of a shape in row-major order. The caller must not keep it.
func positions(shape tensor.Shape) func(func([]int64) bool) {
	return func(yield func([]int64) bool) {
		at := make([]int64, len(shape))
		for range count(shape) {
			if !yield(at) {
				return
			}
			for i := len(at) - 1; i >= 0; i-- {
				if at[i]++; at[i] < shape[i] {
					break
				}
				at[i] = 0
			}
		}
	}
}

// naiveConv sums over channels and taps for each output element, as the definition says.
func naiveConv(c *convCase, x, w, b *tensor.Tensor, out tensor.Shape) *tensor.Tensor {
	var y []float32
	per := c.w[0] / c.group
	for o := range positions(out) {
		sum := float32(0)
		if b != nil {
			sum = f32(b)[o[1]]
		}
		for k := range positions(c.w[1:]) {
			at := []int64{o[0], o[1]/per*c.w[1] + k[0]}
			for i := range c.strides {
				at = append(at, o[2+i]*c.strides[i]-c.pads[i]+k[1+i]*c.dilations[i])
			}
			wi, _ := flat(c.w, append([]int64{o[1]}, k...)...)
			if xi, ok := flat(c.x, at...); ok {
				sum += f32(x)[xi] * f32(w)[wi]
			}
		}
		y = append(y, sum)
	}
	return ten(out, y...)
}

// naiveConvTranspose adds each input element times its weights to the outputs that it reaches.
func naiveConvTranspose(c *convCase, x, w, b *tensor.Tensor, out tensor.Shape) *tensor.Tensor {
	y := make([]float32, count(out))
	for o := range positions(out) {
		if b != nil {
			i, _ := flat(out, o...)
			y[i] = f32(b)[o[1]]
		}
	}
	per := c.w[0] / c.group
	for p := range positions(c.x) {
		for k := range positions(c.w[1:]) {
			at := []int64{p[0], p[1]/per*c.w[1] + k[0]}
			for i := range c.strides {
				at = append(at, p[2+i]*c.strides[i]-c.pads[i]+k[1+i]*c.dilations[i])
			}
			xi, _ := flat(c.x, p...)
			wi, _ := flat(c.w, append([]int64{p[1]}, k...)...)
			if oi, ok := flat(out, at...); ok {
				y[oi] += f32(x)[xi] * f32(w)[wi]
			}
		}
	}
	return ten(out, y...)
}

func convCases() []convCase {
	one := []int64{1, 1}
	return []convCase{
		{sh(1, 1, 5, 5), sh(1, 1, 3, 3), one, one, []int64{1, 1, 1, 1}, 1, false},
		{sh(2, 3, 7, 9), sh(4, 3, 3, 2), []int64{2, 3}, one, []int64{0, 1, 2, 3}, 1, true},
		{sh(1, 4, 6, 5), sh(6, 2, 1, 1), one, one, []int64{0, 0, 0, 0}, 2, true},
		{sh(1, 4, 6, 5), sh(6, 2, 1, 1), []int64{2, 2}, one, []int64{0, 0, 0, 0}, 2, true},
		{sh(1, 6, 9, 8), sh(6, 1, 3, 3), one, []int64{2, 3}, []int64{2, 2, 2, 2}, 6, true},
		{sh(3, 2, 4), sh(3, 2, 3), []int64{1}, []int64{1}, []int64{4, 4}, 1, false},
		{sh(1, 2, 700), sh(5, 2, 4), []int64{3}, []int64{2}, []int64{1, 0}, 1, true},
		{sh(1, 5, 30, 31), sh(7, 5, 3, 3), one, one, []int64{1, 1, 1, 1}, 1, true},
		{sh(1, 2, 4, 5, 6), sh(4, 1, 2, 3, 2), []int64{1, 2, 2}, []int64{2, 1, 1}, []int64{1, 0, 1, 0, 2, 1}, 2, true},
		{sh(1, 1, 2, 2), sh(1, 1, 3, 3), one, one, []int64{5, 5, 5, 5}, 1, false},
		{sh(0, 3, 4, 4), sh(2, 3, 3, 3), one, one, []int64{1, 1, 1, 1}, 1, true},
		{sh(1, 0, 4, 4), sh(2, 0, 3, 3), one, one, []int64{1, 1, 1, 1}, 1, true},
	}
}

func TestConvIsTheDefinition(t *testing.T) {
	for _, c := range convCases() {
		t.Run(c.String(), func(t *testing.T) {
			x, w := noise(1, c.x...), noise(2, c.w...)
			in := []*tensor.Tensor{x, w}
			var b *tensor.Tensor
			if c.bias {
				b = noise(3, c.w[0])
				in = append(in, b)
			}
			got := runNode(t, c.node("Conv"), in...)[0]
			want := naiveConv(&c, x, w, b, got.Shape())
			same(t, got, want, 0)
			for _, dt := range []tensor.DType{tensor.Float64, tensor.Float16, tensor.BFloat16} {
				conv := make([]*tensor.Tensor, len(in))
				for i := range in {
					conv[i] = as(dt, in[i])
				}
				same(t, runNode(t, c.node("Conv"), conv...)[0], as(dt, want), 0)
			}
		})
	}
}

func TestConvTransposeIsTheDefinition(t *testing.T) {
	one := []int64{1, 1}
	for _, c := range []convCase{
		{sh(1, 1, 3, 3), sh(1, 1, 3, 3), one, one, []int64{0, 0, 0, 0}, 1, false},
		{sh(2, 3, 4, 5), sh(3, 2, 3, 2), []int64{2, 3}, one, []int64{1, 0, 0, 1}, 1, true},
		{sh(1, 4, 4, 5), sh(4, 3, 2, 2), []int64{2, 2}, one, []int64{0, 0, 0, 0}, 2, true},
		{sh(1, 4, 4, 5), sh(4, 1, 3, 3), []int64{1, 2}, []int64{2, 2}, []int64{2, 1, 1, 2}, 4, true},
		{sh(1, 2, 300), sh(2, 3, 4), []int64{3}, []int64{2}, []int64{1, 0}, 1, true},
		{sh(1, 2, 3, 2, 3), sh(2, 2, 2, 3, 2), []int64{1, 2, 2}, []int64{1, 1, 2}, []int64{0, 1, 0, 0, 0, 1}, 1, true},
		{sh(1, 2, 30, 20), sh(2, 64, 2, 2), []int64{2, 2}, one, []int64{0, 0, 0, 0}, 1, true},
		{sh(1, 0, 3, 3), sh(0, 2, 2, 2), one, one, []int64{0, 0, 0, 0}, 1, true},
	} {
		t.Run(c.String(), func(t *testing.T) {
			x, w := noise(1, c.x...), noise(2, c.w...)
			in := []*tensor.Tensor{x, w}
			var b *tensor.Tensor
			if c.bias {
				b = noise(3, c.w[1]*c.group)
				in = append(in, b)
			}
			got := runNode(t, c.node("ConvTranspose"), in...)[0]
			same(t, got, naiveConvTranspose(&c, x, w, b, got.Shape()), 0)
		})
	}
}

func TestConvPadsAutomatically(t *testing.T) {
	for _, c := range []struct {
		mode        string
		in, k, s, d int64
		want        int64
		begin, end  int64
	}{
		{"VALID", 7, 3, 2, 1, 3, 0, 0},
		{"SAME_UPPER", 7, 3, 2, 1, 4, 1, 1},
		{"SAME_UPPER", 8, 3, 2, 1, 4, 0, 1},
		{"SAME_LOWER", 8, 3, 2, 1, 4, 1, 0},
		{"SAME_LOWER", 8, 3, 1, 2, 8, 2, 2},
		{"SAME_UPPER", 4, 1, 2, 1, 2, 0, 0},
	} {
		x, w := noise(1, 1, 1, c.in), noise(2, 1, 1, c.k)
		step := []graph.Attr{attrInts("strides", c.s), attrInts("dilations", c.d)}
		auto := runNode(t, node("Conv", append(step, attrStr("auto_pad", c.mode))...), x, w)[0]
		if got := auto.Shape()[2]; got != c.want {
			t.Errorf("%s of %d by %d: got %d windows, want %d", c.mode, c.in, c.k, got, c.want)
			continue
		}
		plain := runNode(t, node("Conv", append(step, attrInts("pads", c.begin, c.end))...), x, w)[0]
		for i, v := range f32(auto) {
			if v != f32(plain)[i] {
				t.Errorf("%s of %d by %d: window %d: got %v, want %v", c.mode, c.in, c.k, i, v, f32(plain)[i])
			}
		}
	}
}

func TestConvTransposeCropsToItsShape(t *testing.T) {
	x, w := ten(sh(1, 1, 3), 1, 2, float32(3)), ten(sh(1, 1, 3), 1, 10, float32(100))
	two := attrInts("strides", 2)
	for _, c := range []struct {
		name string
		attr []graph.Attr
		want []float32
	}{
		{"all", nil, []float32{1, 10, 102, 20, 203, 30, 300}},
		{"pads", []graph.Attr{attrInts("pads", 1, 2)}, []float32{10, 102, 20, 203}},
		{"output_padding", []graph.Attr{attrInts("output_padding", 1)}, []float32{1, 10, 102, 20, 203, 30, 300, 0}},
		{"output_shape cuts more before", []graph.Attr{attrInts("output_shape", 6)}, []float32{10, 102, 20, 203, 30, 300}},
		{"output_shape with SAME_UPPER cuts more after",
			[]graph.Attr{attrInts("output_shape", 6), attrStr("auto_pad", "SAME_UPPER")}, []float32{1, 10, 102, 20, 203, 30}},
		{"output_shape may be larger", []graph.Attr{attrInts("output_shape", 9)}, []float32{1, 10, 102, 20, 203, 30,
			300, 0, 0}},
		{"SAME_LOWER", []graph.Attr{attrStr("auto_pad", "SAME_LOWER")}, []float32{10, 102, 20, 203, 30, 300}},
	} {
		got := runNode(t, node("ConvTranspose", append(c.attr, two)...), x, w)[0]
		t.Run(c.name, func(t *testing.T) { same(t, got, ten(sh(1, 1, int64(len(c.want))), c.want...), 0) })
	}
}

func TestConvRefusesWhatCannotBe(t *testing.T) {
	x, w := noise(1, 1, 4, 5, 5), noise(2, 4, 4, 3, 3)
	for _, c := range []struct {
		name string
		op   string
		attr []graph.Attr
		in   []*tensor.Tensor
	}{
		{"zero stride", "Conv", []graph.Attr{attrInts("strides", 0, 1)}, nil},
		{"strides of another rank", "Conv", []graph.Attr{attrInts("strides", 1)}, nil},
		{"zero dilation", "Conv", []graph.Attr{attrInts("dilations", 0, 1)}, nil},
		{"huge dilation", "Conv", []graph.Attr{attrInts("dilations", 1<<40, 1)}, nil},
		{"negative pads", "Conv", []graph.Attr{attrInts("pads", -1, 0, 0, 0)}, nil},
		{"few pads", "Conv", []graph.Attr{attrInts("pads", 1, 1)}, nil},
		{"unknown auto_pad", "Conv", []graph.Attr{attrStr("auto_pad", "SAME")}, nil},
		{"no group", "Conv", []graph.Attr{attrInt("group", 0)}, nil},
		{"group that does not divide", "Conv", []graph.Attr{attrInt("group", 3)}, nil},
		{"other kernel_shape", "Conv", []graph.Attr{attrInts("kernel_shape", 3, 2)}, nil},
		{"window larger than the input", "Conv", []graph.Attr{attrInts("dilations", 3, 3)}, nil},
		{"other channels", "Conv", nil, []*tensor.Tensor{noise(1, 1, 3, 5, 5), w}},
		{"other rank", "Conv", nil, []*tensor.Tensor{noise(1, 1, 4, 5), w}},
		{"other type", "Conv", nil, []*tensor.Tensor{x, as(tensor.Float64, w)}},
		{"bias of another length", "Conv", nil, []*tensor.Tensor{x, w, noise(3, 5)}},
		{"matrix", "Conv", nil, []*tensor.Tensor{noise(1, 4, 4), noise(1, 4, 4)}},
		{"pads beyond the output", "ConvTranspose", []graph.Attr{attrInts("pads", 9, 0, 0, 0)}, nil},
		{"negative output_padding", "ConvTranspose", []graph.Attr{attrInts("output_padding", -1, 0)}, nil},
		{"negative output_shape", "ConvTranspose", []graph.Attr{attrInts("output_shape", -1, 5)}, nil},
		{"group that does not divide", "ConvTranspose", []graph.Attr{attrInt("group", 3)}, nil},
	} {
		in := c.in
		if in == nil {
			in = []*tensor.Tensor{x, w}
		}
		if out, err := attempt(t, node(c.op, c.attr...), in...); err == nil {
			t.Errorf("%s, %s: got %v, want an error", c.op, c.name, out[0])
		}
	}
}

func BenchmarkConv(b *testing.B) {
	for _, c := range []convCase{
		{sh(1, 3, 320, 320), sh(16, 3, 3, 3), []int64{2, 2}, []int64{1, 1}, []int64{1, 1, 1, 1}, 1, true},
		{sh(1, 96, 80, 80), sh(24, 96, 3, 3), []int64{1, 1}, []int64{1, 1}, []int64{1, 1, 1, 1}, 1, true},
		{sh(1, 64, 80, 80), sh(128, 64, 1, 1), []int64{1, 1}, []int64{1, 1}, []int64{0, 0, 0, 0}, 1, true},
		{sh(1, 64, 160, 160), sh(64, 1, 3, 3), []int64{1, 1}, []int64{1, 1}, []int64{1, 1, 1, 1}, 64, true},
		{sh(1, 256, 7, 7), sh(256, 256, 3, 3), []int64{1, 1}, []int64{1, 1}, []int64{1, 1, 1, 1}, 1, true},
	} {
		b.Run(c.String(), func(b *testing.B) {
			x, w, n := noise(1, c.x...), noise(2, c.w...), c.node("Conv")
			in := []*tensor.Tensor{x, w}
			benchNode(b, n, in)
		})
	}
}

// benchNode runs one node's kernel over and over.
func benchNode(b *testing.B, n *graph.Node, in []*tensor.Tensor) {
	b.Helper()
	row := op.Lookup(n.Domain, n.Op)
	facts, err := infer(n, row, in, true)
	if err != nil {
		b.Fatal(err)
	}
	kernel, scratch, err := prepare(b, n, in, facts, func(int) bool { return true })
	if err != nil {
		b.Fatal(err)
	}
	c, err := newCall(row, scratch, in, facts)
	if err != nil {
		b.Fatal(err)
	}
	ctx := op.Ctx{Node: n, In: make([]op.Fact, len(in)), Out: facts}
	for i := range in {
		ctx.In[i] = op.FactOf(in[i])
	}
	for b.Loop() {
		if err := kernel(c); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(row.Work(&ctx).FLOPs*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
}
