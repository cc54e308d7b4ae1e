package testkit

import (
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/stowage-ml/stowage/tensor"
)

// net builds a network whose weights follow from a seed. Each weight has a random stream of its
// own, chosen by its name, so that its values do not depend on what else the network holds.
type net struct {
	*Model
	seed uint64
}

func newNet(opset int64, seed uint64) *net {
	return &net{Model: NewModel(opset), seed: seed}
}

// fillFloats returns a filler of n float32 values that next draws.
func (b *net) fillFloats(name string, n int64, next func(*rand.Rand) float32) func(io.Writer) error {
	h := fnv.New64a()
	io.WriteString(h, name)
	stream := h.Sum64()
	return func(w io.Writer) error {
		r := rand.New(rand.NewPCG(b.seed, stream))
		buf := make([]float32, min(n, 1<<14))
		for left := n; left > 0; left -= int64(len(buf)) {
			buf = buf[:min(left, int64(len(buf)))]
			for i := range buf {
				buf[i] = next(r)
			}
			if _, err := w.Write(tensor.Of(buf...).Bytes()); err != nil {
				return err
			}
		}
		return nil
	}
}

func (b *net) floats(name string, next func(*rand.Rand) float32, dims ...int64) string {
	n, _ := tensor.Shape(dims).Elements()
	return b.InitLazy(name, tensor.Float32, dims, b.fillFloats(name, n, next))
}

// normal adds weights drawn from a normal distribution.
func (b *net) normal(name string, mean, std float64, dims ...int64) string {
	return b.floats(name, func(r *rand.Rand) float32 { return float32(mean + float64(std*r.NormFloat64())) }, dims...)
}

// uniform adds weights drawn evenly from [lo, hi).
func (b *net) uniform(name string, lo, hi float64, dims ...int64) string {
	return b.floats(name, func(r *rand.Rand) float32 { return float32(lo + float64((hi-lo)*r.Float64())) }, dims...)
}

// op adds a node named as PyTorch's exporter names it: the module's path, then the operator.
func (b *net) op(module, op string, in []string, parts ...Part) string {
	name := module + "/" + op
	return b.Node(op, in, append(parts, Named(name), Outs(name+"_output_0"))...)
}

// constant adds a Constant node to a module.
func (b *net) constant(module, what string, t *tensor.Tensor) string {
	name := module + "/Constant_" + what
	return b.Const(t, Named(name), Outs(name+"_output_0"))
}

// convSpec is a two-dimensional convolution without a bias.
type convSpec struct {
	in, out, kernel, stride, group int64
}

// conv adds a convolution that keeps the extents but for the stride, its weights scaled so that
// the activations keep their magnitude through a rectifier (He et al., "Delving deep into
// rectifiers", 2015).
func (b *net) conv(param, x string, c convSpec) string {
	fan := float64(c.in / c.group * c.kernel * c.kernel)
	w := b.normal(param+".weight", 0, math.Sqrt(2/fan), c.out, c.in/c.group, c.kernel, c.kernel)
	p := c.kernel / 2
	return b.op(modulePath(param), "Conv", []string{x, w}, Ints("dilations", 1, 1), Int("group", c.group),
		Ints("kernel_shape", c.kernel, c.kernel), Ints("pads", p, p, p, p), Ints("strides", c.stride, c.stride))
}

// batchNorm adds a normalisation in inference mode whose scale is about gamma.
func (b *net) batchNorm(param, x string, channels int64, gamma float64) string {
	in := []string{
		x,
		b.uniform(param+".weight", 0.8*gamma, 1.2*gamma, channels),
		b.normal(param+".bias", 0, 0.1, channels),
		b.normal(param+".running_mean", 0, 0.1, channels),
		b.uniform(param+".running_var", 0.7, 1.3, channels),
	}
	return b.op(modulePath(param), "BatchNormalization", in, Float("epsilon", 1e-5), Float("momentum", 0.9))
}

// gemm adds a fully connected layer whose weights lie [out, in].
func (b *net) gemm(param, x, output string, in, out int64) {
	w := b.normal(param+".weight", 0, math.Sqrt(1/float64(in)), out, in)
	bias := b.normal(param+".bias", 0, 0.05, out)
	b.Node("Gemm", []string{x, w, bias}, Named(modulePath(param)+"/Gemm"), Outs(output),
		Float("alpha", 1), Float("beta", 1), Int("transB", 1))
}

// modulePath turns a parameter's dotted prefix into the path that an exporter makes of it:
// "layer1.0.conv1" becomes "/layer1/layer1.0/conv1".
func modulePath(param string) string {
	path, last := "", ""
	for part := range strings.SplitSeq(param, ".") {
		if part != "" && part[0] >= '0' && part[0] <= '9' && last != "" {
			last += "." + part
		} else {
			last = part
		}
		path += "/" + last
	}
	return path
}
