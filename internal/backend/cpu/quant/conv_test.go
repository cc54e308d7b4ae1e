package quant

import (
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// convCase is a random convolution.
type convCase struct {
	x, w  tensor.Shape
	attrs graph.Attrs
}

func randomConv(r *rand.Rand) convCase {
	var c convCase
	groups, ins, outs := 1+r.Int64N(3), 1+r.Int64N(9), 1+r.Int64N(9)
	switch r.IntN(4) {
	case 0:
		groups, ins, outs = 1+r.Int64N(20), 1, 1+r.Int64N(2)
	case 1:
		groups, ins, outs = 1, 1+r.Int64N(70), 1+r.Int64N(70)
	}
	spatial := 1 + r.IntN(2)
	c.x, c.w = tensor.Shape{1 + r.Int64N(2), groups * ins}, tensor.Shape{groups * outs, ins}
	var strides, pads, dilations []int64
	for range spatial {
		kernel, dilation := 1+r.Int64N(4), 1+r.Int64N(2)
		c.w = append(c.w, kernel)
		c.x = append(c.x, (kernel-1)*dilation+1+r.Int64N(40))
		strides, dilations = append(strides, 1+r.Int64N(3)), append(dilations, dilation)
	}
	for range 2 * spatial {
		pads = append(pads, r.Int64N(3))
	}
	for name, v := range map[string][]int64{"strides": strides, "pads": pads, "dilations": dilations} {
		if r.IntN(4) > 0 {
			c.attrs = append(c.attrs, graph.Attr{Name: name, Kind: graph.AttrInts, Ints: v})
		}
	}
	c.attrs = append(c.attrs, graph.Attr{Name: "group", Kind: graph.AttrInt, Int: groups})
	return c
}

func TestConvIntegerIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 150 {
		c := randomConv(r)
		x, w := types[r.IntN(2)], types[r.IntN(2)]
		in := []*tensor.Tensor{octets(r, x, c.x...), octets(r, w, c.w...), nil, nil}
		if r.IntN(2) == 0 {
			in[2] = octets(r, x)
		}
		switch r.IntN(3) {
		case 0:
			in[3] = octets(r, w)
		case 1:
			in[3] = octets(r, w, c.w[0])
		}
		checkConstant(t, ConvInteger, node("ConvInteger", 1, c.attrs...), in)
	}
}

func TestQLinearConvIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for range 150 {
		c := randomConv(r)
		x, w, y := types[r.IntN(2)], types[r.IntN(2)], types[r.IntN(2)]
		in := []*tensor.Tensor{octets(r, x, c.x...), floats(r, 0.001, 0.1), octets(r, x), octets(r, w, c.w...),
			floats(r, 0.001, 0.1, c.w[0]), octets(r, w, c.w[0]), floats(r, 0.01, 1), octets(r, y)}
		if r.IntN(2) == 0 {
			in[4], in[5] = floats(r, 0.001, 0.1), octets(r, w)
		}
		if r.IntN(2) == 0 {
			b := make([]int32, c.w[0])
			for i := range b {
				b[i] = int32(r.Uint32()) >> 18
			}
			in = append(in, tensor.Must(tensor.Shape{c.w[0]}, b))
		}
		checkConstant(t, QLinearConv, node("QLinearConv", 1, c.attrs...), in)
	}
}

func TestWeightsThatAreNotKnownAreLeftToOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	in := []*tensor.Tensor{octets(r, tensor.Uint8, 1, 3, 5, 5), octets(r, tensor.Int8, 4, 3, 3, 3)}
	o, _ := twin.Prepare(t, node("ConvInteger", 1), in, func(int) bool { return false })
	if cs, err := ConvInteger(0, o); err != nil || len(cs) > 0 {
		t.Errorf("got %d kernels and error %v, want none", len(cs), err)
	}
}
