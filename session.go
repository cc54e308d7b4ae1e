package stowage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/exec"
	"github.com/stowage-ml/stowage/internal/fuse"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/internal/simplify"
	"github.com/stowage-ml/stowage/tensor"
	"github.com/stowage-ml/stowage/trace"
)

// ErrClosed is returned by the methods of a session that has been closed.
var ErrClosed = errors.New("stowage: session is closed")

// Options says how a session is opened. The zero value, and nil, are good for every model.
type Options struct {
	// Fix gives free dims, by name, their one value.
	Fix map[string]int64
	// Max gives free dims, by name, an upper bound. When every free dim is fixed or bounded, the
	// arena is sized at Open for the bounds; a run above a bound is an error.
	Max map[string]int64
	// Outputs selects, by name, what Run computes; nil means every output of the model.
	Outputs []string
	// Concurrency is the number of runs that may execute at the same time, each with an arena
	// of its own; further callers wait their turn. 0 means 1.
	Concurrency int
	// Threads is how many threads one run may use, its caller's among them, out of those that all
	// sessions of the process share. 0, and what is more than the machine gives, mean what it gives: GOMAXPROCS,
	// at most the processors that the process may run on (affinity, cpuset) and its control
	// group's CPU quota, rounded up. Results do not depend on it.
	Threads int
	// Plans is how many plans for different shapes are kept; 0 means as many as fit in 1 MiB, or
	// in a 32nd of the arena. The one used longest ago leaves first, and is planned anew when its
	// shapes come back.
	Plans int
	// MaxBytes is the most of the host's memory that one run may need for its arena and outputs; what needs
	// more is an error when it is planned. 0 means the machine's physical memory, where that is known.
	// Other devices have capacities of their own.
	MaxBytes int64
	// Kernels names the set of kernels to choose from: a vector level of this machine ("avx512",
	// "avx2", "neon", "generic"), which includes what is below it, or "reference" for the slow and
	// obvious ones alone. "" is the best there is.
	Kernels string
	// NoKernel lists kernels, by name, that are not used; those of the reference set always are. KernelNames
	// lists the names.
	NoKernel []string
	// NoFuse lists, by name, the rules that are not used to join the model's nodes into fewer and
	// larger ones; "all" stands for every rule. FuseRules lists the names.
	NoFuse []string
	// Devices lists what steps may run on: "cpu", and devices beside it; nil means the CPU alone. A
	// list without the CPU leaves it what no device can run, which is an error with NoFallback.
	Devices    []string
	NoFallback bool
	// Measurements names the store of kernels' times that plans rest on, which Session.Calibrate fills:
	// a file, or MeasurementsAuto for the one in the user's cache folder. A file that is missing or
	// damaged is an error, the one in the cache folder then only counts as empty. "" means that plans
	// rest on the rates of a usual processor, and are the same everywhere.
	Measurements string
	// Plan is what Session.SavePlans has written: sessions take the kernels, layouts, order and offsets
	// from there instead of searching for them. When the model, the options that plans depend on, the kernels
	// or the shapes are others than it is for, Open or Run fails with an error that says which, and wraps
	// ErrPlanChanged; with Replan they plan anew. A file that SavePlans has not written is an error in any case.
	Plan   []byte
	Replan bool
	// Policy says how a run, at its begin and wherever it has to wait for shapes, chooses among the plans that
	// are prepared for it when there are devices beside the CPU: "ect" (or "") takes the one that is expected to be
	// complete first, given what is in flight in the whole process and what runs have taken so far; "static" the best
	// plan for an idle machine; "load", "fit" and "tiers" go by how busy and how full the devices are. A run whose
	// device is lost or out of memory is tried once more without it, whatever the policy, with what NoFallback
	// allows.
	Policy string
	// Decided, when set, is called with each such choice, from the goroutine that calls Run.
	Decided func(Decision)
	// Queue is how many callers may wait for one of the Concurrency lanes; one more fails at once with an error that
	// wraps ErrBusy. 0 means that any number may, and −1 that none may. They are served in order of arrival.
	Queue int
	// Progress, when set, is called before each step of a run, from the goroutine that runs it, with the
	// number of steps that have begun; with several devices from one goroutine at a time.
	Progress func(step, steps int)
	// Trace, when set, keeps what runs do on which device, and when: the steps with their kernels, copies,
	// and the time spent waiting. Several sessions may share it. A traced run allocates at times.
	Trace *trace.Recorder
}

// Session is a model ready to run. It is safe for concurrent use.
type Session struct {
	model   *Model
	opts    Options
	backend backend.Backend
	devices *deviceSet
	unit    *plan.Unit
	inputs  []port
	outputs []port
	lanes   chan *exec.Lane
	every   []*exec.Lane
	weights int64
	// waiting counts the callers that wait for a lane.
	waiting atomic.Int64
	// frontier is nil when the host is alone; alone then counts the runs once the process has devices.
	frontier *exec.Frontier
	accounts sync.Once
	alone    *exec.Alone
	// team is nil when runs have one thread.
	team *backend.Team

	closing   sync.Once
	closed    chan struct{}
	closeDone error
}

// port is an input or output of a session.
type port struct {
	name  string
	dtype tensor.DType
	// shape is what is known of an input's extents; nil when nothing is.
	shape graph.Shape
}

// Open plans the model and reserves its memory. When the model has nodes that cannot run, the
// error lists them all, as Unsupported does, and wraps errors.ErrUnsupported.
func (m *Model) Open(opts *Options) (*Session, error) {
	if err := unsupportedError(m.unsupported); err != nil {
		return nil, err
	}
	if err := m.take(); err != nil {
		return nil, err
	}
	s, err := m.session(opts)
	if err != nil {
		m.give()
		return nil, err
	}
	return s, nil
}

func (m *Model) session(opts *Options) (_ *Session, err error) {
	s := &Session{model: m, closed: make(chan struct{})}
	defer func() {
		if err != nil && s.frontier != nil {
			s.frontier.Close()
		}
	}()
	if opts != nil {
		s.opts = *opts
	}
	if err := s.checkOptions(); err != nil {
		return nil, err
	}
	g, err := m.simple()
	if err != nil {
		return nil, err
	}
	if g, err = s.selectOutputs(g); err != nil {
		return nil, err
	}
	if g, err = s.fuse(g); err != nil {
		return nil, err
	}
	// What was read to fold and fuse is seldom read again.
	m.file.Trim()
	s.team = workers().Limit(s.opts.Threads)
	if err := s.enterFleet(); err != nil {
		return nil, err
	}
	costs, err := s.costs()
	if err != nil {
		return nil, err
	}
	s.unit = plan.NewUnit(g, s.backend, s.limits(costs))
	s.weights = constBytes(g)
	s.setPorts(g)
	if err := s.followPlans(); err != nil {
		return nil, err
	}
	if err := s.reserve(); err != nil {
		return nil, err
	}
	return s, nil
}

// limits is what plans may ask for, with times from the given estimates.
func (s *Session) limits(costs plan.Coster) plan.Limits {
	return plan.Limits{Keep: s.opts.Plans, Bytes: s.opts.MaxBytes, Threads: s.Threads(), Consts: &s.model.consts,
		Cost: costs, Lanes: s.opts.Concurrency, Devices: s.devices.planned, NotHost: s.devices.notHost,
		NoFallback: s.opts.NoFallback}
}

// hostLimits is limits for plans that use the host alone.
func (s *Session) hostLimits(costs plan.Coster) plan.Limits {
	lim := s.limits(costs)
	lim.Devices, lim.NotHost, lim.NoFallback = nil, false, false
	return lim
}

// simple returns the model's graph with everything folded that does not depend on an input.
func (m *Model) simple() (*graph.Graph, error) {
	m.simplify.Do(func() {
		eval := func(n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return plan.Eval(oracle(), n, in)
		}
		lim := simplify.Default
		lim.Memory = m.consts.Bytes
		m.simplified, m.simplErr = simplify.Simplify(m.graph, eval, lim)
	})
	return m.simplified, m.simplErr
}

func (s *Session) checkOptions() error {
	o := &s.opts
	for _, n := range []struct {
		name string
		got  int64
	}{{"Concurrency", int64(o.Concurrency)}, {"Threads", int64(o.Threads)}, {"Plans", int64(o.Plans)}, {"MaxBytes", o.MaxBytes}} {
		if n.got < 0 {
			return fmt.Errorf("stowage: options: %s: got %d, want at least 0", n.name, n.got)
		}
	}
	if o.Threads == 0 {
		o.Threads = workers().Size()
	}
	var err error
	if s.backend, err = kernelSet(o.Kernels, o.NoKernel); err != nil {
		return err
	}
	if s.devices, err = openDevices(o.Devices, s.backend); err != nil {
		return err
	}
	if _, err := policyOf(o.Policy); err != nil {
		return err
	}
	if o.Queue < -1 {
		return fmt.Errorf("stowage: options: Queue: got %d, want at least 0, or -1 for none", o.Queue)
	}
	if err := fuse.CheckOff(o.NoFuse); err != nil {
		return fmt.Errorf("stowage: options: NoFuse: %w", err)
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = physicalMemory()
	}
	o.Concurrency = max(o.Concurrency, 1)
	free := s.model.FreeDims()
	for what, dims := range map[string]map[string]int64{"Fix": o.Fix, "Max": o.Max} {
		for _, name := range slices.Sorted(maps.Keys(dims)) {
			if !slices.Contains(free, name) {
				return fmt.Errorf("stowage: options: %s: got dim %q, want one of %q", what, name, free)
			}
			if dims[name] < 0 {
				return fmt.Errorf("stowage: options: %s: dim %q: got %d, want at least 0", what, name, dims[name])
			}
		}
	}
	return nil
}

// selectOutputs returns the graph with only the outputs that the options ask for.
func (s *Session) selectOutputs(g *graph.Graph) (*graph.Graph, error) {
	if s.opts.Outputs == nil {
		return g, nil
	}
	picked := *g
	picked.Outputs = nil
	for _, name := range s.opts.Outputs {
		i := slices.IndexFunc(s.model.outputs, func(o Info) bool { return o.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("stowage: options: Outputs: got %q, want one of %q", name, names(s.model.outputs))
		}
		picked.Outputs = append(picked.Outputs, g.Outputs[i])
	}
	return &picked, nil
}

func names(infos []Info) []string {
	out := make([]string, len(infos))
	for i := range infos {
		out[i] = infos[i].Name
	}
	return out
}

// FuseRules returns the names that Options.NoFuse may list beside "all".
func FuseRules() []string { return fuse.Rules() }

// fuse joins the graph's nodes into fewer and larger ones.
func (s *Session) fuse(g *graph.Graph) (*graph.Graph, error) {
	o := fuse.Options{Off: s.opts.NoFuse, Infer: inferGraph}
	for _, v := range g.Inputs {
		o.In = append(o.In, op.Fact{DType: g.Values[v].DType, Shape: s.fixed(g.Values[v].Shape)})
	}
	return fuse.Fuse(g, o)
}

// fixed returns a shape with the dims that the options fix.
func (s *Session) fixed(shape graph.Shape) graph.Shape {
	shape = shape.Clone()
	for k, d := range shape {
		if n, ok := s.opts.Fix[d.String()]; ok {
			shape[k] = graph.Known(n)
		}
	}
	return shape
}

func (s *Session) setPorts(g *graph.Graph) {
	for i, v := range g.Inputs {
		s.inputs = append(s.inputs, port{name: s.model.inputs[i].Name, dtype: g.Values[v].DType,
			shape: s.fixed(g.Values[v].Shape)})
	}
	outs := s.opts.Outputs
	if outs == nil {
		outs = names(s.model.outputs)
	}
	for _, name := range outs {
		i := slices.IndexFunc(s.model.outputs, func(o Info) bool { return o.Name == name })
		s.outputs = append(s.outputs, port{name: name, dtype: s.model.outputs[i].DType})
	}
}

// varies reports whether runs may have shapes of their own.
func (s *Session) varies() bool {
	for i := range s.inputs {
		for _, d := range s.inputs[i].shape {
			if _, ok := d.Int(); !ok {
				return true
			}
		}
	}
	return false
}

// MemoryUse is what a session holds of the host's memory for tensors between runs: all its lanes, and the
// arenas of subgraphs and later stages too. Inputs, outputs and weights are not in it, nor what
// other devices hold.
type MemoryUse struct {
	// ArenaBytes is what is reserved, LowerBound the least that the runs so far could have done
	// with in the order of their steps.
	ArenaBytes, LowerBound int64
}

// Memory returns what the session holds now. It may be called during runs.
func (s *Session) Memory() MemoryUse {
	var u MemoryUse
	for _, l := range s.every {
		u.ArenaBytes += l.Bytes()
		u.LowerBound += l.Bound()
	}
	return u
}

// Close frees the session's memory; it waits for runs in flight. Further runs return ErrClosed.
func (s *Session) Close() error {
	s.closing.Do(func() {
		close(s.closed)
		s.unit.Stop()
		if s.frontier != nil {
			s.frontier.Stop()
		}
		for range s.opts.Concurrency {
			if err := (<-s.lanes).Close(); err != nil {
				s.closeDone = err
			}
		}
		if s.frontier != nil {
			s.frontier.Close()
		}
		if err := s.devices.resident.Close(); err != nil {
			s.closeDone = err
		}
		s.model.give()
	})
	return s.closeDone
}

// Run executes the model. Every input must be fed; the outputs are new tensors that belong to
// the caller. ctx is looked at between steps.
func (s *Session) Run(ctx context.Context, in map[string]*tensor.Tensor) (map[string]*tensor.Tensor, error) {
	views := make([]backend.View, len(s.inputs))
	if err := s.feed(in, views); err != nil {
		return nil, err
	}
	l, err := s.lane(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { s.lanes <- l }()
	outs := fresh{s: s, tensors: make([]*tensor.Tensor, len(s.outputs))}
	if err := s.run(ctx, l, views, &outs); err != nil {
		return nil, err
	}
	result := make(map[string]*tensor.Tensor, len(s.outputs))
	for i := range s.outputs {
		if outs.tensors[i] == nil {
			return nil, fmt.Errorf("BUG: stowage: run: output %q was not computed", s.outputs[i].name)
		}
		result[s.outputs[i].name] = outs.tensors[i]
	}
	return result, nil
}

// fresh gives every output new memory.
type fresh struct {
	s       *Session
	tensors []*tensor.Tensor
}

// Place implements exec.Outputs.
func (f *fresh) Place(i int, dt tensor.DType, shape tensor.Shape) (backend.View, error) {
	t, err := tensor.Zeros(dt, shape)
	if err != nil {
		return backend.View{}, fmt.Errorf("output %q: %w", f.s.outputs[i].name, err)
	}
	f.tensors[i] = t
	return backend.ViewOf(t), nil
}

// feed checks the inputs of a run and sets their views.
func (s *Session) feed(in map[string]*tensor.Tensor, views []backend.View) error {
	found := 0
	for i := range s.inputs {
		p := &s.inputs[i]
		t := in[p.name]
		if t == nil {
			return fmt.Errorf("stowage: input %q: got nothing, want %v", p.name, s.model.inputs[i])
		}
		found++
		if err := s.accept(p, t, s.model.inputs[i]); err != nil {
			return err
		}
		views[i] = backend.ViewOf(t)
	}
	if found == len(in) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if !slices.ContainsFunc(s.inputs, func(p port) bool { return p.name == name }) {
			return fmt.Errorf("stowage: input %q: no such input, want one of %q", name, names(s.model.inputs))
		}
	}
	return nil
}

// accept checks one input against what is known of it.
func (s *Session) accept(p *port, t *tensor.Tensor, want Info) error {
	if t.DType() != p.dtype {
		return fmt.Errorf("stowage: input %q: got %v, want %v", p.name, t, want)
	}
	if p.shape == nil {
		return nil
	}
	if len(t.Shape()) != len(p.shape) {
		return fmt.Errorf("stowage: input %q: got %v, want %v", p.name, t, want)
	}
	for i, d := range p.shape {
		got := t.Shape()[i]
		if n, ok := d.Int(); ok {
			if got != n {
				return fmt.Errorf("stowage: input %q: got %v, want %v with dim %d = %d", p.name, t, want, i, n)
			}
			continue
		}
		if bound, ok := s.opts.Max[d.String()]; ok && got > bound {
			return fmt.Errorf("stowage: input %q: got %v, want dim %q at most %d (Options.Max)", p.name, t, d, bound)
		}
	}
	return nil
}
