package ref

import (
	"fmt"
	"math"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// small is noise of a size that does not saturate gates.
func small(seed uint64, shape ...int64) *tensor.Tensor {
	x := noise(seed, shape...)
	for i := range f32(x) {
		f32(x)[i] /= 16
	}
	return x
}

// network is the operands of a recurrent node; nil for what is left out.
type network struct {
	op                          string
	seq, batch, ins, hid        int64
	dirs                        int64
	x, w, r, b, lens, h, c, p   *tensor.Tensor
	reverse, resetAfter, couple bool
	clip                        float64
}

func newNetwork(op string, dirs int64, all bool) *network {
	n := &network{op: op, seq: 4, batch: 3, ins: 2, hid: 3, dirs: dirs}
	gates := map[string]int64{"RNN": 1, "GRU": 3, "LSTM": 4}[op]
	n.x, n.w, n.r = small(1, n.seq, n.batch, n.ins), small(2, dirs, gates*n.hid, n.ins), small(3, dirs,
		gates*n.hid, n.hid)
	if all {
		n.b, n.h = small(4, dirs, 2*gates*n.hid), small(5, dirs, n.batch, n.hid)
		n.lens = tensor.Of(int32(4), int32(2), int32(0))
		if op == "LSTM" {
			n.c, n.p = small(6, dirs, n.batch, n.hid), small(7, dirs, 3*n.hid)
		}
	}
	return n
}

func (n *network) inputs() []*tensor.Tensor {
	in := []*tensor.Tensor{n.x, n.w, n.r, n.b, n.lens, n.h}
	if n.op == "LSTM" {
		in = append(in, n.c, n.p)
	}
	return in
}

func sigma(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// gate is one gate's sum for unit j: the products with the data and the state and both biases.
func (n *network) gate(d, g, j, t, b int64, h []float64) (data, state float64) {
	for i := range n.ins {
		data += value(n.x, t, b, i) * value(n.w, d, g*n.hid+j, i)
	}
	for i := range n.hid {
		state += h[i] * value(n.r, d, g*n.hid+j, i)
	}
	if n.b != nil {
		data += value(n.b, d, g*n.hid+j)
		state += value(n.b, d, n.b.Shape()[1]/2+g*n.hid+j)
	}
	return data, state
}

func (n *network) bound(x float64) float64 {
	if n.clip > 0 {
		return max(-n.clip, min(n.clip, x))
	}
	return x
}

func (n *network) sum(d, g, j, t, b int64, h []float64) float64 {
	data, state := n.gate(d, g, j, t, b, h)
	return n.bound(data + state)
}

// next computes the state after step t by the operators' equations.
func (n *network) next(d, t, b int64, h, c []float64) (nh, nc []float64) {
	nh, nc = make([]float64, n.hid), make([]float64, n.hid)
	reset := make([]float64, n.hid)
	for j := range n.hid {
		switch n.op {
		case "RNN":
			nh[j] = math.Tanh(n.sum(d, 0, j, t, b, h))
		case "GRU":
			reset[j] = sigma(n.sum(d, 1, j, t, b, h))
		case "LSTM":
			peep := func(g int64, c float64) float64 {
				if n.p == nil {
					return 0
				}
				return value(n.p, d, g*n.hid+j) * c
			}
			at := func(g int64) float64 { x, s := n.gate(d, g, j, t, b, h); return x + s }
			i := sigma(n.bound(at(0) + peep(0, c[j])))
			f := sigma(n.bound(at(2) + peep(2, c[j])))
			if n.couple {
				f = 1 - i
			}
			nc[j] = f*c[j] + i*math.Tanh(n.bound(at(3)))
			nh[j] = sigma(n.bound(at(1)+peep(1, nc[j]))) * math.Tanh(nc[j])
		}
	}
	if n.op != "GRU" {
		return nh, nc
	}
	rh := make([]float64, n.hid)
	for j := range rh {
		rh[j] = reset[j] * h[j]
	}
	for j := range n.hid {
		z := sigma(n.sum(d, 0, j, t, b, h))
		data, state := n.gate(d, 2, j, t, b, rh)
		if n.resetAfter {
			data, state = n.gate(d, 2, j, t, b, h)
			state *= reset[j]
		}
		nh[j] = (1-z)*math.Tanh(n.bound(data+state)) + z*h[j]
	}
	return nh, nc
}

// want computes all outputs.
func (n *network) want() []*tensor.Tensor {
	y, _ := tensor.Zeros(tensor.Float32, sh(n.seq, n.dirs, n.batch, n.hid))
	yh, _ := tensor.Zeros(tensor.Float32, sh(n.dirs, n.batch, n.hid))
	yc, _ := tensor.Zeros(tensor.Float32, yh.Shape())
	for d := range n.dirs {
		for b := range n.batch {
			h, c, length := make([]float64, n.hid), make([]float64, n.hid), n.seq
			for j := range n.hid {
				if n.h != nil {
					h[j] = value(n.h, d, b, j)
				}
				if n.c != nil {
					c[j] = value(n.c, d, b, j)
				}
			}
			if n.lens != nil {
				length = int64(tensor.Cast[int32](n.lens.Bytes())[b])
			}
			for s := range length {
				t := s
				if d == 1 || n.reverse {
					t = length - 1 - s
				}
				h, c = n.next(d, t, b, h, c)
				for j := range n.hid {
					i, _ := flat(y.Shape(), t, d, b, j)
					f32(y)[i] = float32(h[j])
				}
			}
			for j := range n.hid {
				i, _ := flat(yh.Shape(), d, b, j)
				f32(yh)[i], f32(yc)[i] = float32(h[j]), float32(c[j])
			}
		}
	}
	if n.op == "LSTM" {
		return []*tensor.Tensor{y, yh, yc}
	}
	return []*tensor.Tensor{y, yh}
}

func TestRecurrentNetworksFollowTheirEquations(t *testing.T) {
	for _, op := range []string{"RNN", "GRU", "LSTM"} {
		for _, all := range []bool{false, true} {
			for _, direction := range []string{"forward", "reverse", "bidirectional"} {
				for variant := range 3 {
					n := newNetwork(op, 1, all)
					if direction == "bidirectional" {
						n = newNetwork(op, 2, all)
					}
					n.reverse = direction == "reverse"
					attrs := []graph.Attr{attrStr("direction", direction), attrInt("hidden_size", n.hid)}
					switch {
					case variant == 1 && op == "GRU":
						n.resetAfter = true
						attrs = append(attrs, attrInt("linear_before_reset", 1))
					case variant == 1 && op == "LSTM":
						n.couple = true
						attrs = append(attrs, attrInt("input_forget", 1))
					case variant == 2:
						n.clip = 0.125
						attrs = append(attrs, attrFloat("clip", 0.125))
					}
					t.Run(fmt.Sprint(op, all, direction, variant), func(t *testing.T) {
						want := n.want()
						got := runNode(t, outs(len(want), node(op, attrs...)), n.inputs()...)
						for i := range want {
							same(t, got[i], want[i], 1e-5)
						}
					})
				}
			}
		}
	}
}

// swapped exchanges the first two dims.
func swapped(x *tensor.Tensor, a, b int) *tensor.Tensor {
	if x == nil {
		return nil
	}
	shape := x.Shape().Clone()
	shape[a], shape[b] = shape[b], shape[a]
	return mapIndex(shape, func(at []int64) float64 {
		p := append([]int64{}, at...)
		p[a], p[b] = p[b], p[a]
		return value(x, p...)
	})
}

func TestRecurrentLayoutPutsTheBatchFirst(t *testing.T) {
	for _, op := range []string{"RNN", "GRU", "LSTM"} {
		n := newNetwork(op, 2, true)
		want := n.want()
		in := n.inputs()
		for _, i := range []int{0, 5, 6} {
			if i < len(in) {
				in[i] = swapped(in[i], 0, 1)
			}
		}
		got := runNode(t, outs(len(want), node(op, attrStr("direction", "bidirectional"), attrInt("layout", 1))), in...)
		// [seq, dirs, batch, hidden] becomes [batch, seq, dirs, hidden].
		same(t, got[0], swapped(swapped(want[0], 0, 2), 1, 2), 1e-5)
		for i := 1; i < len(want); i++ {
			same(t, got[i], swapped(want[i], 0, 1), 1e-5)
		}
	}
}

func TestRecurrentActivationsTakeTheirParametersInOrder(t *testing.T) {
	x, w, r := ten(sh(1, 1, 1), float32(2)), ten(sh(2, 1, 1), 1, float32(-1)), ten(sh(2, 1, 1), 0, float32(0))
	n := node("RNN", attrStr("direction", "bidirectional"), attrStrs("activations", "Affine", "leakyrelu"),
		attrFloats("activation_alpha", 3, 0.5), attrFloats("activation_beta", 10))
	same(t, runNode(t, n, x, w, r)[0], ten(sh(1, 2, 1, 1), 16, float32(-1)), 0)
	for _, c := range []struct {
		name string
		x    float32
		want float64
	}{
		{"Relu", -2, 0}, {"Relu", 2, 2}, {"Softsign", -3, -0.75}, {"HardSigmoid", 1, 0.7}, {"HardSigmoid", 9, 1},
		{"Elu", -1, math.Expm1(-1)}, {"Elu", 2, 2}, {"ThresholdedRelu", 0.5, 0}, {"ThresholdedRelu", 1.5, 1.5},
		{"LeakyRelu", -100, -1}, {"Softplus", 0, math.Ln2}, {"ScaledTanh", 1, math.Tanh(1)}, {"Sigmoid", 0, 0.5},
		{"Affine", 4, 4},
	} {
		one := ten(sh(1, 1, 1), float32(1))
		got := runNode(t, node("RNN", attrStrs("activations", c.name)), ten(sh(1, 1, 1), c.x), one, one)[0]
		t.Run(fmt.Sprint(c.name, c.x), func(t *testing.T) { same(t, got, ten(sh(1, 1, 1, 1), float32(c.want)), 1e-6) })
	}
}

func TestRecurrentOutputsMayBeLeftOut(t *testing.T) {
	n := newNetwork("LSTM", 1, false)
	nd := outs(3, node("LSTM"))
	nd.Outputs[0], nd.Outputs[1] = graph.NoValue, graph.NoValue
	same(t, runNode(t, nd, n.inputs()...)[2], n.want()[2], 1e-5)
}

func TestRecurrentNetworksInHalf(t *testing.T) {
	n := newNetwork("GRU", 1, false)
	in := []*tensor.Tensor{as(tensor.Float16, n.x), as(tensor.Float16, n.w), as(tensor.Float16, n.r)}
	same(t, runNode(t, node("GRU"), in...)[0], as(tensor.Float16, n.want()[0]), 1e-3)
}

func TestRecurrentNetworksRefuseWhatCannotBe(t *testing.T) {
	for _, c := range []struct {
		name string
		attr []graph.Attr
		edit func(n *network)
	}{
		{"unknown direction", []graph.Attr{attrStr("direction", "backward")}, nil},
		{"two directions", []graph.Attr{attrStr("direction", "bidirectional")}, nil},
		{"other hidden size", []graph.Attr{attrInt("hidden_size", 4)}, nil},
		{"no hidden size", []graph.Attr{attrInt("hidden_size", 0)}, nil},
		{"unknown activation", []graph.Attr{attrStrs("activations", "Sigmoid", "Tanh", "Swish")}, nil},
		{"few activations", []graph.Attr{attrStrs("activations", "Sigmoid", "Tanh")}, nil},
		{"negative clip", []graph.Attr{attrFloat("clip", -1)}, nil},
		{"unknown layout", []graph.Attr{attrInt("layout", 2)}, nil},
		{"weights of another input", nil, func(n *network) { n.w = small(1, 1, 12, 3) }},
		{"bias of another length", nil, func(n *network) { n.b = small(1, 1, 12) }},
		{"peepholes of another length", nil, func(n *network) { n.p = small(1, 1, 12) }},
		{"longer than the data", nil, func(n *network) { n.lens = tensor.Of(int32(1), int32(5), int32(1)) }},
		{"negative length", nil, func(n *network) { n.lens = tensor.Of(int32(1), int32(-1), int32(1)) }},
		{"lengths of another batch", nil, func(n *network) { n.lens = tensor.Of(int32(1)) }},
		{"another type", nil, func(n *network) { n.r = as(tensor.Float64, n.r) }},
	} {
		n := newNetwork("LSTM", 1, false)
		if c.edit != nil {
			c.edit(n)
		}
		if out, err := attempt(t, node("LSTM", c.attr...), n.inputs()...); err == nil {
			t.Errorf("%s: got %v, want an error", c.name, out[0])
		}
	}
}
