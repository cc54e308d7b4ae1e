package graph

import "github.com/stowage-ml/stowage/tensor"

// AttrKind says which field of an Attr holds its value.
type AttrKind uint8

// The kinds of attribute.
const (
	AttrInt AttrKind = iota + 1
	AttrFloat
	AttrString
	AttrTensor
	AttrGraph
	AttrInts
	AttrFloats
	AttrStrings
	AttrTensors
	AttrGraphs
	AttrSparse
	AttrType
)

// Attr is one named constant of a node. Only the field that Kind names is meaningful.
type Attr struct {
	Name    string
	Kind    AttrKind
	Int     int64
	Float   float32
	Str     string
	Tensor  *tensor.Tensor
	Graph   *Graph
	Ints    []int64
	Floats  []float32
	Strs    []string
	Tensors []*tensor.Tensor
	Graphs  []*Graph
	Type    Type
}

// Type is an element type and a shape: what a file declares a value to be.
type Type struct {
	DType tensor.DType
	Shape Shape
}

// Attrs are a node's attributes, in order of name.
type Attrs []Attr

// Get returns the attribute called name, or nil.
func (as Attrs) Get(name string) *Attr {
	for i := range as {
		if as[i].Name == name {
			return &as[i]
		}
	}
	return nil
}

func (as Attrs) get(name string, kind AttrKind) *Attr {
	if a := as.Get(name); a != nil && a.Kind == kind {
		return a
	}
	return nil
}

// Int returns the integer attribute called name, or def.
func (as Attrs) Int(name string, def int64) int64 {
	if a := as.get(name, AttrInt); a != nil {
		return a.Int
	}
	return def
}

// Float returns the float attribute called name, or def.
func (as Attrs) Float(name string, def float32) float32 {
	if a := as.get(name, AttrFloat); a != nil {
		return a.Float
	}
	return def
}

// Str returns the string attribute called name, or def.
func (as Attrs) Str(name, def string) string {
	if a := as.get(name, AttrString); a != nil {
		return a.Str
	}
	return def
}

// Ints returns the integer list called name, or def. The caller must not change it.
func (as Attrs) Ints(name string, def []int64) []int64 {
	if a := as.get(name, AttrInts); a != nil {
		return a.Ints
	}
	return def
}

// Floats returns the float list called name, or def. The caller must not change it.
func (as Attrs) Floats(name string, def []float32) []float32 {
	if a := as.get(name, AttrFloats); a != nil {
		return a.Floats
	}
	return def
}

// Strs returns the string list called name, or def. The caller must not change it.
func (as Attrs) Strs(name string, def []string) []string {
	if a := as.get(name, AttrStrings); a != nil {
		return a.Strs
	}
	return def
}

// Tensor returns the tensor attribute called name, or nil.
func (as Attrs) Tensor(name string) *tensor.Tensor {
	if a := as.get(name, AttrTensor); a != nil {
		return a.Tensor
	}
	return nil
}

// Graph returns the subgraph called name, or nil.
func (as Attrs) Graph(name string) *Graph {
	if a := as.get(name, AttrGraph); a != nil {
		return a.Graph
	}
	return nil
}
