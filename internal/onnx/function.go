package onnx

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stowage-ml/stowage/internal/graph"
)

const (
	// maxCalls is how deep calls of functions may be nested.
	maxCalls = 200
	// maxGraphs is how deep subgraphs may be nested, those of functions in place.
	maxGraphs = 64
)

// fnKey is what a node names a function by; the domain is canonical.
type fnKey struct{ domain, name, overload string }

// function is a function of the model, with its imports by domain.
type function struct {
	*Function
	opsets map[string]int64
}

// call is one expansion of a function; the outermost has no fn and stands for the model.
type call struct {
	fn     *function
	attrs  map[string]bound
	opsets map[string]int64
	up     *call
	depth  int
}

// bound is an attribute and the scope in which its subgraphs are to be read.
type bound struct {
	attr *Attribute
	env  *scope
}

// functions indexes the functions of the model.
func (im *importer) functions() error {
	for i := range im.m.Functions {
		fn := &im.m.Functions[i]
		k := fnKey{canonical(fn.Domain), fn.Name, fn.Overload}
		if im.fns[k] != nil {
			return fmt.Errorf("two functions are called %s", fn.label())
		}
		im.fns[k] = &function{fn, im.opsets(fn.Opsets, "function "+fn.label())}
	}
	return nil
}

func (fn *Function) label() string {
	name := fn.Name
	if fn.Domain != "" {
		name = fn.Domain + "." + name
	}
	if fn.Overload != "" {
		name += ":" + fn.Overload
	}
	return fmt.Sprintf("%.120q", name)
}

// version returns the version of a domain, and whether it is imported: by the function, or else
// by the model.
func (s *scope) version(domain string) (int, bool) {
	v, ok := s.call.opsets[domain]
	if !ok {
		v, ok = s.im.out.Meta.Opsets[domain]
	}
	return int(min(max(v, -1), 1<<30)), ok
}

// inline adds the nodes of a function in place of the node that calls it. The function's
// outputs get the caller's names; all else gets names that no other value has.
func (s *scope) inline(n *Node, fn *function) error {
	c, err := s.enter(n, fn)
	if err != nil {
		return err
	}
	f := s.im.newScope(s.g, nil, c, len(fn.Inputs)+outputs(fn.Nodes))
	f.root, f.depth, f.prefix = s.root, s.depth, s.callPrefix(n)
	for i, name := range fn.Inputs {
		id := graph.NoValue
		if i < len(n.Inputs) {
			if id, err = s.operand(n.Inputs[i]); err != nil {
				return fmt.Errorf("input %d: %w", i, err)
			}
		}
		if !f.bind(name, id) {
			return fmt.Errorf("function %s: two inputs are called %.120q", fn.label(), name)
		}
	}
	f.rename = make(map[string]string, len(n.Outputs))
	owner := make(map[string]int, len(n.Outputs))
	for i, name := range n.Outputs {
		out := fn.Outputs[i]
		if _, twice := owner[out]; name != "" && !twice && f.syms[out] == nil {
			owner[out], f.rename[out] = i, s.valueName(name)
		}
	}
	if err := f.body(fn.Nodes, fn.Infos, nil); err != nil {
		return fmt.Errorf("function %s: %w", fn.label(), err)
	}
	return s.results(n, f, owner)
}

// enter checks a call, and binds the attributes that it passes.
func (s *scope) enter(n *Node, fn *function) (*call, error) {
	for c := s.call; c.fn != nil; c = c.up {
		if c.fn == fn {
			return nil, fmt.Errorf("function %s calls itself", fn.label())
		}
	}
	switch {
	case s.call.depth == maxCalls:
		return nil, fmt.Errorf("function %s: calls are nested more than %d deep", fn.label(), maxCalls)
	case len(n.Inputs) > len(fn.Inputs):
		return nil, fmt.Errorf("got %d inputs, want at most %d", len(n.Inputs), len(fn.Inputs))
	case len(n.Outputs) > len(fn.Outputs):
		return nil, fmt.Errorf("got %d outputs, want at most %d", len(n.Outputs), len(fn.Outputs))
	}
	names := len(fn.Inputs) + outputs(fn.Nodes) + len(n.Attrs) + len(fn.Defaults) + len(fn.Infos) + 1
	if err := s.im.spend(int64(names)*nameCost + int64(len(s.prefix)+len(n.Name))*3); err != nil {
		return nil, err
	}
	c := &call{fn: fn, opsets: fn.opsets, up: s.call, depth: s.call.depth + 1, attrs: map[string]bound{}}
	for i := range n.Attrs {
		b, ok, err := s.resolve(&n.Attrs[i])
		if err != nil {
			return nil, err
		}
		if ok {
			c.attrs[n.Attrs[i].Name] = b
		}
	}
	for i := range fn.Defaults {
		d := &fn.Defaults[i]
		if _, ok := c.attrs[d.Name]; !ok {
			c.attrs[d.Name] = bound{attr: d}
		}
	}
	return c, nil
}

// callPrefix returns what begins the names of the values that a call makes; no other call in
// the graph has it.
func (s *scope) callPrefix(n *Node) string {
	name := n.Name
	if name == "" {
		s.im.calls++
		name = n.Op + "#" + strconv.Itoa(s.im.calls)
	}
	return strings.TrimSuffix(s.root.unique(s.prefix+name+"/"), "/") + "/"
}

// results binds the caller's names to what the call returns. A value that has another name
// already, as it is an input of the function or returned twice, is copied; owner has the output
// whose name a value bears.
func (s *scope) results(n *Node, f *scope, owner map[string]int) error {
	fn := f.call.fn
	for i, name := range n.Outputs {
		if name == "" {
			continue
		}
		id, err := f.lookup(fn.Outputs[i])
		if err != nil {
			return fmt.Errorf("function %s: output %d: %w", fn.label(), i, err)
		}
		if at, ok := owner[fn.Outputs[i]]; id == graph.NoValue || ok && at == i {
			if err := s.accept(s.syms[name], id); err != nil {
				return err
			}
			continue
		}
		to, err := s.compute(name, nil)
		if err != nil {
			return err
		}
		s.identity(n, id, to)
	}
	return nil
}

// accept binds a name of the caller to the value that a call made under that name, or to none.
func (s *scope) accept(p *sym, id graph.ValueID) error {
	p.id, p.done = id, true
	if id == graph.NoValue {
		return nil
	}
	return s.im.annotate(&s.g.Values[id], p.info)
}

// identity adds a node that copies a value.
func (s *scope) identity(n *Node, from, to graph.ValueID) {
	v, ok := s.version("")
	if !ok {
		v = MaxOpset
	}
	s.g.Nodes = append(s.g.Nodes, &graph.Node{
		Op: "Identity", Version: v, Name: s.nodeName(n.Name),
		Inputs: []graph.ValueID{from}, Outputs: []graph.ValueID{to},
	})
}
