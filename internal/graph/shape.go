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
	out := make(tensor.Shape, len(s))
	for i, d := range s {
		n, ok := d.Int()
		if !ok {
			return nil, false
		}
		out[i] = n
	}
	return out, true
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
