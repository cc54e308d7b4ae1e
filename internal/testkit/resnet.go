package testkit

import (
	"fmt"

	"github.com/stowage-ml/stowage/tensor"
)

// ResNet describes a residual network of bottleneck blocks (He et al., "Deep residual learning for
// image recognition", 2015, with the stride in the 3×3 convolution), as PyTorch's exporter writes
// it: input [batch,3,H,W], output [batch,Classes].
type ResNet struct {
	// Blocks is the number of blocks in each stage, Width the channels of the first.
	Blocks  []int
	Width   int64
	Classes int64
	// Size is the input's height and width.
	Size int64
	Seed uint64
}

// ResNet50 is the network of 50 layers for 1000 classes at 224×224.
func ResNet50(seed uint64) *Model {
	return ResNet{Blocks: []int{3, 4, 6, 3}, Width: 64, Classes: 1000, Size: 224, Seed: seed}.Model()
}

// Model builds the network.
func (c ResNet) Model() *Model {
	b := newNet(13, c.Seed)
	b.Name = "resnet"
	x := b.Input("input", tensor.Float32, "batch", 3, c.Size, c.Size)
	x = b.conv("conv1", x, convSpec{3, c.Width, 7, 2, 1})
	x = b.batchNorm("bn1", x, c.Width, 1)
	x = b.op("/relu", "Relu", []string{x})
	x = b.op("/maxpool", "MaxPool", []string{x}, Int("ceil_mode", 0), Ints("kernel_shape", 3, 3),
		Ints("pads", 1, 1, 1, 1), Ints("strides", 2, 2))
	in := c.Width
	for stage, blocks := range c.Blocks {
		width := c.Width << stage
		for i := range blocks {
			stride := int64(1)
			if i == 0 && stage > 0 {
				stride = 2
			}
			x = b.bottleneck(fmt.Sprintf("layer%d.%d", stage+1, i), x, in, width, stride)
			in = 4 * width
		}
	}
	x = b.op("/avgpool", "GlobalAveragePool", []string{x})
	x = b.op("", "Flatten", []string{x}, Int("axis", 1))
	b.gemm("fc", x, "output", in, c.Classes)
	b.Output("output", tensor.Float32, "batch", c.Classes)
	return b.Model
}

// bottleneck adds a block of 1×1, 3×3 and 1×1 convolutions to 4·width channels. The last scale is
// small, so that the sum over many blocks stays small too.
func (b *net) bottleneck(param, x string, in, width, stride int64) string {
	module := modulePath(param)
	y := b.conv(param+".conv1", x, convSpec{in, width, 1, 1, 1})
	y = b.batchNorm(param+".bn1", y, width, 1)
	y = b.op(module+"/relu", "Relu", []string{y})
	y = b.conv(param+".conv2", y, convSpec{width, width, 3, stride, 1})
	y = b.batchNorm(param+".bn2", y, width, 1)
	y = b.op(module+"/relu_1", "Relu", []string{y})
	y = b.conv(param+".conv3", y, convSpec{width, 4 * width, 1, 1, 1})
	y = b.batchNorm(param+".bn3", y, 4*width, 0.3)
	if stride != 1 || in != 4*width {
		x = b.conv(param+".downsample.0", x, convSpec{in, 4 * width, 1, stride, 1})
		x = b.batchNorm(param+".downsample.1", x, 4*width, 0.7)
	}
	x = b.op(module, "Add", []string{y, x})
	return b.op(module+"/relu_2", "Relu", []string{x})
}
