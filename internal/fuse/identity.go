package fuse

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// findIdentities takes out the nodes whose result is their first input, and joins transpositions
// that follow one another.
func findIdentities(f *finder) {
	for i, n := range f.g.Nodes {
		if f.taken[i] || n.Domain != "" || len(n.Inputs) == 0 || n.Inputs[0] == graph.NoValue ||
			soleOutput(n) == graph.NoValue {
			continue
		}
		from, to := n.Inputs[0], n.Outputs[0]
		switch {
		case !f.isIdentity(n):
			f.joinTransposes(n)
		case !f.isOut[to] || f.source[from] >= 0 && !f.isOut[from]:
			if s := f.source[from]; s >= 0 {
				if f.taken[s] {
					continue
				}
				f.taken[s] = true
			}
			f.replace(to, from)
			f.remove(n)
		}
	}
}

// isIdentity reports whether a node's result is known to be its first input.
func (f *finder) isIdentity(n *graph.Node) bool {
	x, y := f.fact(n.Inputs[0]), f.fact(n.Outputs[0])
	if x.DType == tensor.Undefined || x.DType != y.DType {
		return false
	}
	switch n.Op {
	case "Identity":
		return true
	case "Cast":
		return true
	case "Concat", "Sum", "Max", "Min", "Mean":
		return len(n.Inputs) == 1
	case "Expand", "Reshape":
		return sameShape(x.Shape, y.Shape)
	case "Transpose":
		perm := permOf(n, len(x.Shape))
		return !x.Shape.Unranked() && slices.IsSorted(perm)
	case "Slice":
		return sameShape(x.Shape, y.Shape) && f.stepsOne(n)
	}
	return false
}

// stepsOne reports whether a Slice takes elements in order without gaps.
func (f *finder) stepsOne(n *graph.Node) bool {
	if n.Version < 10 || n.Input(4) == graph.NoValue {
		return true
	}
	steps, ok := f.fact(n.Input(4)).Ints()
	return ok && !slices.ContainsFunc(steps, func(s int64) bool { return s != 1 })
}

// permOf returns the order of the dims of a transposition.
func permOf(n *graph.Node, rank int) []int64 {
	perm := n.Attrs.Ints("perm", nil)
	if len(perm) == 0 {
		for i := range rank {
			perm = append(perm, int64(rank-1-i))
		}
	}
	return perm
}

// joinTransposes makes one transposition of two.
func (f *finder) joinTransposes(n *graph.Node) {
	if n.Op != "Transpose" {
		return
	}
	i := f.maker(n.Inputs[0], "Transpose")
	rank := len(f.fact(n.Inputs[0]).Shape)
	if i < 0 || rank == 0 {
		return
	}
	inner := f.g.Nodes[i]
	first, second := permOf(inner, rank), permOf(n, rank)
	if len(first) != rank || len(second) != rank {
		return
	}
	perm := make([]int64, rank)
	for k, p := range second {
		if p < 0 || p >= int64(rank) {
			return
		}
		perm[k] = first[p]
	}
	by := *n
	by.Inputs = []graph.ValueID{inner.Inputs[0]}
	by.Attrs = graph.Attrs{{Name: "perm", Kind: graph.AttrInts, Ints: perm}}
	f.swap(n, &by)
	f.taken[i] = true
}

// findOneHot makes a Gather of the product of one-hot rows, which are spelled out as a comparison
// with the numbers from 0 on, and a constant matrix: numbers that are no row of it get a row of
// zeros.
func findOneHot(f *finder) {
	for i, n := range f.g.Nodes {
		if f.taken[i] || !isOp(n, "MatMul") || soleOutput(n) == graph.NoValue {
			continue
		}
		w := f.constant(n.Inputs[1])
		if w == nil || w.DType() != tensor.Float32 || len(w.Shape()) != 2 || !allFinite(w) {
			continue
		}
		p := &pattern{f: f}
		cast := p.at(n.Inputs[0], "Cast")
		if cast == nil || !f.private(n.Inputs[0]) || tensor.DType(cast.Attrs.Int("to", 0)) != tensor.Float32 {
			continue
		}
		equal := p.at(cast.Inputs[0], "Equal")
		if equal == nil || !f.private(cast.Inputs[0]) {
			continue
		}
		for k := range 2 {
			if f.gatherOf(n, equal.Inputs[k], equal.Inputs[1-k], w) {
				f.remove(cast, equal)
				break
			}
		}
	}
}

// gatherOf puts a Gather in the place of the product n of the matrix w and rows that tell which of
// numbers equals ids; it reports whether it can.
func (f *finder) gatherOf(n *graph.Node, ids, numbers graph.ValueID, w *tensor.Tensor) bool {
	id := f.fact(ids)
	rows, cols := w.Shape()[0], w.Shape()[1]
	last := len(id.Shape) - 1
	if id.DType != tensor.Int32 && id.DType != tensor.Int64 || last < 0 || !id.Shape[last].Is(1) ||
		!f.countsUp(numbers, rows) || len(f.fact(numbers).Shape) > len(id.Shape) || !f.afford(4*(rows+1)*cols) {
		return false
	}
	data := make([]float32, (rows+1)*cols)
	copy(data, tensor.Cast[float32](w.Bytes()))
	table := f.addConst(f.g.ValueName(n.Inputs[1])+"/rows", tensor.Must(tensor.Shape{rows + 1, cols}, data))
	name := f.g.ValueName(n.Outputs[0])
	lo, hi := f.addConst(name+"/none", whole(id.DType, -1)), f.addConst(name+"/end", whole(id.DType, rows))
	axes := f.addConst(name+"/axes", tensor.Of(int64(last)))
	typ := graph.Type{DType: id.DType}
	flat := f.patch.NewValue(f.g, graph.Value{Name: name + "/ids", Type: typ})
	kept := f.patch.NewValue(f.g, graph.Value{Name: name + "/kept", Type: typ})
	f.patch.Insert = append(f.patch.Insert,
		&graph.Node{Op: "Squeeze", Version: 13, Inputs: []graph.ValueID{ids, axes}, Outputs: []graph.ValueID{flat}},
		&graph.Node{Op: "Clip", Version: 13, Inputs: []graph.ValueID{flat, lo, hi}, Outputs: []graph.ValueID{kept}})
	in := []graph.ValueID{table, kept}
	f.swap(n, &graph.Node{Op: "Gather", Version: 13, Name: n.Name, Inputs: in, Outputs: n.Outputs})
	return true
}

// whole returns a number as a tensor of int32 or int64.
func whole(dt tensor.DType, n int64) *tensor.Tensor {
	if dt == tensor.Int32 {
		return tensor.Scalar(int32(n))
	}
	return tensor.Scalar(n)
}

// countsUp reports whether a constant holds the numbers from 0 to n−1 along its last dim, and has
// no other dim of more than one element.
func (f *finder) countsUp(v graph.ValueID, n int64) bool {
	t := f.constant(v)
	if t == nil || n > op.MaxValue*op.MaxValue || int64(t.Len()) != n || len(t.Shape()) == 0 ||
		t.Shape()[len(t.Shape())-1] != n {
		return false
	}
	for i := range t.Len() {
		switch t.DType() {
		case tensor.Int32:
			if tensor.Cast[int32](t.Bytes())[i] != int32(i) {
				return false
			}
		case tensor.Int64:
			if tensor.Cast[int64](t.Bytes())[i] != int64(i) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// allFinite reports whether no element is an infinity or a NaN, which a product with zeros would
// spread.
func allFinite(t *tensor.Tensor) bool {
	var sum float32
	for _, x := range tensor.Cast[float32](t.Bytes()) {
		sum += x - x
	}
	return sum == 0
}
