package move

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
)

// either are the ways to have input and output in blocks: both, or only one.
var either = []blocked{{true, true}, {true, false}, {false, true}}

// axisOf resolves an axis that may count from the end.
func axisOf(axis int64, rank int) int {
	if axis < 0 {
		axis += int64(rank)
	}
	return int(axis)
}

// Transpose returns the kernels of operator Transpose.
func Transpose(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	m := newMover(l, o, "transpose")
	if m == nil {
		return nil, nil
	}
	s := o.In[0].Shape
	perm := o.Node.Attrs.Ints("perm", nil)
	var dims []dim
	for i := range s {
		from := len(s) - 1 - i
		if perm != nil {
			from = axisOf(perm[i], len(s))
		}
		dims = append(dims, dim{int(s[from]), along(i), along(from)})
	}
	m.add(0, 0, dims...)
	return m.candidates(1, either...), nil
}

// Concat returns the kernels of operator Concat.
func Concat(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	m := newMover(l, o, "concat")
	if m == nil {
		return nil, nil
	}
	axis := axisOf(o.Node.Attrs.Int("axis", 1), len(o.Out[0].Shape))
	at := 0
	for i := range o.In {
		s := o.In[i].Shape
		dims := whole(s)
		dims[axis].dst.off = at
		at += int(s[axis])
		m.add(i, 0, dims...)
	}
	return m.candidates(len(o.In), blocked{true, true}, blocked{false, true}), nil
}

// whole returns the dims of a move of a whole operand to the same place.
func whole(s []int64) []dim {
	dims := make([]dim, len(s))
	for i, n := range s {
		dims[i] = dim{int(n), along(i), along(i)}
	}
	return dims
}

// Split returns the kernels of operator Split.
func Split(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	m := newMover(l, o, "split")
	if m == nil {
		return nil, nil
	}
	axis := axisOf(o.Node.Attrs.Int("axis", 0), len(o.In[0].Shape))
	at := 0
	for i := range o.Out {
		s := o.Out[i].Shape
		dims := whole(s)
		dims[axis].src.off = at
		at += int(s[axis])
		m.add(0, i, dims...)
	}
	if at != int(o.In[0].Shape[axis]) {
		return nil, nil
	}
	return m.candidates(1, either...), nil
}

// Expand returns the kernels of operator Expand.
func Expand(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	m := newMover(l, o, "expand")
	if m == nil {
		return nil, nil
	}
	in, out := o.In[0].Shape, o.Out[0].Shape
	skip := len(out) - len(in)
	dims := whole(out)
	for i, n := range out {
		switch {
		case i < skip || in[i-skip] == 1 && n != 1:
			dims[i].src = still
		case in[i-skip] == n:
			dims[i].src = along(i - skip)
		default:
			return nil, nil
		}
	}
	m.add(0, 0, dims...)
	return m.candidates(1, blocked{true, true}, blocked{false, true}), nil
}

// Tile returns the kernels of operator Tile.
func Tile(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	m := newMover(l, o, "tile")
	if m == nil {
		return nil, nil
	}
	var dims []dim
	for i, n := range o.In[0].Shape {
		if n == 0 {
			return nil, nil
		}
		times := int(o.Out[0].Shape[i] / n)
		if times != 1 {
			dims = append(dims, dim{times, side{i, 0, int(n)}, still})
		}
		dims = append(dims, dim{int(n), along(i), along(i)})
	}
	m.add(0, 0, dims...)
	return m.candidates(1, blocked{true, true}), nil
}

// DepthToSpace returns the kernels of operator DepthToSpace.
func DepthToSpace(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	m := newMover(l, o, "depthtospace")
	if m == nil {
		return nil, nil
	}
	b := int(o.Node.Attrs.Int("blocksize", 1))
	s := o.In[0].Shape
	c := int(o.Out[0].Shape[1])
	place, channel := c, 1
	switch o.Node.Attrs.Str("mode", "DCR") {
	case "DCR":
	case "CRD":
		place, channel = 1, b*b
	default:
		return nil, nil
	}
	m.add(0, 0, dim{int(s[0]), along(0), along(0)}, dim{c, along(1), side{1, 0, channel}},
		dim{int(s[2]), side{2, 0, b}, along(2)}, dim{b, along(2), side{1, 0, b * place}},
		dim{int(s[3]), side{3, 0, b}, along(3)}, dim{b, along(3), side{1, 0, place}})
	return m.candidates(1), nil
}

// SpaceToDepth returns the kernels of operator SpaceToDepth.
func SpaceToDepth(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	m := newMover(l, o, "spacetodepth")
	if m == nil {
		return nil, nil
	}
	b := int(o.Node.Attrs.Int("blocksize", 1))
	s := o.Out[0].Shape
	c := int(o.In[0].Shape[1])
	m.add(0, 0, dim{int(s[0]), along(0), along(0)}, dim{c, along(1), along(1)},
		dim{int(s[2]), along(2), side{2, 0, b}}, dim{b, side{1, 0, b * c}, along(2)},
		dim{int(s[3]), along(3), side{3, 0, b}}, dim{b, side{1, 0, c}, along(3)})
	return m.candidates(1), nil
}
