// Package rnn has the CPU's kernels for recurrent networks of float32: LSTM, GRU and RNN. The
// products with the data are one matrix product for all steps; the products with the state, step by
// step, read weights that are transposed once. Directions and parts of a batch run side by side.
// Extents are in elements, scratch memory in bytes.
package rnn

import (
	"strings"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/vec"
	"github.com/stowage-ml/stowage/tensor"
)

// network is a node for known shapes.
type network struct {
	level simd.Level
	fn    *vec.Funcs
	// gates is the number of parts, hidden elements long, of a cell's weights.
	seq, batch, ins, hidden, gates, dirs int
	// batchFirst says that the batch is the outermost dim of the data and the states, reverse that the
	// first direction runs from the end.
	batchFirst, reverse bool
	// resetAfter (GRU) applies the reset gate after the product, coupled (LSTM) makes the forget
	// gate one less the input gate.
	resetAfter, coupled bool
	// clip bounds what goes into an activation; 0 does not.
	clip float32
	// acts are the activations of each direction, in the operator's order.
	acts [2][]activation
	w, r weights
	// width is how many sequences a task takes, tasks how many there are of each direction.
	width, tasks int
	// partBias, partData and partState are the scratch floats for the sums of biases, the products with
	// the data, and the state of one task.
	partBias, partData, partState int
	project, recur                func(c *backend.Call, task, worker int)
}

// activation is a function of one operand with its parameters.
type activation struct {
	f    vec.Unary
	a, b float32
}

// functions lists the activations, by name in lower case: how many parameters they take, and
// those that they have otherwise.
var functions = map[string]struct {
	takes int
	activation
}{
	"relu": {0, activation{vec.Relu, 0, 0}}, "tanh": {0, activation{vec.Tanh, 0, 0}},
	"sigmoid": {0, activation{vec.Sigmoid, 0, 0}}, "softsign": {0, activation{vec.Softsign, 0, 0}},
	"softplus": {0, activation{vec.Softplus, 0, 0}}, "affine": {2, activation{vec.Affine, 1, 0}},
	"hardsigmoid": {2, activation{vec.HardSigmoid, 0.2, 0.5}}, "leakyrelu": {1, activation{vec.LeakyRelu, 0.01, 0}},
	"thresholdedrelu": {1, activation{vec.Threshold, 1, 0}}, "elu": {1, activation{vec.Elu, 1, 1}},
}

// LSTM returns the kernels for LSTM.
func LSTM(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	n := newNetwork(l, o, 4, "sigmoid", "tanh", "tanh")
	if n == nil {
		return nil, nil
	}
	return n.candidates("lstm", o), nil
}

// GRU returns the kernels for GRU.
func GRU(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	n := newNetwork(l, o, 3, "sigmoid", "tanh")
	if n == nil {
		return nil, nil
	}
	return n.candidates("gru", o), nil
}

// RNN returns the kernels for RNN.
func RNN(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	n := newNetwork(l, o, 1, "tanh")
	if n == nil {
		return nil, nil
	}
	return n.candidates("rnn", o), nil
}

// newNetwork describes a node; nil when its types, shapes or activations are none that this package
// has.
func newNetwork(l simd.Level, o *backend.Op, gates int, defaults ...string) *network {
	if len(o.In) < 3 {
		return nil
	}
	for i := range o.In {
		want := tensor.Float32
		if i == 4 {
			want = tensor.Int32
		}
		if a := &o.In[i]; a.Present() && (a.DType != want || a.Shape == nil) {
			return nil
		}
	}
	as := &o.Node.Attrs
	x, w, r := o.In[0].Shape, o.In[1].Shape, o.In[2].Shape
	if len(x) != 3 || len(w) != 3 || len(r) != 3 {
		return nil
	}
	n := &network{level: l, fn: vec.For(l), seq: int(x[0]), batch: int(x[1]), ins: int(x[2]), hidden: int(r[2]),
		gates: gates, dirs: int(r[0]), batchFirst: as.Int("layout", 0) != 0,
		reverse: as.Str("direction", "forward") == "reverse",
		clip:    as.Float("clip", 0), resetAfter: as.Int("linear_before_reset", 0) != 0,
		coupled: as.Int("input_forget", 0) != 0}
	if n.batchFirst {
		n.seq, n.batch = n.batch, n.seq
	}
	all := int64(gates * n.hidden)
	if n.clip < 0 || n.hidden == 0 || w[0] != r[0] || w[1] != all || w[2] != x[2] || r[1] != all ||
		!n.activate(as, defaults) {
		return nil
	}
	n.w = weights{input: 1, rows: gates * n.hidden, cols: n.ins, constant: o.In[1].Const, consts: o.Consts}
	n.r = weights{input: 2, rows: gates * n.hidden, cols: n.hidden, constant: o.In[2].Const, consts: o.Consts}
	return n
}

// activate reads the activations, and reports whether all are known.
func (n *network) activate(as *graph.Attrs, defaults []string) bool {
	names := as.Strs("activations", nil)
	if len(names) == 0 {
		for range n.dirs {
			names = append(names, defaults...)
		}
	}
	if len(names) != n.dirs*len(defaults) || n.dirs > len(n.acts) {
		return false
	}
	alphas, betas := as.Floats("activation_alpha", nil), as.Floats("activation_beta", nil)
	for i, name := range names {
		f, ok := functions[strings.ToLower(name)]
		if !ok {
			return false
		}
		if f.takes > 0 && len(alphas) > 0 {
			f.a, alphas = alphas[0], alphas[1:]
		}
		if f.takes > 1 && len(betas) > 0 {
			f.b, betas = betas[0], betas[1:]
		}
		d := i / len(defaults)
		n.acts[d] = append(n.acts[d], f.activation)
	}
	return true
}

// blockRows is how many rows of the data one task multiplies.
const blockRows = 144

// candidates cuts the work into tasks and returns the kernel.
func (n *network) candidates(name string, o *backend.Op) []backend.Candidate {
	n.width = max(n.batch, 1)
	if share := max(o.Threads, 1) / n.dirs; share > 1 {
		n.width = (n.width + share - 1) / share
	}
	if o.Arg(4).Present() {
		n.width = 1
	}
	n.tasks = (n.batch + n.width - 1) / n.width
	n.w.choose(n.seq * n.batch)
	n.r.choose(0)
	all := n.gates * n.hidden
	n.partBias = roundUp(n.dirs * all)
	n.partData = roundUp(n.dirs * n.seq * n.batch * all)
	n.partState = roundUp(3 * n.width * n.hidden)
	n.project, n.recur = n.runProject, n.runRecur
	floats := n.partBias + n.partData + n.dirs*n.tasks*n.partState
	source := "go"
	if l := n.level; l == simd.AVX2 || l == simd.AVX512 {
		source = l.String()
	}
	return []backend.Candidate{{Name: name, Source: source, Kernel: n.kernel, Scratch: int64(4 * floats), Flops: 0.25,
		Stream: 0.5}}
}

// roundUp makes a number of floats one of whole cache lines.
func roundUp(n int) int { return (n + 15) / 16 * 16 }
