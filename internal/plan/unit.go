// Package plan turns a graph whose input shapes are known into stages: lists of kernel launches
// with a place in memory for every tensor. It decides everything that can be decided before a
// run, and knows nothing of lanes, goroutines or the callers' tensors. Sizes are in bytes.
package plan

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/cost"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/infer"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// Align is the alignment of every buffer in an arena: what vector loads and DMA engines want.
const Align = 64

// Unit is a graph made ready for planning: a model's main graph, or the body of a control
// node. It is immutable; the stages planned for it hang on its branch.
type Unit struct {
	Graph *graph.Graph
	// Bodies holds the units of each control node's subgraphs, in the order of Node.Bodies.
	Bodies map[*graph.Node][]*Unit
	// Entry is where planning starts: no value but the constants exists yet.
	Entry *Branch

	backend backend.Backend
	limits  Limits
	coster  Coster

	// mu guards away, the devices beside the host, and how often one of them has had less memory than
	// was thought. Lists are replaced, never changed.
	mu       sync.Mutex
	away     []Device
	retreats int
	arms     []Arm
	stopped  atomic.Bool
	// saved, when set, is what plans of the entry have to follow, by key, and replan says that what
	// cannot be followed is planned anew.
	saved  map[string]*Saved
	replan bool
}

// Limits bounds what planning may ask for, and says what it has at hand.
type Limits struct {
	// Keep is the number of plans that each branch keeps for shapes that come back; 0 means as
	// many as are small beside the arena.
	Keep int
	// Bytes is the most memory that one stage may need, outputs included; 0 means no limit.
	Bytes int64
	// Threads is the number of workers that kernels share; 0 means 1.
	Threads int
	// Consts keeps what kernels make of the graph's constants; nil keeps nothing.
	Consts *backend.Consts
	// Precision is the least that kernels must have.
	Precision backend.Precision
	// Devices lists what kernels may run on beside the host, each with the arenas of so many Lanes; 0
	// means 1.
	Devices []Device
	Lanes   int
	// NotHost says that the host runs only what no device can, and NoFallback that there must be no
	// such nodes.
	NotHost, NoFallback bool
	// Cost estimates times; nil means cost.Default.
	Cost Coster
}

// NewUnit prepares a graph and its subgraphs.
func NewUnit(g *graph.Graph, b backend.Backend, lim Limits) *Unit {
	u := &Unit{Graph: g, Bodies: map[*graph.Node][]*Unit{}, backend: b, limits: lim, coster: lim.Cost, away: lim.Devices,
		arms: armsOf(&lim)}
	if u.coster == nil {
		u.coster = cost.Default()
	}
	// The host runs bodies, whatever else goes on on the devices.
	inner := lim
	inner.Devices = nil
	for _, n := range g.Nodes {
		if r := op.Lookup(n.Domain, n.Op); r == nil || !r.Control {
			continue
		}
		for _, body := range n.Bodies() {
			u.Bodies[n] = append(u.Bodies[n], NewUnit(body, b, inner))
		}
	}
	u.Entry = newBranch(lim.Keep)
	u.Entry.Shapes = append(u.Entry.Shapes, g.Inputs...)
	for _, c := range g.Captures {
		u.Entry.Shapes = append(u.Entry.Shapes, c.Inner)
	}
	u.Entry.Contents = u.contentInputs()
	return u
}

// contentInputs lists the inputs and captures whose contents decide a shape.
func (u *Unit) contentInputs() []graph.ValueID {
	entry := map[graph.ValueID]bool{}
	for _, v := range u.Entry.Shapes {
		entry[v] = true
	}
	var out []graph.ValueID
	for _, n := range u.Graph.Nodes {
		r := op.Lookup(n.Domain, n.Op)
		if r == nil {
			continue
		}
		for _, i := range r.Contents {
			if v := n.Input(i); v != graph.NoValue && entry[v] {
				entry[v] = false
				out = append(out, v)
			}
		}
	}
	return out
}

// Available says what is known of the values that exist when a stage starts.
type Available interface {
	// Type returns the element type and shape of an existing value.
	Type(v graph.ValueID) (tensor.DType, tensor.Shape)
	// Contents returns the elements of an existing value; nil when they are not known yet.
	Contents(v graph.ValueID) (*tensor.Tensor, error)
}

// Next returns the stage that starts at branch b, given what exists there: from the branch's
// cache, or planned now. u is the unit that the branch belongs to.
func (u *Unit) Next(b *Branch, a Available) (*Stage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.key = b.appendKey(b.key[:0], a)
	if s := b.get(b.key); s != nil {
		return s, nil
	}
	return u.fresh(b, a)
}

// Ways is Next with what a run may take instead.
func (u *Unit) Ways(b *Branch, a Available) (*Ways, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.key = b.appendKey(b.key[:0], a)
	s := b.get(b.key)
	if s == nil {
		var err error
		if s, err = u.fresh(b, a); err != nil {
			return nil, err
		}
	}
	c := b.stages[string(b.key)]
	if c.ways == nil {
		at, err := b.remember(a)
		if err != nil {
			return nil, err
		}
		c.ways = &Ways{First: s, unit: u, from: b, at: at}
	}
	return c.ways, nil
}

// fresh plans the stage for the branch's key, and keeps it.
func (u *Unit) fresh(b *Branch, a Available) (*Stage, error) {
	c, err := u.asSaved(b, a)
	if c == nil && err == nil {
		c, err = u.compile(b, a, nil, false)
	}
	if err != nil {
		return nil, err
	}
	s := c.stage
	if l := b.like; l != nil && c.saved == nil && !s.within(l) {
		// What is best for these shapes does not fit in what was reserved for the largest.
		if c, err = u.compile(b, a, l.picks, false); err != nil {
			return nil, err
		}
		if c.stage.within(l) || c.stage.bytes() < s.bytes() {
			s = c.stage
		}
	}
	if l := b.like; l != nil && s.within(l) {
		// That much is reserved.
		s.Memory.reserve(&l.Memory)
		for d := range s.Away {
			s.Away[d].reserve(&l.Away[d])
		}
	}
	b.put(string(b.key), s)
	return s, nil
}

// compileWithin plans the stage by a guide.
func (u *Unit) compileWithin(b *Branch, a Available, g guide) (*compiler, error) {
	inf := infer.New(u.Graph)
	inf.Eval = u.eval
	nodes := u.Graph.Nodes
	if b.prev != nil {
		nodes = b.prev.rest
		for v, f := range b.prev.facts {
			inf.Set(v, f)
		}
	}
	for _, v := range b.Shapes {
		dt, s := a.Type(v)
		inf.Set(v, op.Fact{DType: dt, Shape: graph.Of(s...)})
	}
	for _, v := range b.Contents {
		t, err := a.Contents(v)
		if err != nil {
			return nil, err
		}
		if t == nil || t.Len() > op.MaxValue {
			continue
		}
		// The plan outlives the memory that holds the value now.
		if t, err = clone(t); err != nil {
			return nil, err
		}
		inf.Set(v, op.FactOf(t))
	}
	c := newCompiler(u, b, inf)
	c.guide = g
	if err := c.run(nodes); err != nil {
		return nil, err
	}
	return c, nil
}

func clone(t *tensor.Tensor) (*tensor.Tensor, error) {
	c, err := tensor.Zeros(t.DType(), t.Shape())
	if err != nil {
		return nil, err
	}
	copy(c.Bytes(), t.Bytes())
	copy(c.Strings(), t.Strings())
	return c, nil
}

// Bound plans the entry for the largest shapes, so that smaller runs take its offsets. What it reserves
// is enough for the plans for some smaller shapes as well, which may use other devices, where their
// memory allows; those that cannot be planned do not count.
func (u *Unit) Bound(a Available, smaller ...Available) (*Stage, error) {
	u.Entry.mu.Lock()
	defer u.Entry.mu.Unlock()
	return u.bound(u.Entry, a, smaller)
}

func (u *Unit) bound(b *Branch, a Available, smaller []Available) (*Stage, error) {
	b.key = b.appendKey(b.key[:0], a)
	c, err := u.asSaved(b, a)
	if c == nil && err == nil {
		c, err = u.compile(b, a, nil, true)
	}
	if err != nil {
		return nil, err
	}
	b.like, b.largest, b.smaller = c.stage, a, smaller
	b.like.picks, b.like.order = map[*graph.Node]pick{}, c.order()
	for i := range c.items {
		it := &c.items[i]
		o := &it.options[it.pick]
		b.like.picks[it.node] = pick{name: o.Name, device: it.device, in: o.in, out: o.out}
	}
	b.put(string(b.key), b.like)
	for _, x := range smaller {
		b.key = b.appendKey(b.key[:0], x)
		c, err := u.asSaved(b, x)
		if c == nil && err == nil {
			c, err = u.compile(b, x, nil, false)
		}
		if err == nil {
			u.widen(b.like, c.stage)
		}
	}
	return b.like, nil
}

// widen raises what a plan reserves to what another one needs, where devices have as much.
func (u *Unit) widen(l, s *Stage) {
	l.Memory.Arena = max(l.Memory.Arena, s.Memory.Arena)
	resident, more := l.Resident(), s.Resident()
	for d, dev := range u.devices() {
		n := max(l.Away[d].Arena, s.Away[d].Arena)
		if dev.Capacity <= 0 || max(resident[d+1], more[d+1])+u.lanes()*n <= dev.Capacity {
			l.Away[d].Arena = n
		}
	}
}

// eval computes a node while planning, with the backend's own kernel.
func (u *Unit) eval(n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return Eval(u.backend, n, in)
}

// Eval computes one node in fresh memory. Inputs are nil where the node has none.
func Eval(b backend.Backend, n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	c := op.Ctx{Node: n, In: make([]op.Fact, len(in)), Out: make([]op.Fact, len(n.Outputs))}
	o := backend.Op{Node: n, In: make([]backend.Arg, len(in)), Out: make([]backend.Arg, len(n.Outputs))}
	call := backend.Call{In: make([]backend.View, len(in)), Out: make([]backend.View, len(n.Outputs))}
	for i, t := range in {
		if t != nil {
			c.In[i] = op.FactOf(t)
			o.In[i] = backend.Arg{DType: t.DType(), Shape: t.Shape(), Const: t}
			call.In[i] = backend.ViewOf(t)
		}
	}
	if err := op.Lookup(n.Domain, n.Op).Infer(&c); err != nil {
		return nil, err
	}
	call.Place = call.Alloc
	for i, v := range n.Outputs {
		if v == graph.NoValue {
			continue
		}
		o.Out[i].DType, call.Out[i].DType = c.Out[i].DType, c.Out[i].DType
		s, ok := c.Out[i].Shape.Concrete()
		if !ok {
			continue
		}
		o.Out[i].Shape = s
		if err := call.Alloc(i, s); err != nil {
			return nil, err
		}
	}
	return evalCall(b, &o, &call)
}

func evalCall(b backend.Backend, o *backend.Op, call *backend.Call) ([]*tensor.Tensor, error) {
	cands, err := b.Candidates(o)
	if err != nil {
		return nil, err
	}
	k := slices.IndexFunc(cands, func(c backend.Candidate) bool { return c.RowMajor() })
	if k < 0 {
		return nil, fmt.Errorf("plan: node %s: no kernel", o.Node.Label())
	}
	call.Scratch = make([]byte, cands[k].Scratch)
	if err := cands[k].Kernel(call); err != nil {
		return nil, err
	}
	out := make([]*tensor.Tensor, len(call.Out))
	for i := range call.Out {
		if o.Node.Outputs[i] == graph.NoValue {
			continue
		}
		if out[i], err = call.Out[i].Tensor(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
