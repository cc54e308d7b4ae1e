package fuse

import (
	"math"
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// affine is y = mul·x + add along the channels of x. A nil list stands for ones or zeros; one
// element serves all channels. Lists are lent: they are valid until the rewriter's spare memory is free again.
type affine struct {
	x        graph.ValueID
	mul, add []float64
}

// affineOf reads a node as an affine map of its channels, which lie along axis of a value of the
// given shape: a normalisation by known statistics, or arithmetic with constants.
func (f *finder) affineOf(n *graph.Node, shape graph.Shape, axis int) (a affine, ok bool) {
	if n.Domain != "" || soleOutput(n) == graph.NoValue {
		return a, false
	}
	switch n.Op {
	case "BatchNormalization":
		if axis != 1 {
			return a, false
		}
		return f.batchNorm(n)
	case "Add", "Sub", "Mul", "Div":
	default:
		return a, false
	}
	a.x = n.Inputs[0]
	c, swapped := f.channelConst(n.Inputs[1], shape, axis), false
	if c == nil {
		a.x, swapped = n.Inputs[1], true
		c = f.channelConst(n.Inputs[0], shape, axis)
	}
	if c == nil || f.constant(a.x) != nil || swapped && n.Op == "Div" {
		return a, false
	}
	switch n.Op {
	case "Add":
		a.add = c
	case "Sub":
		if a.add = c; swapped {
			a.mul = []float64{-1}
		} else {
			mapped(c, func(x float64) float64 { return -x })
			a.add = c
		}
	case "Mul":
		a.mul = c
	case "Div":
		mapped(c, func(x float64) float64 { return 1 / x })
		a.mul = c
	}
	return a, finite(a.mul, a.add)
}

// mapped replaces every element by what f makes of it.
func mapped(l []float64, f func(float64) float64) {
	for i, x := range l {
		l[i] = f(x)
	}
}

// lend returns n elements, of any value, from the rewriter's spare memory.
func (r *rewriter) lend(n int) []float64 {
	if len(r.spare)+n > cap(r.spare) {
		// What was lent before stays where it is.
		r.spare = make([]float64, 0, max(2*cap(r.spare), n, 256))
	}
	at := len(r.spare)
	r.spare = r.spare[:at+n]
	return r.spare[at:][:n:n]
}

// free ends the use of all that was lent.
func (r *rewriter) free() { r.spare = r.spare[:0] }

// finite reports whether all elements are finite as float32.
func finite(lists ...[]float64) bool {
	for _, l := range lists {
		for _, x := range l {
			if !(math.Abs(x) <= math.MaxFloat32) {
				return false
			}
		}
	}
	return true
}

// channelConst returns the elements of a float32 constant that has one for each channel, or one
// for all; nil for another value.
func (f *finder) channelConst(v graph.ValueID, shape graph.Shape, axis int) []float64 {
	e := f.floats(v)
	if e == nil || shape.Unranked() || !perChannel(f.constant(v).Shape(), shape, axis) {
		return nil
	}
	out := f.r.lend(len(e))
	for i, x := range e {
		out[i] = float64(x)
	}
	return out
}

// batchNorm reads a normalisation by constant statistics.
func (f *finder) batchNorm(n *graph.Node) (a affine, ok bool) {
	if len(n.Inputs) != 5 || n.Attrs.Int("training_mode", 0) != 0 || n.Attrs.Int("spatial", 1) == 0 {
		return a, false
	}
	var p [4][]float32
	for i := range p {
		if p[i] = f.floats(n.Inputs[1+i]); p[i] == nil || len(p[i]) != len(p[0]) {
			return a, false
		}
	}
	eps := float64(n.Attrs.Float("epsilon", 1e-5))
	a = affine{x: n.Inputs[0], mul: f.r.lend(len(p[0])), add: f.r.lend(len(p[0]))}
	for i := range a.mul {
		a.mul[i] = float64(p[0][i]) / math.Sqrt(float64(p[3][i])+eps)
		a.add[i] = float64(p[1][i]) - float64(p[2][i])*a.mul[i]
	}
	return a, finite(a.mul, a.add)
}

// at returns element i of a list of one or of many; def for none.
func at(l []float64, i int, def float64) float64 {
	switch len(l) {
	case 0:
		return def
	case 1:
		return l[0]
	}
	return l[i]
}

// then returns the map that applies a first and b to its result, without a factor of one and a
// shift of zero.
func (r *rewriter) then(a, b affine) affine {
	out := affine{x: a.x}
	if a.mul != nil || b.mul != nil {
		out.mul = r.lend(max(len(a.mul), len(b.mul)))
		for i := range out.mul {
			out.mul[i] = at(a.mul, i, 1) * at(b.mul, i, 1)
		}
	}
	if a.add != nil || b.add != nil {
		n := max(len(a.add), len(b.add))
		if a.add != nil {
			n = max(n, len(b.mul))
		}
		out.add = r.lend(n)
		for i := range out.add {
			out.add[i] = at(a.add, i, 0)*at(b.mul, i, 1) + at(b.add, i, 0)
		}
	}
	if !slices.ContainsFunc(out.mul, func(x float64) bool { return x != 1 }) {
		out.mul = nil
	}
	if !slices.ContainsFunc(out.add, func(x float64) bool { return x != 0 }) {
		out.add = nil
	}
	return out
}

// findAffine makes a multiplication and an addition with constants of every run of affine maps
// of channels, and of every normalisation by constants; a shorter run stays as it is. Channels
// lie along axis 1, or along the last axis for what has no normalisation in it.
func findAffine(f *finder) {
	for i := range f.g.Nodes {
		n := f.g.Nodes[i]
		if f.taken[i] || n.Domain != "" || soleOutput(n) == graph.NoValue {
			continue
		}
		out := f.fact(n.Outputs[0])
		if out.Shape.Unranked() || out.DType != tensor.Float32 || len(out.Shape) == 0 {
			continue
		}
		axes := []int{1, len(out.Shape) - 1}
		if len(out.Shape) == 1 {
			axes = []int{0}
		}
		for _, axis := range axes {
			if f.mergeAffine(i, out.Shape, axis) {
				break
			}
		}
	}
}

// arithmetic lists the operators that are affine maps when all but one operand is constant.
var arithmetic = []string{"Add", "Sub", "Mul", "Div"}

// mergeAffine rewrites the longest run of affine maps that begins at node i; it reports whether
// there is one.
func (f *finder) mergeAffine(i int, shape graph.Shape, axis int) bool {
	first := f.g.Nodes[i]
	if first.Op != "BatchNormalization" {
		// Alone, arithmetic stays as it is.
		if r := f.soleReader(first.Outputs[0]); r < 0 || !isOp(first, arithmetic...) ||
			!isOp(f.g.Nodes[r], "BatchNormalization") && !isOp(f.g.Nodes[r], arithmetic...) {
			return false
		}
	}
	f.r.free()
	all, ok := f.affineOf(first, shape, axis)
	if !ok || !sameShape(f.fact(all.x).Shape, shape) {
		return false
	}
	run := []*graph.Node{first}
	for {
		r := f.soleReader(run[len(run)-1].Outputs[0])
		if r < 0 {
			break
		}
		next, ok := f.affineOf(f.g.Nodes[r], shape, axis)
		if !ok || next.x != run[len(run)-1].Outputs[0] || !sameShape(shape, f.fact(f.g.Nodes[r].Outputs[0]).Shape) {
			break
		}
		all, run = f.r.then(all, next), append(run, f.g.Nodes[r])
	}
	parts := 0
	if all.mul != nil {
		parts++
	}
	if all.add != nil {
		parts++
	}
	if parts == 0 || !finite(all.mul, all.add) || len(run) <= parts && first.Op != "BatchNormalization" {
		return false
	}
	f.putAffine(all, run, len(shape), axis)
	return true
}

// sameRank reports whether a value is known to have the rank of a shape, so that constants of that
// rank leave it its own.
func (f *finder) sameRank(v graph.ValueID, s graph.Shape) bool {
	return !f.fact(v).Shape.Unranked() && len(f.fact(v).Shape) == len(s)
}

// putAffine puts a multiplication and an addition in the place of a run of nodes.
func (f *finder) putAffine(a affine, run []*graph.Node, rank, axis int) {
	last := run[len(run)-1]
	version := last.Version
	if last.Op == "BatchNormalization" {
		// From version 7 on, arithmetic broadcasts; a file's versions are those of one set.
		version = max(version, 7)
	}
	x := a.x
	name := last.Name
	step := func(opName string, l []float64, out graph.ValueID) *graph.Node {
		c := f.addConst(f.g.ValueName(last.Outputs[0])+"/"+opName, channelTensor(l, rank, axis))
		in := []graph.ValueID{x, c}
		x = out
		return &graph.Node{Op: opName, Version: version, Name: name, Inputs: in, Outputs: []graph.ValueID{out}}
	}
	switch {
	case a.mul == nil:
		f.swap(last, step("Add", a.add, last.Outputs[0]))
	case a.add == nil:
		f.swap(last, step("Mul", a.mul, last.Outputs[0]))
	default:
		mid := f.patch.NewValue(f.g, graph.Value{Name: f.g.ValueName(last.Outputs[0]) + "/scaled",
			Type: graph.Type{DType: tensor.Float32}})
		f.patch.Insert = append(f.patch.Insert, step("Mul", a.mul, mid))
		f.swap(last, step("Add", a.add, last.Outputs[0]))
	}
	f.remove(run[:len(run)-1]...)
}

// channelTensor returns a constant with one element, or one for each index along an axis, of at
// most the given rank.
func channelTensor(l []float64, rank, axis int) *tensor.Tensor {
	data := narrowed(l)
	if len(l) == 1 {
		return tensor.Scalar(data[0])
	}
	shape := make(tensor.Shape, rank-axis)
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = int64(len(l))
	return tensor.Must(shape, data)
}

func narrowed(l []float64) []float32 {
	out := make([]float32, len(l))
	for i, x := range l {
		out[i] = float32(x)
	}
	return out
}
