package onnx

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// The names of the fields, for error messages; a field without a name is skipped.
var (
	modelFields = fieldNames{1: "ir_version", 2: "producer_name", 3: "producer_version", 4: "domain",
		5: "model_version", 6: "doc_string", 7: "graph", 8: "opset_import", 14: "metadata_props",
		20: "training_info", 25: "functions"}
	opsetFields = fieldNames{1: "domain", 2: "version"}
	entryFields = fieldNames{1: "key", 2: "value"}
	graphFields = fieldNames{1: "node", 2: "name", 5: "initializer", 11: "input", 12: "output",
		13: "value_info", 15: "sparse_initializer"}
	nodeFields = fieldNames{1: "input", 2: "output", 3: "name", 4: "op_type", 5: "attribute", 7: "domain",
		8: "overload"}
	functionFields = fieldNames{1: "name", 4: "input", 5: "output", 6: "attribute", 7: "node", 9: "opset_import",
		10: "domain", 11: "attribute_proto", 12: "value_info", 13: "overload"}
	attrFields = fieldNames{1: "name", 2: "f", 3: "i", 4: "s", 5: "t", 6: "g", 7: "floats", 8: "ints", 9: "strings",
		10: "tensors", 11: "graphs", 14: "tp", 15: "type_protos", 20: "type", 21: "ref_attr_name",
		22: "sparse_tensor", 23: "sparse_tensors"}
	sparseFields = fieldNames{1: "values", 2: "indices", 3: "dims"}
	tensorFields = fieldNames{1: "dims", 2: "data_type", 3: "segment", 4: "float_data", 5: "int32_data",
		6: "string_data", 7: "int64_data", 8: "name", 9: "raw_data", 10: "double_data", 11: "uint64_data",
		13: "external_data", 14: "data_location"}
)

// Decode reads a model from the bytes of a file, whose tensors stay where they are: their
// contents are not looked at. It takes time and memory for the structure alone, and never more
// than 64 MiB and four times the length of b.
func Decode(b []byte) (*Model, error) { return decode(b, nil) }

// decode is Decode that calls release, unless it is nil, when memory through which b is seen may
// be given back: a page that is looked at can take megabytes around it along.
func decode(b []byte, release func()) (*Model, error) {
	m := &Model{Size: int64(len(b))}
	if len(b) == 0 {
		return nil, fmt.Errorf("onnx: model: the file is empty")
	}
	d := newDecoder(b)
	d.release = release
	if err := d.model(m, b); err != nil {
		return nil, err.under("model")
	}
	if m.Graph == nil {
		return nil, fmt.Errorf("onnx: model: has no graph (is it an ONNX file?)")
	}
	return m, nil
}

func (d *decoder) model(out *Model, b []byte) *fieldError {
	m, c := d.open(b, modelFields), d.count(b)
	out.Opsets = room(&m, out.Opsets, c[8])
	out.Props = room(&m, out.Props, c[14])
	out.Functions = room(&m, out.Functions, c[25])
	for m.next() {
		switch m.num {
		case 1:
			out.IR = m.int()
		case 2:
			out.Producer = m.text()
		case 3:
			out.ProducerVersion = m.text()
		case 4:
			out.Domain = m.text()
		case 5:
			out.Version = m.int()
		case 6:
			out.Doc = m.text()
		case 7:
			if out.Graph != nil {
				m.fail("given twice")
				break
			}
			out.Graph = &Graph{}
			m.sub(-1, d.graph(out.Graph, m.bytes()))
		case 8:
			out.Opsets = append(out.Opsets, Opset{})
			m.sub(len(out.Opsets)-1, d.opset(&out.Opsets[len(out.Opsets)-1], m.bytes()))
		case 14:
			out.Props = append(out.Props, Entry{})
			m.sub(len(out.Props)-1, d.entry(&out.Props[len(out.Props)-1], m.bytes()))
		case 20:
			out.Training = true
		case 25:
			out.Functions = append(out.Functions, Function{})
			m.sub(len(out.Functions)-1, d.function(&out.Functions[len(out.Functions)-1], m.bytes()))
		}
	}
	return m.close()
}

func (d *decoder) opset(out *Opset, b []byte) *fieldError {
	m := d.open(b, opsetFields)
	for m.next() {
		switch m.num {
		case 1:
			out.Domain = m.name()
		case 2:
			out.Version = m.int()
		}
	}
	return m.close()
}

func (d *decoder) entry(out *Entry, b []byte) *fieldError {
	m := d.open(b, entryFields)
	for m.next() {
		switch m.num {
		case 1:
			out.Key = m.name()
		case 2:
			out.Value = m.text()
		}
	}
	return m.close()
}

// graph makes no first pass to count: each look at a large graph costs time.
func (d *decoder) graph(out *Graph, b []byte) *fieldError {
	m := d.open(b, graphFields)
	for m.next() {
		switch m.num {
		case 1:
			out.Nodes = grow(&m, out.Nodes)
			m.sub(len(out.Nodes)-1, d.node(&out.Nodes[len(out.Nodes)-1], m.bytes()))
		case 2:
			out.Name = m.text()
		case 5:
			out.Inits = grow(&m, out.Inits)
			m.sub(len(out.Inits)-1, d.tensor(&out.Inits[len(out.Inits)-1], m.bytes()))
		case 11:
			out.Inputs = d.info(&m, out.Inputs)
		case 12:
			out.Outputs = d.info(&m, out.Outputs)
		case 13:
			out.Infos = d.info(&m, out.Infos)
		case 15:
			out.Sparse = grow(&m, out.Sparse)
			m.sub(len(out.Sparse)-1, d.sparse(&out.Sparse[len(out.Sparse)-1], m.bytes()))
		}
	}
	return m.close()
}

func (d *decoder) node(out *Node, b []byte) *fieldError {
	m, c := d.open(b, nodeFields), d.count(b)
	out.Inputs = room(&m, out.Inputs, c[1])
	out.Outputs = room(&m, out.Outputs, c[2])
	out.Attrs = room(&m, out.Attrs, c[5])
	for m.next() {
		switch m.num {
		case 1:
			out.Inputs = append(out.Inputs, m.name())
		case 2:
			out.Outputs = append(out.Outputs, m.name())
		case 3:
			out.Name = m.text()
		case 4:
			out.Op = m.name()
		case 5:
			out.Attrs = append(out.Attrs, Attribute{})
			m.sub(len(out.Attrs)-1, d.attribute(&out.Attrs[len(out.Attrs)-1], m.bytes()))
		case 7:
			out.Domain = m.name()
		case 8:
			out.Overload = m.name()
		}
	}
	return m.close()
}

func (d *decoder) function(out *Function, b []byte) *fieldError {
	m, c := d.open(b, functionFields), d.count(b)
	out.Inputs = room(&m, out.Inputs, c[4])
	out.Outputs = room(&m, out.Outputs, c[5])
	out.Attrs = room(&m, out.Attrs, c[6])
	out.Nodes = room(&m, out.Nodes, c[7])
	out.Opsets = room(&m, out.Opsets, c[9])
	out.Defaults = room(&m, out.Defaults, c[11])
	for m.next() {
		switch m.num {
		case 1:
			out.Name = m.name()
		case 4:
			out.Inputs = append(out.Inputs, m.name())
		case 5:
			out.Outputs = append(out.Outputs, m.name())
		case 6:
			out.Attrs = append(out.Attrs, m.name())
		case 7:
			out.Nodes = append(out.Nodes, Node{})
			m.sub(len(out.Nodes)-1, d.node(&out.Nodes[len(out.Nodes)-1], m.bytes()))
		case 9:
			out.Opsets = append(out.Opsets, Opset{})
			m.sub(len(out.Opsets)-1, d.opset(&out.Opsets[len(out.Opsets)-1], m.bytes()))
		case 10:
			out.Domain = m.name()
		case 11:
			out.Defaults = append(out.Defaults, Attribute{})
			m.sub(len(out.Defaults)-1, d.attribute(&out.Defaults[len(out.Defaults)-1], m.bytes()))
		case 12:
			out.Infos = d.info(&m, out.Infos)
		case 13:
			out.Overload = m.name()
		}
	}
	return m.close()
}

func (d *decoder) sparse(out *SparseTensor, b []byte) *fieldError {
	m := d.open(b, sparseFields)
	for m.next() {
		switch m.num {
		case 1:
			out.Values = TensorProto{}
			m.sub(-1, d.tensor(&out.Values, m.bytes()))
		case 2:
			out.Indices = TensorProto{}
			m.sub(-1, d.tensor(&out.Indices, m.bytes()))
		case 3:
			out.Dims = m.ints(out.Dims)
		}
	}
	return m.close()
}

// tensor notes where the contents are; it does not look at them.
func (d *decoder) tensor(out *TensorProto, b []byte) *fieldError {
	m := d.open(b, tensorFields)
	out.body = b
	for m.next() {
		switch m.num {
		case 1:
			out.Dims = m.ints(out.Dims)
		case 2:
			out.Type = int32(m.int())
		case 3:
			out.segment = true
		case 4, 5, 6, 7, 10, 11:
			if m.typ != protowire.BytesType || len(m.raw) > 0 || m.num == fieldStrings {
				out.typed |= 1 << m.num
			}
		case 8:
			out.Name = m.name()
		case 9:
			out.Raw = m.bytes()
		case 13:
			if m.spend(1, 32) {
				out.External = append(out.External, Entry{})
				m.sub(len(out.External)-1, d.entry(&out.External[len(out.External)-1], m.bytes()))
			}
		case 14:
			out.external = m.int() == 1
		}
	}
	return m.close()
}
