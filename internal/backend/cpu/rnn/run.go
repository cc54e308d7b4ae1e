package rnn

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd/gemm"
	"github.com/stowage-ml/stowage/tensor"
)

// floats returns the elements of an input; nil when it is absent.
func floats(c *backend.Call, i int) []float32 {
	if i < len(c.In) {
		return tensor.Cast[float32](c.In[i].Data)
	}
	return nil
}

// outputs returns the elements of an output; nil when it is absent.
func outputs(c *backend.Call, i int) []float32 {
	if i < len(c.Out) {
		return tensor.Cast[float32](c.Out[i].Data)
	}
	return nil
}

// lengths returns the lengths of the sequences; nil when all have the same.
func lengths(c *backend.Call) []int32 {
	if len(c.In) > 4 {
		return tensor.Cast[int32](c.In[4].Data)
	}
	return nil
}

func (n *network) kernel(c *backend.Call) error {
	if lens := lengths(c); lens != nil {
		for b, length := range lens {
			if length < 0 || int(length) > n.seq {
				return fmt.Errorf("rnn: sequence_lens of sequence %d: got %d, want one in [0, %d]", b, length, n.seq)
			}
		}
		clear(outputs(c, 0))
	}
	n.w.ready(n.level, n.dirs)
	n.r.ready(n.level, n.dirs)
	n.biases(c)
	c.Par(n.dirs*n.blocks(), n.project)
	c.Par(n.dirs*n.tasks, n.recur)
	return nil
}

// blocks returns how many tasks multiply the data with one direction's weights.
func (n *network) blocks() int { return (n.seq*n.batch + blockRows - 1) / blockRows }

// biases adds up both biases of each direction. That of the product which the reset gate multiplies
// stays out.
func (n *network) biases(c *backend.Call) {
	all := n.gates * n.hidden
	sums := tensor.Cast[float32](c.Scratch)[:n.dirs*all]
	b := floats(c, 3)
	if b == nil {
		clear(sums)
		return
	}
	for d := range n.dirs {
		both := all
		if n.gates == 3 && n.resetAfter {
			both = 2 * n.hidden
		}
		w, r, s := b[2*d*all:][:all], b[(2*d+1)*all:][:both], sums[d*all:][:all]
		copy(s, w)
		for i, v := range r {
			s[i] += v
		}
	}
}

// data returns the products of one direction's weights with the data, a row for each of the data's.
func (n *network) data(c *backend.Call, dir int) []float32 {
	size := n.seq * n.batch * n.gates * n.hidden
	return tensor.Cast[float32](c.Scratch)[n.partBias+dir*size:][:size]
}

// runProject multiplies some rows of the data with one direction's weights.
func (n *network) runProject(c *backend.Call, task, _ int) {
	dir, at, all := task/n.blocks(), task%n.blocks()*blockRows, n.gates*n.hidden
	m := gemm.Mul{M: min(blockRows, n.seq*n.batch-at), N: all, LDA: n.ins, LDC: all, Start: gemm.FromCols}
	m.A, m.C = floats(c, 0)[at*n.ins:], n.data(c, dir)[at*all:]
	m.Bias = tensor.Cast[float32](c.Scratch)[dir*all:][:all]
	n.w.set(n.level, c, &m, dir, 0)
	m.Run(n.level)
}

// task is one direction over some sequences.
type task struct {
	n        *network
	c        *backend.Call
	dir      int
	from, m  int
	h, cells []float32
	room     []float32
	peep     []float32
	// bias is what is added to the product that the reset gate multiplies; nil means nothing.
	bias []float32
}

// runRecur runs a task from the first to the last step.
func (n *network) runRecur(c *backend.Call, index, _ int) {
	k := task{n: n, c: c, dir: index / n.tasks, from: index % n.tasks * n.width}
	k.m = min(n.width, n.batch-k.from)
	state := tensor.Cast[float32](c.Scratch)[n.partBias+n.partData+index*n.partState:][:n.partState]
	size := k.m * n.hidden
	k.h, k.cells, k.room = state[:size], state[size:][:size], state[2*size:][:size]
	if p := floats(c, 7); p != nil {
		k.peep = p[3*k.dir*n.hidden:][:3*n.hidden]
	}
	if b := floats(c, 3); b != nil && n.gates == 3 {
		k.bias = b[((2*k.dir+1)*n.gates+2)*n.hidden:][:n.hidden]
	}
	k.begin(5, k.h)
	k.begin(6, k.cells)
	length := n.seq
	if lens := lengths(c); lens != nil {
		length = int(lens[k.from])
	}
	k.steps(length)
	k.end(1, k.h)
	k.end(2, k.cells)
}

// steps runs the first elements of the sequences, or in reverse.
func (k *task) steps(length int) {
	n := k.n
	all, data, y := n.gates*n.hidden, n.data(k.c, k.dir), outputs(k.c, 0)
	ld := all
	if n.batchFirst {
		ld *= n.seq
	}
	for s := range length {
		t := s
		if k.dir == 1 || n.reverse {
			t = length - 1 - s
		}
		gates := data[n.row(t, k.from)*all:]
		switch n.gates {
		case 1:
			k.stepRNN(gates, ld)
		case 3:
			k.stepGRU(gates, ld)
		case 4:
			k.stepLSTM(gates, ld)
		}
		for i := 0; y != nil && i < k.m; i++ {
			copy(y[n.outputAt(t, k.dir, k.from+i):][:n.hidden], k.h[i*n.hidden:])
		}
	}
}

// begin sets the states from an input, or to 0.
func (k *task) begin(input int, state []float32) {
	clear(state)
	if first := floats(k.c, input); first != nil && (input == 5 || k.n.gates == 4) {
		for i := range k.m {
			copy(state[i*k.n.hidden:][:k.n.hidden], first[k.n.stateAt(k.dir, k.from+i):])
		}
	}
}

// end writes the states to an output.
func (k *task) end(output int, state []float32) {
	if y := outputs(k.c, output); y != nil {
		for i := range k.m {
			copy(y[k.n.stateAt(k.dir, k.from+i):][:k.n.hidden], state[i*k.n.hidden:])
		}
	}
}

// row returns which row of the data is step t of sequence b.
func (n *network) row(t, b int) int {
	if n.batchFirst {
		return b*n.seq + t
	}
	return t*n.batch + b
}

// outputAt returns where the output of step t of sequence b in a direction starts.
func (n *network) outputAt(t, dir, b int) int {
	if n.batchFirst {
		return ((b*n.seq+t)*n.dirs + dir) * n.hidden
	}
	return ((t*n.dirs+dir)*n.batch + b) * n.hidden
}

// stateAt returns where the state of sequence b in a direction starts.
func (n *network) stateAt(dir, b int) int {
	if n.batchFirst {
		return (b*n.dirs + dir) * n.hidden
	}
	return (dir*n.batch + b) * n.hidden
}
