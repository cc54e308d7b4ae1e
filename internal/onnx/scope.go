package onnx

import (
	"fmt"
	"strconv"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// What one thing costs of the memory that the model is worth.
const (
	valueCost = 96
	nameCost  = 64
	nodeCost  = 256
)

// sym is a name in a scope.
type sym struct {
	id graph.ValueID
	// node is the index of the node that computes it, −1 for none.
	node int32
	// done says that id is set: it stays NoValue for an input that a caller leaves out.
	done bool
	info *ValueInfo
}

// scope holds the names of a graph in the file, or of one call of a function.
type scope struct {
	im *importer
	// g is what nodes are added to: a call's is its caller's.
	g *graph.Graph
	// parent is where names are looked for that are not here: the scope of the node that has
	// the subgraph. Nil for the model's graph and for calls.
	parent *scope
	// root is the scope of the graph in the file that g is made from.
	root *scope
	syms map[string]*sym
	slab []sym
	// made holds the names of values and calls that come from inlining; kept in root.
	made map[string]bool
	// prefix begins the names of what a call makes; rename has the exceptions: a call's outputs
	// are called what the caller calls them.
	prefix string
	rename map[string]string
	call   *call
	// depth counts the graphs around g.
	depth int
}

// newScope returns a scope with room for n names.
func (im *importer) newScope(g *graph.Graph, parent *scope, c *call, n int) *scope {
	s := &scope{im: im, g: g, parent: parent, call: c, syms: make(map[string]*sym, n), slab: make([]sym, 0, n)}
	s.root = s
	if parent != nil {
		s.depth = parent.depth + 1
	}
	return s
}

// declare adds a name; false when there is one already.
func (s *scope) declare(name string, node int32) (*sym, bool) {
	if old := s.syms[name]; old != nil {
		return old, false
	}
	if len(s.slab) == cap(s.slab) {
		s.slab = make([]sym, 0, 16)
	}
	s.slab = append(s.slab, sym{id: graph.NoValue, node: node})
	p := &s.slab[len(s.slab)-1]
	s.syms[name] = p
	return p, true
}

// bind declares a name for a value that exists.
func (s *scope) bind(name string, id graph.ValueID) bool {
	p, ok := s.declare(name, -1)
	if ok {
		p.id, p.done = id, true
	}
	return ok
}

// lookup returns the value of a name, which is captured when an enclosing graph has it.
func (s *scope) lookup(name string) (graph.ValueID, error) {
	if p := s.syms[name]; p != nil {
		if !p.done {
			return graph.NoValue, fmt.Errorf("value %.120q is read before it is computed", name)
		}
		return p.id, nil
	}
	if s.parent == nil {
		return graph.NoValue, fmt.Errorf("value %.120q is not defined", name)
	}
	outer, err := s.parent.lookup(name)
	if err != nil {
		return graph.NoValue, err
	}
	if outer == graph.NoValue {
		s.bind(name, outer)
		return outer, nil
	}
	id, err := s.add(graph.Value{Name: s.root.unique(name), Type: s.parent.g.Values[outer].Type})
	if err != nil {
		return graph.NoValue, err
	}
	s.g.Captures = append(s.g.Captures, graph.Capture{Outer: outer, Inner: id})
	s.bind(name, id)
	return id, nil
}

// add appends a value to the graph.
func (s *scope) add(v graph.Value) (graph.ValueID, error) {
	if err := s.im.spend(valueCost + int64(len(v.Name))); err != nil {
		return graph.NoValue, err
	}
	return s.g.AddValue(v), nil
}

// compute adds the value of a name that a node computes, and gives it the declared type.
func (s *scope) compute(name string, t *tensor.Tensor) (graph.ValueID, error) {
	p := s.syms[name]
	v := graph.Value{Name: s.valueName(name), Const: t}
	if t != nil {
		v.Type = typeOf(t)
	}
	if err := s.im.annotate(&v, p.info); err != nil {
		return graph.NoValue, err
	}
	id, err := s.add(v)
	p.id, p.done = id, true
	return id, err
}

func typeOf(t *tensor.Tensor) graph.Type {
	return graph.Type{DType: t.DType(), Shape: graph.Of(t.Shape()...)}
}

// annotate gives a value the type that the file declares. Where it has one already, a declared
// type that differs is a warning.
func (im *importer) annotate(v *graph.Value, info *ValueInfo) error {
	if info == nil {
		return nil
	}
	t, reason, err := im.typ(&info.Type)
	if err != nil {
		return fmt.Errorf("value %.120q: %w", v.Name, err)
	}
	switch {
	case reason != "":
		if v.Const == nil {
			v.Type = t
		}
		im.out.Untyped = append(im.out.Untyped, Untyped{Value: v.Name, Reason: reason})
	case clash(v.Type, t):
		im.warn("value %.120q: got two types, %v%v and %v%v; the first counts", v.Name,
			v.DType, v.Shape, t.DType, t.Shape)
	case v.Const == nil:
		if t.DType == tensor.Undefined {
			t.DType = v.DType
		}
		if t.Shape.Unranked() {
			t.Shape = v.Shape
		}
		v.Type = t
	}
	return nil
}

// valueName is what a name of this scope is called in the graph.
func (s *scope) valueName(name string) string {
	if s.root == s {
		return name
	}
	if r, ok := s.rename[name]; ok {
		return r
	}
	return s.root.unique(s.prefix + name)
}

// unique returns a name that no other value of the graph has, name itself if it can. It is
// called for names that the file does not give to a value of this graph, and on roots only.
func (s *scope) unique(name string) string {
	for base := name; s.syms[name] != nil || s.made[name]; {
		s.im.calls++
		name = base + "#" + strconv.Itoa(s.im.calls)
	}
	if s.made == nil {
		s.made = map[string]bool{}
	}
	s.made[name] = true
	return name
}
