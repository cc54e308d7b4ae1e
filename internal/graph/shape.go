package graph

import (
	"strings"

	"github.com/stowage-ml/stowage/tensor"
)

// Shape is the extents of a value, outermost first. A nil Shape has an unknown rank; an empty
// one that is not nil is a scalar.
type Shape []Dim

// Of returns the shape with the known extents s; it is never nil.
func Of(s ...int64) Shape {
	out := make(Shape, len(s))
	for i, n := range s {
		out[i] = Known(n)
	}
	return out
}

// Unranked reports whether not even the rank is known.
func (s Shape) Unranked() bool { return s == nil }

// Concrete returns the extents when all of them are known.
func (s Shape) Concrete() (tensor.Shape, bool) {
	if s == nil {
		return nil, false
	}
	if !s.IsConcrete() {
		return nil, false
	}
	return s.appendTo(make(tensor.Shape, 0, len(s))), true
}

// IsConcrete reports whether all extents are known.
func (s Shape) IsConcrete() bool {
	for _, d := range s {
		if d.e != nil {
			return false
		}
	}
	return s != nil
}

// appendTo appends extents that are all known.
func (s Shape) appendTo(out tensor.Shape) tensor.Shape {
	for _, d := range s {
		out = append(out, d.n)
	}
	return out
}

// Counted returns the number of elements when all extents are known; ok is false when one is not, or
// when there are more than an int64 counts.
func (s Shape) Counted() (n int64, ok bool) {
	var few [tensor.MaxRank]int64
	if !s.IsConcrete() || len(s) > len(few) {
		return 0, false
	}
	return s.appendTo(few[:0]).Elements()
}

// Equals reports whether all extents are known, and those of t.
func (s Shape) Equals(t tensor.Shape) bool {
	if s == nil || len(s) != len(t) {
		return false
	}
	for i, d := range s {
		if !d.Is(t[i]) {
			return false
		}
	}
	return true
}

// Elements returns the product of the extents; Unknown for an unknown rank.
func (s Shape) Elements() Dim {
	if s == nil {
		return Unknown()
	}
	n := Known(1)
	for _, d := range s {
		n = n.Mul(d)
	}
	return n
}

// Clone returns a copy that shares no memory with s.
func (s Shape) Clone() Shape {
	if s == nil {
		return nil
	}
	return append(Shape{}, s...)
}

// String returns the extents in brackets, such as "[batch,3,224,224]", and "[...]" for an
// unknown rank.
func (s Shape) String() string {
	if s == nil {
		return "[...]"
	}
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = d.String()
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// Join returns the extents of all parts, one after the other; it is never nil.
func Join(parts ...Shape) Shape {
	out := Shape{}
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}
