package cost

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// id is the beginning of a SHA-256.
type id [12]byte

// Key tells measurements apart.
type Key struct {
	// class is everything but the extents: the operator with its attributes and bodies, the types
	// and ranks, which operands are constant, the layouts, the device, the kernel and its revision.
	class id
	// shape is the extents.
	shape id
}

// smallConst is the number of bytes up to which a constant operand's contents count: extents, axes
// and bounds decide what a kernel has to do, weights do not.
const smallConst = 128

// KeyOf returns the key of a candidate's time on a device.
func KeyOf(device string, o *backend.Op, c *backend.Candidate) Key {
	class, shape := digester{h: sha256.New()}, digester{h: sha256.New()}
	class.text(device, c.Name, c.Source)
	class.ints(int64(c.Revision), int64(o.Threads))
	class.node(o.Node, nil)
	for i, args := range [][]backend.Arg{o.In, o.Out} {
		layouts := [][]backend.Layout{c.In, c.Out}[i]
		class.ints(int64(len(args)), int64(len(layouts)))
		for _, l := range layouts {
			class.ints(int64(l))
		}
		for k := range args {
			a := &args[k]
			class.ints(int64(a.DType), int64(len(a.Shape)))
			class.constant(a.Const)
			shape.ints(int64(len(a.Shape)))
			shape.ints(a.Shape...)
		}
	}
	return Key{class: class.sum(), shape: shape.sum()}
}

// digester writes values to a hash such that different sequences are different bytes.
type digester struct {
	h   hash.Hash
	buf []byte
}

func (d *digester) sum() id { return id(d.h.Sum(nil)[:len(id{})]) }

func (d *digester) ints(vs ...int64) {
	d.buf = d.buf[:0]
	for _, v := range vs {
		d.buf = binary.AppendVarint(d.buf, v)
	}
	d.h.Write(d.buf)
}

func (d *digester) text(ss ...string) {
	for _, s := range ss {
		d.ints(int64(len(s)))
		d.h.Write([]byte(s))
	}
}

// constant writes that an operand is known, and its contents when they are small.
func (d *digester) constant(t *tensor.Tensor) {
	switch {
	case t == nil:
		d.ints(0)
	case t.DType() == tensor.String || len(t.Bytes()) > smallConst:
		d.ints(1)
	default:
		d.ints(2, int64(len(t.Bytes())))
		d.h.Write(t.Bytes())
	}
}

// node writes an operator and its attributes; bodies by their structure, so that names do not
// count. Inputs and outputs are written as the numbers that ids gives them, or, without ids, as
// present or absent.
func (d *digester) node(n *graph.Node, ids *numbering) {
	d.text(n.Domain, n.Op)
	d.ints(int64(n.Version), int64(len(n.Inputs)), int64(len(n.Outputs)), int64(len(n.Attrs)))
	for _, list := range [][]graph.ValueID{n.Inputs, n.Outputs} {
		for _, v := range list {
			d.ints(ids.of(v))
		}
	}
	for i := range n.Attrs {
		d.attr(&n.Attrs[i], ids)
	}
}

func (d *digester) attr(a *graph.Attr, ids *numbering) {
	d.text(a.Name)
	d.ints(int64(a.Kind), a.Int, int64(math.Float32bits(a.Float)), int64(len(a.Ints)), int64(len(a.Floats)))
	d.ints(a.Ints...)
	for _, f := range a.Floats {
		d.ints(int64(math.Float32bits(f)))
	}
	d.ints(int64(len(a.Strs)), int64(len(a.Tensors)), int64(len(a.Graphs)), int64(a.Type.DType))
	d.text(a.Str)
	d.text(a.Strs...)
	d.constant(a.Tensor)
	for _, t := range a.Tensors {
		d.constant(t)
	}
	if a.Graph != nil {
		d.body(a.Graph, ids)
	}
	for _, g := range a.Graphs {
		d.body(g, ids)
	}
}

// body writes a graph's structure.
func (d *digester) body(g *graph.Graph, outer *numbering) {
	ids := &numbering{seen: map[graph.ValueID]int64{}}
	d.ints(int64(len(g.Inputs)), int64(len(g.Captures)), int64(len(g.Nodes)), int64(len(g.Outputs)))
	for _, v := range g.Inputs {
		d.ints(ids.of(v), int64(g.Values[v].DType), int64(len(g.Values[v].Shape)))
	}
	for _, c := range g.Captures {
		d.ints(outer.of(c.Outer), ids.of(c.Inner))
	}
	for _, n := range g.Nodes {
		for _, v := range n.Inputs {
			if v != graph.NoValue && g.Values[v].Const != nil {
				d.ints(ids.of(v))
				d.constant(g.Values[v].Const)
			}
		}
		d.node(n, ids)
	}
	for _, v := range g.Outputs {
		d.ints(ids.of(v))
	}
}

// numbering numbers values in the order in which they are met. The nil numbering tells only
// present from absent.
type numbering struct{ seen map[graph.ValueID]int64 }

func (n *numbering) of(v graph.ValueID) int64 {
	if v == graph.NoValue {
		return -1
	}
	if n == nil {
		return 0
	}
	k, ok := n.seen[v]
	if !ok {
		k = int64(len(n.seen))
		n.seen[v] = k
	}
	return k
}
