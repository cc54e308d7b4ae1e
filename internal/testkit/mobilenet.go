package testkit

import (
	"fmt"

	"github.com/stowage-ml/stowage/tensor"
)

// MobileNet describes a network of inverted residual blocks (Sandler et al., "MobileNetV2:
// inverted residuals and linear bottlenecks", 2018), as PyTorch's exporter writes it: input
// [batch,3,H,W], output [batch,Classes].
type MobileNet struct {
	Stages []MobileStage
	// Stem and Head are the channels of the first and the last convolution.
	Stem, Head int64
	Classes    int64
	// Size is the input's height and width.
	Size int64
	Seed uint64
}

// MobileStage is Blocks blocks with Out channels, of which the first has the stride; inside a
// block there are Expand times as many channels.
type MobileStage struct {
	Expand, Out, Blocks, Stride int64
}

// MobileNetV2 is the network of width 1 for 1000 classes at 224×224.
func MobileNetV2(seed uint64) *Model {
	return MobileNet{
		Stages: []MobileStage{{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1},
			{6, 160, 3, 2}, {6, 320, 1, 1}},
		Stem: 32, Head: 1280, Classes: 1000, Size: 224, Seed: seed,
	}.Model()
}

// Model builds the network.
func (c MobileNet) Model() *Model {
	b := newNet(13, c.Seed)
	b.Name = "mobilenet"
	x := b.Input("input", tensor.Float32, "batch", 3, c.Size, c.Size)
	x = b.convRelu6("features.0", x, convSpec{3, c.Stem, 3, 2, 1})
	in, index := c.Stem, 1
	for _, s := range c.Stages {
		for i := range s.Blocks {
			stride := int64(1)
			if i == 0 {
				stride = s.Stride
			}
			x = b.invertedResidual(fmt.Sprintf("features.%d", index), x, in, s.Expand, s.Out, stride)
			in = s.Out
			index++
		}
	}
	x = b.convRelu6(fmt.Sprintf("features.%d", index), x, convSpec{in, c.Head, 1, 1, 1})
	x = b.op("", "GlobalAveragePool", []string{x})
	x = b.op("", "Flatten", []string{x}, Int("axis", 1))
	b.gemm("classifier.1", x, "output", c.Head, c.Classes)
	b.Output("output", tensor.Float32, "batch", c.Classes)
	return b.Model
}

// convRelu6 adds a convolution, its normalisation and a rectifier that stops at 6.
func (b *net) convRelu6(param, x string, c convSpec) string {
	x = b.conv(param+".0", x, c)
	x = b.batchNorm(param+".1", x, c.out, 1)
	module := modulePath(param + ".2")
	lo := b.constant(module, "min", tensor.Scalar[float32](0))
	hi := b.constant(module, "max", tensor.Scalar[float32](6))
	return b.op(module, "Clip", []string{x, lo, hi})
}

func (b *net) invertedResidual(param, x string, in, expand, out, stride int64) string {
	y, mid, at := x, in*expand, 0
	if expand != 1 {
		y = b.convRelu6(fmt.Sprintf("%s.conv.%d", param, at), y, convSpec{in, mid, 1, 1, 1})
		at++
	}
	y = b.convRelu6(fmt.Sprintf("%s.conv.%d", param, at), y, convSpec{mid, mid, 3, stride, mid})
	y = b.conv(fmt.Sprintf("%s.conv.%d", param, at+1), y, convSpec{mid, out, 1, 1, 1})
	y = b.batchNorm(fmt.Sprintf("%s.conv.%d", param, at+2), y, out, 0.7)
	if stride == 1 && in == out {
		y = b.op(modulePath(param), "Add", []string{x, y})
	}
	return y
}
