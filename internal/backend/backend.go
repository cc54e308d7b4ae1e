// Package backend is the boundary between what a plan decides and what runs it: a Backend
// offers kernels for nodes whose types and shapes are known, and a Kernel computes one node. It
// knows nothing of plans, arenas or other backends. Sizes are in bytes.
package backend

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// Arg is what is known of one operand when a kernel is chosen. The zero Arg is an optional
// operand that the node leaves out.
type Arg struct {
	DType tensor.DType
	// Shape is nil for an output whose shape only the kernel can tell.
	Shape tensor.Shape
	// Const is the contents when they are known before the run.
	Const *tensor.Tensor
}

// Present reports whether the node has this operand.
func (a *Arg) Present() bool { return a.DType != tensor.Undefined }

// Op is a node with the types and shapes of its operands: what a kernel is made for.
type Op struct {
	Node *graph.Node
	In   []Arg
	Out  []Arg
	// Threads is the largest number of workers that a call will have; 0 means 1.
	Threads int
	// Consts keeps what is made of constant operands; it may be nil.
	Consts *Consts

	// body is what Body has found for the Op at this address; a copy of an Op has none.
	body *opBody
}

// Arg returns input i; the zero Arg when it is absent.
func (o *Op) Arg(i int) *Arg {
	if i < len(o.In) {
		return &o.In[i]
	}
	return &Arg{}
}

// View is where the contents of a tensor are during one call.
type View struct {
	DType tensor.DType
	Shape tensor.Shape
	// Data is nil where the host cannot address the bytes.
	Data []byte
	Strs []string
	// Mem is the device's memory that holds the bytes, from Offset on; nil for the host's memory.
	Mem    Memory
	Offset int64
}

// ViewOf returns the view of a tensor's own memory.
func ViewOf(t *tensor.Tensor) View {
	return View{DType: t.DType(), Shape: t.Shape(), Data: t.Bytes(), Strs: t.Strings()}
}

// Tensor returns a tensor over the view's memory.
func (v *View) Tensor() (*tensor.Tensor, error) {
	if v.DType == tensor.String {
		return tensor.New(v.Shape, v.Strs)
	}
	return tensor.FromBytes(v.DType, v.Shape, v.Data)
}

// Call is one execution of a kernel: where its operands are this time. An absent operand is the
// zero View. Output memory holds arbitrary bytes before the call.
type Call struct {
	In  []View
	Out []View
	// Scratch is memory that only this call uses, of the size the candidate asked for, aligned to
	// 64 bytes.
	Scratch []byte
	// ScratchMem is the device's memory that holds the scratch memory, from ScratchOffset on; nil on
	// the host.
	ScratchMem    Memory
	ScratchOffset int64
	// Team shares the call's tasks; nil means that there is only the caller.
	Team *Team
	// Place gives output i, whose shape was not known before, its shape and memory: it sets
	// Out[i].Shape and Out[i].Data (or Strs).
	Place func(i int, s tensor.Shape) error
}

// Kernel computes one node. A Kernel is immutable: calls may run at the same time.
type Kernel func(c *Call) error

// Candidate is one way to run a node.
type Candidate struct {
	// Name is the kernel's, Source the kind of code ("go", "avx2", ...).
	Name, Source string
	Kernel       Kernel
	// Scratch is how much memory the kernel needs beside its operands.
	Scratch int64
	// In and Out are the layouts that the kernel reads and writes, by operand; nil means row-major
	// for all. Constant operands are always row-major: a kernel packs them itself.
	In, Out []Layout
	// Over lists inputs that this kernel lets its first output overwrite, beside those of the
	// operator's row: it reads each element no later than it writes the one at the same place, and
	// writes nothing before that it will not keep. Both operands have the same layout then.
	Over []int
	// Flops is the share of the device's peak rate of multiply-adds that the kernel reaches on large
	// operands, and Stream the share of its memory bandwidth; 0 means that the kernel's maker
	// does not know, and counts as slow. Extra is work beside the operator's own.
	Flops, Stream float64
	Extra         Extra
	// Revision changes when the kernel's code does: measurements of another revision do not count.
	Revision int
	// Precision is what the results are good for.
	Precision Precision
}

// Precision says how far a kernel's results may be from the operator's: each one allows more than
// those before it. The zero Precision is the best.
type Precision uint8

// The precisions.
const (
	// Exact: the operands' own type in every step; sums may be in any order.
	Exact Precision = iota
	// Half: float32 operands may be rounded to 16 bits.
	Half
	// Low: operands may be rounded to fewer bits than that.
	Low
)

// String names the precision: "exact", "half" or "low".
func (p Precision) String() string {
	switch p {
	case Exact:
		return "exact"
	case Half:
		return "half"
	case Low:
		return "low"
	}
	return fmt.Sprintf("precision %d", uint8(p))
}

// Extra is work that a kernel does beside what the operator asks for, such as packing.
type Extra struct{ Flops, Bytes float64 }

// Reorderer is a Backend that can change the layout of a tensor.
type Reorderer interface {
	// Reorder returns a kernel of one input and one output that changes the layout, in either
	// direction; ok is false when there is none.
	Reorder(dt tensor.DType, s tensor.Shape, from, to Layout, threads int) (k Candidate, ok bool)
}

// Backend offers kernels for one kind of device.
type Backend interface {
	// Name is the backend's, such as "ref".
	Name() string
	// Supports says whether the backend can run a node with operands of these types, whatever
	// their shapes; the error says why not.
	Supports(n *graph.Node, in, out []tensor.DType) error
	// Candidates returns the kernels for a node, best first; none when there is no kernel. An
	// error means that the operands can never be right.
	Candidates(o *Op) ([]Candidate, error)
}

// Alloc places output i of a call in fresh memory: the Place of callers without an arena.
func (c *Call) Alloc(i int, s tensor.Shape) error {
	t, err := tensor.Zeros(c.Out[i].DType, s)
	if err != nil {
		return fmt.Errorf("output %d: %w", i, err)
	}
	c.Out[i] = ViewOf(t)
	return nil
}
