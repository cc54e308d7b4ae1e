package place

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// The shape of a problem in JSON. Numbers are kept as they are written, so that an error can say
// which one it is about.
type jsonProblem struct {
	Devices  []string         `json:"devices"`
	Nodes    []jsonNode       `json:"nodes"`
	Tensors  []jsonTensor     `json:"tensors"`
	Latency  [][]*json.Number `json:"latency_ns"`
	PerByte  [][]*json.Number `json:"ns_per_byte"`
	Exit     *string          `json:"exit"`
	Capacity []*json.Number   `json:"capacity"`
	Relay    bool             `json:"relay"`
}

type jsonNode struct {
	Name  string         `json:"name"`
	Cost  []*json.Number `json:"cost"`
	Bytes []*json.Number `json:"bytes"`
}

type jsonTensor struct {
	Name  string       `json:"name"`
	From  *string      `json:"from"`
	View  *string      `json:"view"`
	To    []string     `json:"to"`
	Bytes *json.Number `json:"bytes"`
	Out   bool         `json:"out"`
}

// ReadJSON reads a problem:
//
//	{"devices": ["cpu", "gpu0"],
//	 "nodes": [{"name": "p", "cost": [5, null], "bytes": [0, 0]}],
//	 "tensors": [{"from": "@cpu", "to": ["p"], "bytes": 4}, {"from": "p", "to": [], "bytes": 8, "out": true}],
//	 "latency_ns": [[0, 10], [10, 0]], "ns_per_byte": [[0, 1], [1, 0]],
//	 "exit": "cpu", "capacity": [null, 1000000], "relay": false}
//
// A null cost means that the node cannot run there, a null capacity that there is no limit, a null
// latency that there is no link. Devices and nodes have different names. A tensor is "from" a node
// or "@" and a device, or it has a "view", the name of the tensor whose bytes it is; a tensor's
// "name" is that of its node unless given. "bytes", "exit", "capacity" and "relay" may be left out.
// Every error is an *Error whose field is that of the text.
func ReadJSON(r io.Reader) (*Problem, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("place: %w", err)
	}
	var j jsonProblem
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&j); err != nil {
		return nil, syntax(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fail(ErrSyntax, "", "", "got more behind the problem, want one object")
	}
	b := reader{j: &j, p: &Problem{Devices: j.Devices, Exit: NoExit, Relay: j.Relay}}
	for _, read := range []func() error{b.names, b.nodes, b.tensors, b.views, b.links, b.limits} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	if _, err := newModel(b.p); err != nil {
		return nil, err
	}
	return b.p, nil
}

// syntax names the field in an error of the decoder.
func syntax(err error) error {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fail(ErrSyntax, t.Field, "", "got %s, want %s", t.Value, kind(t.Type.String()))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fail(ErrSyntax, "", "", "got an end inside the text, want one object")
	}
	return fail(ErrSyntax, "", "", "got bad JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
}

// kind gives the name of a type in JSON's terms.
func kind(name string) string {
	switch {
	case strings.HasPrefix(name, "[]"):
		return "an array"
	case strings.Contains(name, "Number"):
		return "a number"
	case strings.Contains(name, "string"):
		return "a string"
	case strings.Contains(name, "bool"):
		return "true or false"
	}
	return "an object"
}

// reader turns JSON into a problem.
type reader struct {
	j       *jsonProblem
	p       *Problem
	devices map[string]int
	nodeAt  map[string]int
}

func (b *reader) names() error {
	b.devices, b.nodeAt = make(map[string]int), make(map[string]int)
	for i, name := range b.j.Devices {
		field := fmt.Sprintf("devices[%d]", i)
		if name == "" {
			return fail(ErrName, field, "", "got no name, want one")
		}
		if _, twice := b.devices[name]; twice {
			return fail(ErrName, field, name, "got a name that another device has")
		}
		b.devices[name] = i
	}
	for i := range b.j.Nodes {
		name, field := b.j.Nodes[i].Name, fmt.Sprintf("nodes[%d].name", i)
		if name == "" || name[0] == '@' {
			return fail(ErrName, field, name, "got %q, want a name that does not start with @", name)
		}
		if _, twice := b.nodeAt[name]; twice {
			return fail(ErrName, field, name, "got a name that another node has")
		}
		b.nodeAt[name] = i
	}
	return nil
}

func (b *reader) nodes() error {
	for i := range b.j.Nodes {
		j, field := &b.j.Nodes[i], fmt.Sprintf("nodes[%d]", i)
		n := Node{Name: j.Name}
		var err error
		if n.Cost, err = whole(j.Cost, field+".cost", j.Name, ErrCost, Cannot); err != nil {
			return err
		}
		if n.Bytes, err = whole(j.Bytes, field+".bytes", j.Name, ErrBytes, 0); err != nil {
			return err
		}
		b.p.Nodes = append(b.p.Nodes, n)
	}
	return nil
}

func (b *reader) tensors() error {
	for i := range b.j.Tensors {
		j, field := &b.j.Tensors[i], fmt.Sprintf("tensors[%d]", i)
		t := Tensor{Name: j.Name, Out: j.Out}
		if (j.From == nil) == (j.View == nil) {
			return fail(ErrShape, field, j.Name, `got both or none of "from" and "view", want one`)
		}
		if err := b.origin(j, &t, field); err != nil {
			return err
		}
		for k, name := range j.To {
			to, ok := b.nodeAt[name]
			if !ok {
				return fail(ErrName, fmt.Sprintf("%s.to[%d]", field, k), name, "got no node of that name")
			}
			t.To = append(t.To, to)
		}
		if j.Bytes != nil {
			var err error
			if t.Bytes, err = number(*j.Bytes, field+".bytes", j.Name, ErrBytes); err != nil {
				return err
			}
		}
		b.p.Tensors = append(b.p.Tensors, t)
	}
	return nil
}

// origin reads where a tensor is from. Views wait until all tensors are there.
func (b *reader) origin(j *jsonTensor, t *Tensor, field string) error {
	if j.From == nil {
		t.From = View
		return nil
	}
	if device, ok := strings.CutPrefix(*j.From, "@"); ok {
		at, known := b.devices[device]
		if !known {
			return fail(ErrName, field+".from", *j.From, "got no device of that name")
		}
		t.From, t.At = Fixed, at
		return nil
	}
	at, ok := b.nodeAt[*j.From]
	if !ok {
		return fail(ErrName, field+".from", *j.From, "got no node of that name")
	}
	t.From = at
	return nil
}

func (b *reader) views() error {
	const twice = -1
	at := make(map[string]int)
	for i := range b.p.Tensors {
		name := b.p.TensorName(i)
		if _, ok := at[name]; ok {
			at[name] = twice
			continue
		}
		at[name] = i
	}
	for i := range b.j.Tensors {
		name := b.j.Tensors[i].View
		if name == nil {
			continue
		}
		of, ok := at[*name]
		field := fmt.Sprintf("tensors[%d].view", i)
		switch {
		case !ok:
			return fail(ErrName, field, *name, "got no tensor of that name")
		case of == twice:
			return fail(ErrName, field, *name, "got several tensors of that name, want one")
		}
		b.p.Tensors[i].At = of
	}
	return nil
}

func (b *reader) links() error {
	for i, row := range b.j.Latency {
		out, err := whole(row, fmt.Sprintf("latency_ns[%d]", i), "", ErrLink, NoLink)
		if err != nil {
			return err
		}
		b.p.Latency = append(b.p.Latency, out)
	}
	for i, row := range b.j.PerByte {
		out := make([]float64, len(row))
		for k, n := range row {
			if n == nil {
				continue
			}
			rate, err := n.Float64()
			if err != nil || rate < 0 {
				return fail(ErrLink, fmt.Sprintf("ns_per_byte[%d][%d]", i, k), "", "got %s ns, want a number, at least 0 ns", *n)
			}
			out[k] = rate
		}
		b.p.PerByte = append(b.p.PerByte, out)
	}
	return nil
}

func (b *reader) limits() error {
	if b.j.Exit != nil {
		at, ok := b.devices[*b.j.Exit]
		if !ok {
			return fail(ErrName, "exit", *b.j.Exit, "got no device of that name")
		}
		b.p.Exit = at
	}
	var err error
	b.p.Capacity, err = whole(b.j.Capacity, "capacity", "", ErrBytes, Unlimited)
	return err
}

// whole reads whole numbers that are not negative; null is none. It keeps a list that is not there.
func whole(list []*json.Number, field, name string, kind error, none int64) ([]int64, error) {
	if list == nil {
		return nil, nil
	}
	out := make([]int64, len(list))
	for i, n := range list {
		if n == nil {
			out[i] = none
			continue
		}
		var err error
		if out[i], err = number(*n, fmt.Sprintf("%s[%d]", field, i), name, kind); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// number reads a whole number that is not negative, in any notation.
func number(n json.Number, field, name string, kind error) (int64, error) {
	v, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil {
		f, ferr := n.Float64()
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
			return 0, fail(kind, field, name, "got %s, want a whole number below 2^63, at least 0", n)
		}
		v = int64(f)
	}
	if v < 0 {
		return 0, fail(kind, field, name, "got %d, want at least 0", v)
	}
	return v, nil
}
