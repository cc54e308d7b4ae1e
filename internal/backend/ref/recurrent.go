package ref

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

var recurrentTypes = []types{floats, floats, floats, floats, setOf(tensor.Int32), floats, floats, floats}

var recurrentKernels = []entry{
	{op: "RNN", types: recurrentTypes, make: checked(asFloat32(makeRNN))},
	{op: "GRU", types: recurrentTypes, make: checked(asFloat32(makeGRU))},
	{op: "LSTM", types: recurrentTypes, make: checked(asFloat32(makeLSTM))},
}

// recurrent is a network of cells that are run over sequences, one sequence at a time.
type recurrent struct {
	seq, batch, ins, hidden int
	// gates is the number of parts, hidden units long, of a cell's weights.
	gates, dirs int
	// batchFirst says that the batch is the outermost dim of the data and the states.
	batchFirst bool
	// reverse says that the first direction runs from the end.
	reverse bool
	// acts are the activations of each direction, in the operator's order.
	acts [2][]activation
	// clip bounds what goes into an activation; 0 does not.
	clip float64
	// resetAfter (GRU) applies the reset gate after the product, not before it.
	resetAfter bool
	// coupled (LSTM) makes the forget gate one less the input gate.
	coupled bool
}

func newRecurrent(o *backend.Op, gates int, defaults ...string) (*recurrent, error) {
	as := &o.Node.Attrs
	x, r := o.In[0].Shape, o.In[2].Shape
	n := &recurrent{seq: int(x[0]), batch: int(x[1]), ins: int(x[2]), hidden: int(r[2]), gates: gates, dirs: int(r[0]),
		batchFirst: as.Int("layout", 0) != 0, reverse: as.Str("direction", "forward") == "reverse",
		clip: float64(as.Float("clip", 0)), resetAfter: as.Int("linear_before_reset", 0) != 0,
		coupled: as.Int("input_forget", 0) != 0}
	if n.batchFirst {
		n.seq, n.batch = n.batch, n.seq
	}
	if n.clip < 0 {
		return nil, fmt.Errorf("clip: got %v, want at least 0", n.clip)
	}
	for i := range o.In {
		if a := &o.In[i]; i != 4 && a.Present() && a.DType != o.In[0].DType {
			return nil, fmt.Errorf("input %d: got %v, want %v like the data", i, a.DType, o.In[0].DType)
		}
	}
	acts, err := activations(as, n.dirs, defaults)
	n.acts = acts
	return n, err
}

func makeRNN(o *backend.Op) (prepared, error) {
	n, err := newRecurrent(o, 1, "Tanh")
	if err != nil {
		return prepared{}, err
	}
	return recurrentKernel(o, n)
}

func makeGRU(o *backend.Op) (prepared, error) {
	n, err := newRecurrent(o, 3, "Sigmoid", "Tanh")
	if err != nil {
		return prepared{}, err
	}
	return recurrentKernel(o, n)
}

func makeLSTM(o *backend.Op) (prepared, error) {
	n, err := newRecurrent(o, 4, "Sigmoid", "Tanh", "Tanh")
	if err != nil {
		return prepared{}, err
	}
	return recurrentKernel(o, n)
}

// cell is one direction's weights and the state of the sequence at hand.
type cell[T wholeFloat] struct {
	net  *recurrent
	acts []activation
	// w, r: [gates, hidden, ins] and [gates, hidden, hidden]. wb, rb and peep may be nil.
	w, r, wb, rb, peep []T
	// h and c are the state, which a step replaces; sums has room for one element a gate and unit,
	// room for one element a unit.
	h, c, sums, room []T
}

func recurrentKernel(o *backend.Op, n *recurrent) (prepared, error) {
	words := (n.gates + 3) * n.hidden
	if o.In[0].DType == tensor.Float64 {
		return prepared{scratch: int64(8 * words), run: func(c *backend.Call) error { return recur[float64](n, c) }}, nil
	}
	return prepared{scratch: int64(4 * words), run: func(c *backend.Call) error { return recur[float32](n, c) }}, nil
}

// recur runs every direction over every sequence.
func recur[T wholeFloat](n *recurrent, call *backend.Call) error {
	scratch, h := tensor.Cast[T](call.Scratch), n.hidden
	for i := range call.Out {
		clear(elems[T](&call.Out[i]))
	}
	for d := range n.dirs {
		c := cell[T]{net: n, acts: n.acts[d], h: scratch[:h], c: scratch[h:][:h], room: scratch[2*h:][:h],
			sums: scratch[3*h:][:n.gates*h]}
		c.w = elems[T](&call.In[1])[d*n.gates*h*n.ins:][:n.gates*h*n.ins]
		c.r = elems[T](&call.In[2])[d*n.gates*h*h:][:n.gates*h*h]
		if b := elems[T](input(call, 3)); b != nil {
			c.wb, c.rb = b[2*d*n.gates*h:][:n.gates*h], b[(2*d+1)*n.gates*h:][:n.gates*h]
		}
		if p := elems[T](input(call, 7)); p != nil {
			c.peep = p[3*d*h:][:3*h]
		}
		for b := range n.batch {
			if err := follow(&c, call, d, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow runs one direction over one sequence and writes its outputs.
func follow[T wholeFloat](c *cell[T], call *backend.Call, d, b int) error {
	n, length := c.net, c.net.seq
	if lens := elems[int32](input(call, 4)); lens != nil {
		if length = int(lens[b]); length < 0 || length > n.seq {
			return fmt.Errorf("ref: recurrent: sequence_lens of sequence %d: got %d, want one in [0, %d]", b, length, n.seq)
		}
	}
	state := n.stateAt(d, b)
	for i, v := range [2][]T{c.h, c.c} {
		clear(v)
		if first := elems[T](input(call, 5+i)); first != nil {
			copy(v, first[state:][:n.hidden])
		}
	}
	x := elems[T](&call.In[0])
	for s := range length {
		t := s
		if d == 1 || n.reverse {
			t = length - 1 - s
		}
		step(c, x[n.inputAt(t, b):][:n.ins])
		if y := outputs[T](call, 0); y != nil {
			copy(y[n.outputAt(t, d, b):], c.h)
		}
	}
	for i, v := range [2][]T{c.h, c.c} {
		if y := outputs[T](call, 1+i); y != nil {
			copy(y[state:], v)
		}
	}
	return nil
}

// outputs returns output i's elements; nil when it is absent.
func outputs[T wholeFloat](c *backend.Call, i int) []T {
	if i < len(c.Out) {
		return elems[T](&c.Out[i])
	}
	return nil
}

// inputAt returns where the data of step t of sequence b starts.
func (n *recurrent) inputAt(t, b int) int {
	if n.batchFirst {
		return (b*n.seq + t) * n.ins
	}
	return (t*n.batch + b) * n.ins
}

// outputAt returns where the output of step t of sequence b in direction d starts.
func (n *recurrent) outputAt(t, d, b int) int {
	if n.batchFirst {
		return ((b*n.seq+t)*n.dirs + d) * n.hidden
	}
	return ((t*n.dirs+d)*n.batch + b) * n.hidden
}

// stateAt returns where the state of sequence b in direction d starts.
func (n *recurrent) stateAt(d, b int) int {
	if n.batchFirst {
		return (b*n.dirs + d) * n.hidden
	}
	return (d*n.batch + b) * n.hidden
}
