// Package onnx reads ONNX files: Decode turns the bytes into light structs that point into
// them, Import turns those into a graph. Weights stay where they are in the file. It does not
// know what an operator means, beyond the number of its inputs and outputs, nor how one is run.
// Sizes are in bytes, extents in elements.
package onnx

// Model is a decoded file. Names are copies; the contents of tensors are slices of the bytes
// that were decoded, which must neither change nor go away while the model is in use.
type Model struct {
	IR              int64
	Producer        string
	ProducerVersion string
	Domain          string
	Version         int64
	Doc             string
	Graph           *Graph
	Opsets          []Opset
	Functions       []Function
	Props           []Entry
	// Size is the number of bytes the model was decoded from.
	Size int64
	// Training says that the file also holds training graphs, which are not decoded.
	Training bool
}

// Opset names a version of a domain's operator set.
type Opset struct {
	Domain  string
	Version int64
}

// Entry is a key and its value.
type Entry struct{ Key, Value string }

// Graph is a list of nodes, in no particular order, and what they read and write.
type Graph struct {
	Name    string
	Nodes   []Node
	Inits   []TensorProto
	Sparse  []SparseTensor
	Inputs  []ValueInfo
	Outputs []ValueInfo
	Infos   []ValueInfo
}

// Node calls an operator or a function. An empty name in Inputs or Outputs is one left out.
type Node struct {
	Name, Domain, Op string
	// Overload tells functions of one name apart.
	Overload string
	Inputs   []string
	Outputs  []string
	Attrs    []Attribute
}

// Function is a node's meaning, spelled out in other nodes.
type Function struct {
	Name, Domain, Overload string
	Inputs                 []string
	Outputs                []string
	// Attrs names the attributes without a default, Defaults holds the others.
	Attrs    []string
	Defaults []Attribute
	Nodes    []Node
	Opsets   []Opset
	Infos    []ValueInfo
}

// AttrType says which field of an Attribute holds its value. The numbers are the file's.
type AttrType int32

// The types of attribute; untyped ones occur in old files.
const (
	attrUntyped AttrType = iota
	attrFloat
	attrInt
	attrString
	attrTensor
	attrGraph
	attrFloats
	attrInts
	attrStrings
	attrTensors
	attrGraphs
	attrSparse
	attrSparses
	attrType
	attrTypes
)

// Attribute is one named constant of a node. The rarer kinds are under Lists.
type Attribute struct {
	Name string
	// Ref, when set, names the attribute of the enclosing function that gives the value.
	Ref   string
	Type  AttrType
	Float float32
	Int   int64
	Str   string
	Ints  []int64
	// Tensor and Graph are nil when the file leaves them out.
	Tensor *TensorProto
	Graph  *Graph
	// Lists is nil when the attribute has none of its fields.
	Lists *AttrLists
}

// AttrLists holds the rarer kinds of attribute.
type AttrLists struct {
	Floats  []float32
	Strs    []string
	Tensors []TensorProto
	Graphs  []Graph
	Sparse  *SparseTensor
	Sparses []SparseTensor
	Type    *TypeProto
	Types   []TypeProto
}

// SparseTensor holds the elements of a tensor that are not zero: Indices are flat positions or
// one row of coordinates for each element of Values.
type SparseTensor struct {
	Values, Indices TensorProto
	Dims            []int64
}

// ValueInfo is what the file says of a value.
type ValueInfo struct {
	Name string
	Type TypeProto
}

// TypeKind says what kind of thing a value is.
type TypeKind uint8

// The kinds of type; NoType where the file says nothing.
const (
	NoType TypeKind = iota
	TensorType
	SequenceType
	MapType
	OptionalType
	SparseType
	OpaqueType
)

// String returns the kind's name, such as "sequence".
func (k TypeKind) String() string {
	return [...]string{"nothing", "tensor", "sequence", "map", "optional", "sparse tensor", "opaque"}[k]
}

// TypeProto is a declared type. Only a tensor and a sparse tensor have an element type and a
// shape; Inner is what a sequence or an optional holds.
type TypeProto struct {
	Kind TypeKind
	// HasShape tells a scalar from a tensor of unknown rank.
	HasShape bool
	Elem     int32
	Dims     []DimProto
	Inner    *TypeProto
}

// DimProto is a declared extent: a number when HasValue, else a name, else nothing.
type DimProto struct {
	Value    int64
	Param    string
	HasValue bool
}

// TensorProto is a tensor in a file. Its contents are in Raw, in typed fields that are read
// when they are asked for, or in another file.
type TensorProto struct {
	Name string
	Dims []int64
	Type int32
	// Raw is little-endian and may start at any address.
	Raw []byte
	// External names the file, offset and length of contents that are elsewhere.
	External []Entry
	external bool
	segment  bool
	// typed has the bit 1<<n for each typed field of number n that holds something.
	typed uint16
	// body is the message, in which the typed fields are found.
	body []byte
}
