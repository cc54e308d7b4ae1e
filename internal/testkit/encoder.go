package testkit

import (
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/tensor"
)

// Encoder describes a transformer encoder of the BERT family (Devlin et al., 2018), as PyTorch's
// exporter writes it: inputs input_ids, attention_mask and token_type_ids, int64 [batch,seq];
// output last_hidden_state, float32 [batch,seq,Hidden]. The split into heads goes through shape
// arithmetic, the activation is the GELU with the error function.
type Encoder struct {
	Layers              int
	Hidden, Heads, FFN  int64
	Vocab, MaxPositions int64
	// Opset is 13 or later; from 17 on, layer normalisation is one node, before that ten.
	Opset int64
	Seed  uint64
}

// MiniLM is an encoder of the size of MiniLM-L6 (Wang et al., 2020): 6 layers, hidden 384,
// 12 heads, 22.6 million weights.
func MiniLM(opset int64, seed uint64) *Model {
	return Encoder{Layers: 6, Hidden: 384, Heads: 12, FFN: 1536, Vocab: 30522, MaxPositions: 512,
		Opset: opset, Seed: seed}.Model()
}

// encoderNet is an Encoder under construction.
type encoderNet struct {
	*net
	cfg Encoder
	// mask is what is added to every layer's scores.
	mask string
}

// Model builds the network.
func (c Encoder) Model() *Model {
	e := &encoderNet{net: newNet(c.Opset, c.Seed), cfg: c}
	e.Name = "encoder"
	ids := e.Input("input_ids", tensor.Int64, "batch", "seq")
	mask := e.Input("attention_mask", tensor.Int64, "batch", "seq")
	types := e.Input("token_type_ids", tensor.Int64, "batch", "seq")
	e.mask = e.attentionMask(mask)
	x := e.embeddings(ids, types)
	for i := range c.Layers {
		last := ""
		if i == c.Layers-1 {
			last = "last_hidden_state"
		}
		x = e.layer(fmt.Sprintf("encoder.layer.%d", i), x, last)
	}
	e.Output("last_hidden_state", tensor.Float32, "batch", "seq", c.Hidden)
	return e.Model
}

// attentionMask turns the mask of ones and zeros into what is added to the scores: nothing, or
// the smallest float32.
func (e *encoderNet) attentionMask(mask string) string {
	m := e.unsqueeze("/mask", "1", mask, 1)
	m = e.unsqueeze("/mask", "2", m, 2)
	m = e.op("/mask", "Cast", []string{m}, Int("to", int64(tensor.Float32)))
	m = e.op("/mask", "Sub", []string{e.constant("/mask", "one", tensor.Scalar[float32](1)), m})
	return e.op("/mask", "Mul", []string{m, e.constant("/mask", "min", tensor.Scalar[float32](-math.MaxFloat32))})
}

func (e *encoderNet) embeddings(ids, types string) string {
	const mod = "/embeddings"
	table := func(name string, rows int64) string {
		return e.normal("embeddings."+name+".weight", 0, 0.02, rows, e.cfg.Hidden)
	}
	words := e.op(mod+"/word_embeddings", "Gather", []string{table("word_embeddings", e.cfg.Vocab), ids})
	kinds := e.op(mod+"/token_type_embeddings", "Gather", []string{table("token_type_embeddings", 2), types})
	all := make([]int64, e.cfg.MaxPositions)
	for i := range all {
		all[i] = int64(i)
	}
	seq := e.extent(mod, "seq", ids, 1)
	positions := e.op(mod, "Slice", []string{
		e.constant(mod, "position_ids", tensor.Must(tensor.Shape{1, e.cfg.MaxPositions}, all)),
		e.constant(mod, "starts", tensor.Of[int64](0)), seq,
		e.constant(mod, "axes", tensor.Of[int64](1)), e.constant(mod, "steps", tensor.Of[int64](1)),
	})
	pos := table("position_embeddings", e.cfg.MaxPositions)
	pos = e.op(mod+"/position_embeddings", "Gather", []string{pos, positions})
	x := e.op(mod, "Add", []string{words, kinds})
	x = e.op(mod+"/sum", "Add", []string{x, pos})
	return e.layerNorm("embeddings.LayerNorm", x, "")
}

// extent computes one extent of x as a tensor of one element.
func (e *encoderNet) extent(mod, what, x string, axis int64) string {
	mod += "/" + what
	shape := e.op(mod, "Shape", []string{x})
	n := e.op(mod, "Gather", []string{shape, e.constant(mod, "index", tensor.Scalar(axis))}, Int("axis", 0))
	return e.unsqueeze(mod, "", n, 0)
}

func (e *encoderNet) unsqueeze(mod, what, x string, axis int64) string {
	mod += what
	return e.op(mod, "Unsqueeze", []string{x, e.constant(mod, "axes", tensor.Of(axis))})
}

func (e *encoderNet) linear(param, x string, in, out int64) string {
	mod := modulePath(param)
	w := e.normal(param+".weight_transposed", 0, math.Sqrt(1/float64(in)), in, out)
	bias := e.normal(param+".bias", 0, 0.02, out)
	return e.op(mod, "Add", []string{bias, e.op(mod, "MatMul", []string{x, w})})
}

// layer adds attention and feed-forward, each with its residual and normalisation; output names
// the result unless it is empty.
func (e *encoderNet) layer(param, x, output string) string {
	a := e.attention(param+".attention.self", x)
	a = e.linear(param+".attention.output.dense", a, e.cfg.Hidden, e.cfg.Hidden)
	a = e.op(modulePath(param+".attention.output"), "Add", []string{a, x})
	a = e.layerNorm(param+".attention.output.LayerNorm", a, "")
	f := e.linear(param+".intermediate.dense", a, e.cfg.Hidden, e.cfg.FFN)
	f = e.gelu(modulePath(param+".intermediate.intermediate_act_fn"), f)
	f = e.linear(param+".output.dense", f, e.cfg.FFN, e.cfg.Hidden)
	f = e.op(modulePath(param+".output"), "Add", []string{f, a})
	return e.layerNorm(param+".output.LayerNorm", f, output)
}

func (e *encoderNet) attention(param, x string) string {
	mod := modulePath(param)
	q := e.heads(param+".query", x, 0, 2, 1, 3)
	k := e.heads(param+".key", x, 0, 2, 3, 1)
	v := e.heads(param+".value", x, 0, 2, 1, 3)
	scale := e.constant(mod, "scale", tensor.Scalar(float32(math.Sqrt(float64(e.cfg.Hidden/e.cfg.Heads)))))
	s := e.op(mod, "MatMul", []string{q, k})
	s = e.op(mod, "Div", []string{s, scale})
	s = e.op(mod, "Add", []string{s, e.mask})
	s = e.op(mod, "Softmax", []string{s}, Int("axis", -1))
	y := e.op(mod+"/context", "MatMul", []string{s, v})
	y = e.op(mod+"/context", "Transpose", []string{y}, Ints("perm", 0, 2, 1, 3))
	shape := e.op(mod+"/context", "Concat", []string{
		e.extent(mod+"/context", "batch", y, 0), e.extent(mod+"/context", "seq", y, 1),
		e.constant(mod+"/context", "hidden", tensor.Of(e.cfg.Hidden)),
	}, Int("axis", 0))
	return e.op(mod+"/context", "Reshape", []string{y, shape})
}

// heads adds a projection, split into heads and transposed.
func (e *encoderNet) heads(param, x string, perm ...int64) string {
	mod := modulePath(param)
	y := e.linear(param, x, e.cfg.Hidden, e.cfg.Hidden)
	shape := e.op(mod, "Concat", []string{
		e.extent(mod, "batch", y, 0), e.extent(mod, "seq", y, 1),
		e.constant(mod, "heads", tensor.Of(e.cfg.Heads)),
		e.constant(mod, "size", tensor.Of(e.cfg.Hidden/e.cfg.Heads)),
	}, Int("axis", 0))
	y = e.op(mod, "Reshape", []string{y, shape})
	return e.op(mod, "Transpose", []string{y}, Ints("perm", perm...))
}

// gelu adds x · (1 + erf(x/√2)) · ½.
func (e *encoderNet) gelu(mod, x string) string {
	scalar := func(what string, v float64) string { return e.constant(mod, what, tensor.Scalar(float32(v))) }
	y := e.op(mod, "Div", []string{x, scalar("root", math.Sqrt2)})
	y = e.op(mod, "Erf", []string{y})
	y = e.op(mod, "Add", []string{y, scalar("one", 1)})
	y = e.op(mod, "Mul", []string{x, y})
	return e.op(mod+"/half", "Mul", []string{y, scalar("half", 0.5)})
}

func (e *encoderNet) layerNorm(param, x, output string) string {
	const eps = 1e-12
	mod := modulePath(param)
	gamma := e.uniform(param+".weight", 0.9, 1.1, e.cfg.Hidden)
	beta := e.normal(param+".bias", 0, 0.02, e.cfg.Hidden)
	var name Part = func(*node) {}
	if output != "" {
		name = Outs(output)
	}
	if e.cfg.Opset >= 17 {
		return e.named(mod, "LayerNormalization", []string{x, gamma, beta}, name, Int("axis", -1), Float("epsilon", eps))
	}
	mean := e.op(mod, "ReduceMean", []string{x}, Ints("axes", -1), Int("keepdims", 1))
	d := e.op(mod, "Sub", []string{x, mean})
	sq := e.op(mod, "Pow", []string{d, e.constant(mod, "two", tensor.Scalar[float32](2))})
	v := e.op(mod+"/var", "ReduceMean", []string{sq}, Ints("axes", -1), Int("keepdims", 1))
	v = e.op(mod+"/var", "Add", []string{v, e.constant(mod, "eps", tensor.Scalar[float32](eps))})
	v = e.op(mod, "Sqrt", []string{v})
	y := e.op(mod, "Div", []string{d, v})
	y = e.op(mod, "Mul", []string{y, gamma})
	return e.named(mod, "Add", []string{y, beta}, name)
}

// named is op with a last word, in out, on the output's name.
func (e *encoderNet) named(mod, op string, in []string, out Part, parts ...Part) string {
	name := mod + "/" + op
	return e.Node(op, in, append(parts, Named(name), Outs(name+"_output_0"), out)...)
}
