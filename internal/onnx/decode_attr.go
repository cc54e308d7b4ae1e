package onnx

import "unsafe"

var (
	infoFields = fieldNames{1: "name", 2: "type"}
	typeFields = fieldNames{1: "tensor_type", 4: "sequence_type", 5: "map_type", 7: "opaque_type",
		8: "sparse_tensor_type", 9: "optional_type"}
	elemFields  = fieldNames{1: "elem_type", 2: "shape"}
	shapeFields = fieldNames{1: "dim"}
	dimFields   = fieldNames{1: "dim_value", 2: "dim_param"}
)

func (d *decoder) attribute(out *Attribute, b []byte) *fieldError {
	m := d.open(b, attrFields)
	has := attrUntyped
	for m.next() {
		switch m.num {
		case 1:
			out.Name = m.name()
		case 2:
			out.Float, has = m.float(), attrFloat
		case 3:
			out.Int, has = m.int(), attrInt
		case 4:
			out.Str, has = m.text(), attrString
		case 5:
			if m.spend(1, unsafe.Sizeof(TensorProto{})) {
				out.Tensor, has = &TensorProto{}, attrTensor
				m.sub(-1, d.tensor(out.Tensor, m.bytes()))
			}
		case 6:
			if m.spend(1, unsafe.Sizeof(Graph{})) {
				out.Graph, has = &Graph{}, attrGraph
				m.sub(-1, d.graph(out.Graph, m.bytes()))
			}
		case 8:
			out.Ints, has = m.ints(out.Ints), attrInts
		case 20:
			out.Type = AttrType(m.int())
		case 21:
			out.Ref = m.name()
		case 7, 9, 10, 11, 14, 15, 22, 23:
			has = d.attrList(&m, out, b)
		}
	}
	if out.Type == attrUntyped {
		out.Type = has
	}
	return m.close()
}

// attrList reads one of the rarer fields of the attribute with the given body, and returns the
// type that the field implies.
func (d *decoder) attrList(m *message, out *Attribute, body []byte) AttrType {
	if out.Lists == nil {
		if !m.spend(1, unsafe.Sizeof(AttrLists{})) {
			return attrUntyped
		}
		c := d.count(body)
		out.Lists = &AttrLists{}
		out.Lists.Strs = room(m, out.Lists.Strs, c[9])
		out.Lists.Tensors = room(m, out.Lists.Tensors, c[10])
		out.Lists.Graphs = room(m, out.Lists.Graphs, c[11])
		out.Lists.Types = room(m, out.Lists.Types, c[15])
		out.Lists.Sparses = room(m, out.Lists.Sparses, c[23])
	}
	switch l := out.Lists; m.num {
	case 7:
		l.Floats = m.floats(l.Floats)
		return attrFloats
	case 9:
		l.Strs = append(l.Strs, m.text())
		return attrStrings
	case 10:
		l.Tensors = append(l.Tensors, TensorProto{})
		m.sub(len(l.Tensors)-1, d.tensor(&l.Tensors[len(l.Tensors)-1], m.bytes()))
		return attrTensors
	case 11:
		l.Graphs = append(l.Graphs, Graph{})
		m.sub(len(l.Graphs)-1, d.graph(&l.Graphs[len(l.Graphs)-1], m.bytes()))
		return attrGraphs
	default:
		return d.attrType(m, l)
	}
}

func (d *decoder) attrType(m *message, l *AttrLists) AttrType {
	switch m.num {
	case 14:
		if m.spend(1, unsafe.Sizeof(TypeProto{})) {
			l.Type = &TypeProto{}
			m.sub(-1, d.typ(l.Type, m.bytes()))
		}
		return attrType
	case 15:
		l.Types = append(l.Types, TypeProto{})
		m.sub(len(l.Types)-1, d.typ(&l.Types[len(l.Types)-1], m.bytes()))
		return attrTypes
	case 22:
		if m.spend(1, unsafe.Sizeof(SparseTensor{})) {
			l.Sparse = &SparseTensor{}
			m.sub(-1, d.sparse(l.Sparse, m.bytes()))
		}
		return attrSparse
	}
	l.Sparses = append(l.Sparses, SparseTensor{})
	m.sub(len(l.Sparses)-1, d.sparse(&l.Sparses[len(l.Sparses)-1], m.bytes()))
	return attrSparses
}

// info appends the value info in the current field of m.
func (d *decoder) info(m *message, list []ValueInfo) []ValueInfo {
	i := len(list)
	list = grow(m, list)
	m.sub(i, d.valueInfo(&list[i], m.bytes()))
	return list
}

func (d *decoder) valueInfo(out *ValueInfo, b []byte) *fieldError {
	m := d.open(b, infoFields)
	for m.next() {
		switch m.num {
		case 1:
			out.Name = m.name()
		case 2:
			m.sub(-1, d.typ(&out.Type, m.bytes()))
		}
	}
	return m.close()
}

func (d *decoder) typ(out *TypeProto, b []byte) *fieldError {
	m := d.open(b, typeFields)
	for m.next() {
		switch m.num {
		case 1:
			*out = TypeProto{Kind: TensorType}
			m.sub(-1, d.elem(out, m.bytes()))
		case 4:
			*out = TypeProto{Kind: SequenceType}
			m.sub(-1, d.inner(out, m.bytes()))
		case 5:
			*out = TypeProto{Kind: MapType}
		case 7:
			*out = TypeProto{Kind: OpaqueType}
		case 8:
			*out = TypeProto{Kind: SparseType}
			m.sub(-1, d.elem(out, m.bytes()))
		case 9:
			*out = TypeProto{Kind: OptionalType}
			m.sub(-1, d.inner(out, m.bytes()))
		}
	}
	return m.close()
}

// inner reads what a sequence or an optional holds.
func (d *decoder) inner(out *TypeProto, b []byte) *fieldError {
	m := d.open(b, elemFields)
	for m.next() {
		if m.num == 1 && m.spend(1, unsafe.Sizeof(TypeProto{})) {
			out.Inner = &TypeProto{}
			m.sub(-1, d.typ(out.Inner, m.bytes()))
		}
	}
	return m.close()
}

// elem reads the element type and the shape of a tensor.
func (d *decoder) elem(out *TypeProto, b []byte) *fieldError {
	m := d.open(b, elemFields)
	for m.next() {
		switch m.num {
		case 1:
			out.Elem = int32(m.int())
		case 2:
			out.HasShape, out.Dims = true, nil
			m.sub(-1, d.shape(out, m.bytes()))
		}
	}
	return m.close()
}

func (d *decoder) shape(out *TypeProto, b []byte) *fieldError {
	m := d.open(b, shapeFields)
	out.Dims = room(&m, out.Dims, d.count(b)[1])
	for m.next() {
		if m.num == 1 {
			out.Dims = append(out.Dims, DimProto{})
			m.sub(len(out.Dims)-1, d.dim(&out.Dims[len(out.Dims)-1], m.bytes()))
		}
	}
	return m.close()
}

func (d *decoder) dim(out *DimProto, b []byte) *fieldError {
	m := d.open(b, dimFields)
	for m.next() {
		switch m.num {
		case 1:
			*out = DimProto{Value: m.int(), HasValue: true}
		case 2:
			*out = DimProto{Param: m.name()}
		}
	}
	return m.close()
}
