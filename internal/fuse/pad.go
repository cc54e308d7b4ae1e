package fuse

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// findPads moves padding with zeros into the convolutions and average pools that read it, where
// these count padding as they count zeros.
func findPads(f *finder) {
	for i, n := range f.g.Nodes {
		if f.taken[i] || !isOp(n, "Conv", "AveragePool") || soleOutput(n) == graph.NoValue {
			continue
		}
		k := f.maker(n.Inputs[0], "Pad")
		if k < 0 {
			continue
		}
		pads, ok := f.zeroPads(f.g.Nodes[k])
		if !ok {
			continue
		}
		if by := padded(n, pads); by != nil {
			by.Inputs[0] = f.g.Nodes[k].Inputs[0]
			f.swap(n, by)
		}
	}
}

// zeroPads returns, for each dim, first how much a node pads before and then behind; ok is false
// when it does something else than to pad an image's sides with zeros, or when it is not known.
func (f *finder) zeroPads(n *graph.Node) (pads []int64, ok bool) {
	rank := len(f.fact(n.Inputs[0]).Shape)
	if rank < 3 || n.Attrs.Str("mode", "constant") != "constant" {
		return nil, false
	}
	pads = n.Attrs.Ints("pads", nil)
	value := float64(n.Attrs.Float("value", 0))
	if n.Version >= 11 {
		if pads = f.int64s(n.Input(1)); pads == nil || !f.isZero(n.Input(2)) {
			return nil, false
		}
	}
	if value != 0 {
		return nil, false
	}
	if n.Input(3) != graph.NoValue {
		if pads, ok = spreadPads(pads, f.int64s(n.Input(3)), rank); !ok {
			return nil, false
		}
	}
	if len(pads) != 2*rank || slices.Min(pads) < 0 || pads[0]|pads[1]|pads[rank]|pads[rank+1] != 0 {
		return nil, false
	}
	return pads, true
}

// spreadPads gives the pads of the listed axes their places among those of all.
func spreadPads(pads, axes []int64, rank int) (all []int64, ok bool) {
	if axes == nil || len(pads) != 2*len(axes) {
		return nil, false
	}
	all = make([]int64, 2*rank)
	for i, a := range axes {
		if a < 0 {
			a += int64(rank)
		}
		if a < 0 || a >= int64(rank) {
			return nil, false
		}
		all[a], all[int(a)+rank] = pads[i], pads[len(axes)+i]
	}
	return all, true
}

// int64s returns the elements of a constant of int64, else nil.
func (f *finder) int64s(v graph.ValueID) []int64 {
	t := f.constant(v)
	if t == nil || t.DType() != tensor.Int64 {
		return nil
	}
	return tensor.Cast[int64](t.Bytes())
}

// isZero reports whether a value is absent or a constant zero of float32.
func (f *finder) isZero(v graph.ValueID) bool {
	x, ok := f.scalar(v)
	return v == graph.NoValue || ok && x == 0
}

// padded returns a convolution or pool that pads by so much more; nil when it cannot.
func padded(n *graph.Node, pads []int64) *graph.Node {
	auto := n.Attrs.Str("auto_pad", "NOTSET")
	if auto != "NOTSET" && auto != "VALID" && auto != "" {
		return nil
	}
	spatial := len(pads)/2 - 2
	own := n.Attrs.Ints("pads", nil)
	if own == nil || auto == "VALID" {
		own = make([]int64, 2*spatial)
	}
	if len(own) != 2*spatial {
		return nil
	}
	if n.Op == "AveragePool" && (n.Attrs.Int("ceil_mode", 0) != 0 ||
		n.Attrs.Int("count_include_pad", 0) == 0 && slices.Max(own) > 0) {
		return nil
	}
	sum := slices.Clone(own)
	for i := range spatial {
		sum[i] += pads[2+i]
		sum[spatial+i] += pads[len(pads)/2+2+i]
	}
	by := *n
	by.Inputs = slices.Clone(n.Inputs)
	by.Attrs = withAttr(n.Attrs, graph.Attr{Name: "pads", Kind: graph.AttrInts, Ints: sum}, "auto_pad")
	if n.Op == "AveragePool" {
		by.Attrs = withAttr(by.Attrs, graph.Attr{Name: "count_include_pad", Kind: graph.AttrInt, Int: 1})
	}
	return &by
}

// withAttr returns attributes with one set and some left out.
func withAttr(as graph.Attrs, a graph.Attr, without ...string) graph.Attrs {
	out := slices.DeleteFunc(slices.Clone(as), func(b graph.Attr) bool {
		return b.Name == a.Name || slices.Contains(without, b.Name)
	})
	at, _ := slices.BinarySearchFunc(out, a.Name, func(b graph.Attr, name string) int {
		switch {
		case b.Name < name:
			return -1
		case b.Name > name:
			return 1
		}
		return 0
	})
	return slices.Insert(out, at, a)
}
