package cost

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
)

// pace is how long slow code takes, in ns for each operation and for each byte, at a scalar rate of
// usualScalar.
type pace struct{ flop, byte float64 }

// usualScalar is the scalar rate of usual processors, in operations per ns.
const usualScalar = 0.5

// usual is the pace of operators that slowPace does not list.
var usual = pace{flop: 0.4, byte: 0.05}

// slowPace is the pace of the reference kernels, by operator: loops that index every operand anew
// for each element. It was found by calibrating models.
var slowPace = map[string]pace{
	"Conv":               {flop: 0.15},
	"ConvTranspose":      {flop: 0.3},
	"ConvInteger":        {flop: 0.2},
	"QLinearConv":        {flop: 0.2},
	"MatMul":             {flop: 0.15},
	"Gemm":               {flop: 0.2},
	"MatMulInteger":      {flop: 0.2},
	"QLinearMatMul":      {flop: 0.2},
	"LSTM":               {flop: 0.15},
	"GRU":                {flop: 0.15},
	"RNN":                {flop: 0.15},
	"MaxPool":            {flop: 2},
	"AveragePool":        {flop: 2},
	"BatchNormalization": {flop: 0.05, byte: 0.03},
	"Clip":               {flop: 0.8},
	"LeakyRelu":          {flop: 3},
	"Max":                {flop: 8},
	"Min":                {flop: 8},
	"Sum":                {flop: 5},
	"Resize":             {flop: 0.7, byte: 0.15},
}

// paceOf returns the pace of an operator; that of a group is its first member's that does most of the
// work, a convolution or a product.
func paceOf(n *graph.Node) pace {
	if n.Domain == "" {
		if p, ok := slowPace[n.Op]; ok {
			return p
		}
		return usual
	}
	for _, b := range n.Bodies() {
		for _, m := range b.Nodes {
			switch m.Op {
			case "Conv", "ConvTranspose", "MatMul", "Gemm", "MatMulInteger", "ConvInteger":
				return slowPace[m.Op]
			}
		}
	}
	return usual
}

// slow estimates code that says nothing of its rates, which one worker runs.
func (r *Rates) slow(n *graph.Node, w op.Work) float64 {
	p := paceOf(n)
	bytes := max(w.Bytes, 0)
	return max((max(w.FLOPs, 0)*p.flop+bytes*p.byte)*usualScalar/r.Scalar, bytes/r.stream(bytes, 1))
}
