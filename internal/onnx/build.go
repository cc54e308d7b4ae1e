package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// graph imports the model's graph or, when parent is set, a subgraph of a node in that scope.
func (im *importer) graph(src *Graph, parent *scope, c *call) (*graph.Graph, error) {
	g := &graph.Graph{Name: src.Name}
	n := len(src.Inits) + len(src.Sparse) + len(src.Inputs) + outputs(src.Nodes)
	if err := im.spend(int64(n+1) * nameCost); err != nil {
		return nil, err
	}
	s := im.newScope(g, parent, c, n)
	g.Values = make([]graph.Value, 0, n)
	err := s.inputs(src)
	if err == nil {
		err = s.body(src.Nodes, src.Infos, src.Outputs)
	}
	if err == nil {
		err = s.outputs(src)
	}
	if err != nil && parent != nil {
		err = fmt.Errorf("subgraph %.120q: %w", src.Name, err)
	}
	return g, err
}

// outputs counts the values that nodes compute.
func outputs(nodes []Node) int {
	n := 0
	for i := range nodes {
		n += len(nodes[i].Outputs)
	}
	return n
}

// inputs declares what is there before the first node: inputs and initialisers.
func (s *scope) inputs(src *Graph) error {
	consts, late := map[string]bool{}, map[string]*ValueInfo{}
	if s.parent == nil {
		for i := range src.Inits {
			consts[src.Inits[i].Name] = true
		}
		for i := range src.Sparse {
			consts[src.Sparse[i].Values.Name] = true
		}
	}
	for i := range src.Inputs {
		in := &src.Inputs[i]
		if consts[in.Name] {
			late[in.Name] = in
			continue
		}
		if err := s.input(in); err != nil {
			return err
		}
	}
	for i := range src.Inits {
		p := &src.Inits[i]
		if err := s.init(p.Name, late[p.Name], func() (*tensor.Tensor, error) { return s.im.tensor(p) }); err != nil {
			return err
		}
	}
	for i := range src.Sparse {
		p := &src.Sparse[i]
		name := p.Values.Name
		if err := s.init(name, late[name], func() (*tensor.Tensor, error) { return s.im.dense(p) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *scope) input(in *ValueInfo) error {
	if in.Name == "" {
		return fmt.Errorf("input %d has no name", len(s.g.Inputs))
	}
	v := graph.Value{Name: in.Name}
	if err := s.im.annotate(&v, in); err != nil {
		return err
	}
	if in.Type.Kind <= TensorType && in.Type.Elem == 0 && s.parent == nil {
		s.im.out.Untyped = append(s.im.out.Untyped, Untyped{Value: in.Name, Reason: "the input has no element type"})
	}
	id, err := s.add(v)
	if err != nil {
		return err
	}
	if !s.bind(in.Name, id) {
		return fmt.Errorf("two inputs are called %.120q", in.Name)
	}
	s.g.Inputs = append(s.g.Inputs, id)
	return nil
}

// init declares an initialiser. A subgraph's input of that name counts more: the node that has
// the subgraph always feeds it.
func (s *scope) init(name string, info *ValueInfo, load func() (*tensor.Tensor, error)) error {
	if name == "" {
		s.im.warn("an initialiser without a name is left out")
		return nil
	}
	if old := s.syms[name]; old != nil {
		if s.g.Values[old.id].Const == nil {
			s.im.warn("initialiser %.120q of a subgraph is left out: it is an input", name)
			return nil
		}
		return fmt.Errorf("two initialisers are called %.120q", name)
	}
	t, err := load()
	if err != nil {
		return err
	}
	v := graph.Value{Name: name, Type: typeOf(t), Const: t}
	if err := s.im.annotate(&v, info); err != nil {
		return err
	}
	id, err := s.add(v)
	s.bind(name, id)
	return err
}

// outputs resolves what the graph returns. A name that the model's graph returns twice counts
// once: outputs are told apart by name.
func (s *scope) outputs(src *Graph) error {
	seen := make(map[graph.ValueID]bool, len(src.Outputs))
	for i := range src.Outputs {
		out := &src.Outputs[i]
		id, err := s.lookup(out.Name)
		switch {
		case err != nil:
			return fmt.Errorf("output %d: %w", i, err)
		case id == graph.NoValue:
			return fmt.Errorf("output %.120q is an optional value that is left out", out.Name)
		case s.parent == nil && seen[id]:
			s.im.warn("output %.120q is listed twice", out.Name)
			continue
		}
		seen[id] = true
		s.g.Outputs = append(s.g.Outputs, id)
	}
	return nil
}

// body declares what the nodes compute, attaches what the file says of these values, and adds
// the nodes in an order in which each follows those it reads from.
func (s *scope) body(nodes []Node, infos, outs []ValueInfo) error {
	for i := range nodes {
		for _, name := range nodes[i].Outputs {
			if name == "" {
				continue
			}
			if p, ok := s.declare(name, int32(i)); !ok {
				return s.duplicate(name, p, nodes, i)
			}
		}
	}
	if err := s.annotations(infos); err != nil {
		return err
	}
	if err := s.annotations(outs); err != nil {
		return err
	}
	order, err := s.order(nodes)
	if err != nil {
		return err
	}
	if err := s.im.spend(int64(len(nodes)) * 8); err != nil {
		return err
	}
	if s.root == s {
		s.g.Nodes = make([]*graph.Node, 0, len(nodes))
	}
	for i := range nodes {
		n := &nodes[i]
		if order != nil {
			n = &nodes[order[i]]
		}
		if err := s.node(n); err != nil {
			return fmt.Errorf("node %s: %w", label(n), err)
		}
	}
	return nil
}

func (s *scope) duplicate(name string, old *sym, nodes []Node, i int) error {
	if old.node >= 0 {
		return fmt.Errorf("value %.120q is computed twice, by node %s and by node %s", name,
			label(&nodes[old.node]), label(&nodes[i]))
	}
	return fmt.Errorf("value %.120q is computed by node %s, but is also an input or an initialiser", name,
		label(&nodes[i]))
}

// annotations remembers the types that the file declares, for when the values are made. Of two
// the later counts, which is the graph's own output; what has a type already is checked now.
func (s *scope) annotations(infos []ValueInfo) error {
	for i := range infos {
		info := &infos[i]
		p := s.syms[info.Name]
		switch {
		case p == nil || info.Type.Kind == NoType:
		case !p.done:
			if p.info != nil {
				s.im.compare(p.info, info)
			}
			p.info = info
		case p.id != graph.NoValue && s.root == s:
			if err := s.im.annotate(&s.g.Values[p.id], info); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare warns when two declarations of one value clash.
func (im *importer) compare(a, b *ValueInfo) {
	ta, _, aerr := im.typ(&a.Type)
	tb, _, berr := im.typ(&b.Type)
	if aerr == nil && berr == nil && clash(ta, tb) {
		im.warn("value %.120q: got two types, %v%v and %v%v; the second counts", a.Name,
			ta.DType, ta.Shape, tb.DType, tb.Shape)
	}
}

// node adds one node, or what stands for it: a constant, or a function's nodes.
func (s *scope) node(n *Node) error {
	if n.Op == "" {
		return errors.New("got no operator")
	}
	domain := canonical(n.Domain)
	cost := nodeCost + len(s.prefix) + len(n.Name) + 4*(len(n.Inputs)+len(n.Outputs))
	if err := s.im.spend(int64(cost)); err != nil {
		return err
	}
	if fn := s.im.fns[fnKey{domain, n.Op, n.Overload}]; fn != nil {
		return s.inline(n, fn)
	}
	if domain == "" && n.Op == "Constant" {
		return s.constant(n)
	}
	v, imported := s.version(domain)
	out := &graph.Node{
		Domain: domain, Op: n.Op, Version: v, Name: s.nodeName(n.Name),
		Inputs: make([]graph.ValueID, len(n.Inputs)), Outputs: make([]graph.ValueID, len(n.Outputs)),
	}
	for i, name := range n.Inputs {
		id, err := s.operand(name)
		if err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		out.Inputs[i] = id
	}
	if err := s.attributes(n, out); err != nil {
		return err
	}
	for i, name := range n.Outputs {
		out.Outputs[i] = graph.NoValue
		if name == "" {
			continue
		}
		id, err := s.compute(name, nil)
		if err != nil {
			return err
		}
		out.Outputs[i] = id
	}
	s.im.support(out, imported)
	s.g.Nodes = append(s.g.Nodes, out)
	return arity(out)
}

// operand returns the value of an input's name.
func (s *scope) operand(name string) (graph.ValueID, error) {
	if name == "" {
		return graph.NoValue, nil
	}
	return s.lookup(name)
}

// nodeName is what a node of this scope is called in the graph.
func (s *scope) nodeName(name string) string {
	switch {
	case s.prefix == "":
		return name
	case name == "":
		return strings.TrimSuffix(s.prefix, "/")
	}
	return s.prefix + name
}

// label is how messages name a node of the file: its operator, and its name or first output.
func label(n *Node) string {
	op := cmp.Or(n.Op, "?")
	if d := canonical(n.Domain); d != "" {
		op = d + "." + op
	}
	switch {
	case n.Name != "":
		return fmt.Sprintf("%.120s %.120q", op, n.Name)
	case len(n.Outputs) > 0:
		return fmt.Sprintf("%.120s → %.120q", op, n.Outputs[0])
	}
	return fmt.Sprintf("%.120s", op)
}
