package stowage

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/tensor"
)

// Plan is what will be done, step by step, and where every byte lies. String gives it as text;
// encoding/json gives the command line's JSON.
type Plan struct {
	Devices []DevicePlan `json:"devices"`
	// CostNs is the estimated time of a run, and BoundNs what no placement can be under; null
	// where there is no estimate.
	CostNs     *int64     `json:"cost_ns"`
	BoundNs    *int64     `json:"bound_ns"`
	Strategies []Strategy `json:"strategies"`
	// MakespanNs is the estimated time when devices run at the same time, copies being the work of the
	// device that is not the host; null where CostNs is.
	MakespanNs *int64 `json:"makespan_ns"`
	Steps      []Step `json:"steps"`
	// Segments cuts the steps where the device changes: none waits for one behind it.
	Segments []Segment `json:"segments"`
	Copies   []Copy    `json:"copies"`
	// Tensors lists what the arena holds, in order of the step that writes it.
	Tensors []TensorPlan `json:"tensors"`
	// Assumed holds the free dims that nobody gave a value or a bound, with what the plan takes them
	// to be.
	Assumed map[string]int64 `json:"assumed"`
	// Buffers lists the ranges of the arena, and Outputs the model's results.
	Buffers []BufferPlan `json:"buffers"`
	Outputs []OutputPlan `json:"outputs"`
	// Later counts the nodes that can be planned only when a run has made their shapes known.
	Later int `json:"later"`
	// NotCounted says what a run may need memory for beside what Devices has.
	NotCounted []string `json:"not_counted"`
	// Digest tells plans apart: the same model, shapes and kernels give the same digest.
	Digest string `json:"digest"`
}

// DevicePlan is the memory of one device.
type DevicePlan struct {
	Name string `json:"name"`
	// ArenaBytes is what one run needs, LowerBound the least that any arrangement in this order
	// needs, and MaterializedBytes the sum of all tensors without reuse, of the main graph. Proven
	// says that ArenaBytes is the least.
	ArenaBytes        int64 `json:"arena_bytes"`
	LowerBound        int64 `json:"lower_bound"`
	Proven            bool  `json:"proven"`
	MaterializedBytes int64 `json:"materialized_bytes"`
	// CapacityBytes is what plans count on, for constants and the arenas of all lanes; 0 means no limit.
	// Refused counts how often the device had less than that, so that it was lowered.
	CapacityBytes int64 `json:"capacity_bytes"`
	Refused       int   `json:"refused"`
	// BodyBytes is the part of ArenaBytes that the arenas of subgraphs take.
	BodyBytes int64 `json:"body_bytes"`
	// WeightBytes is the size of the constants, of which those that are not folded stay in the
	// model's file.
	WeightBytes int64 `json:"weight_bytes"`
	Peak        Peak  `json:"peak"`
}

// Peak is when most of the main graph's arena is in use.
type Peak struct {
	// Step is the index of the step during which it is; Live lists what is in use, the largest first.
	Step int          `json:"step"`
	Live []LiveBuffer `json:"live"`
}

// Segment is a row of steps on one device, by index, First and Last among them.
type Segment struct {
	Device string `json:"device"`
	First  int    `json:"first"`
	Last   int    `json:"last"`
}

// LiveBuffer is a range of the arena: a tensor, tensors that share it (with the name of one), or a
// step's scratch memory.
type LiveBuffer struct {
	Name   string `json:"name"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
}

// Strategy is one way of placing the steps that was tried, and its cost.
type Strategy struct {
	Name   string `json:"name"`
	CostNs int64  `json:"cost_ns"`
}

// Copy is a tensor's way from one device and layout to another, such as from "cpu row-major" to
// "cpu blocked 16". It is a step as well.
type Copy struct {
	Tensor string `json:"tensor"`
	From   string `json:"from"`
	To     string `json:"to"`
	Bytes  int64  `json:"bytes"`
	EstNs  *int64 `json:"est_ns"`
}

// Step is one kernel launch.
type Step struct {
	Op     string `json:"op"`
	Name   string `json:"name"`
	Device string `json:"device"`
	Kernel string `json:"kernel"`
	// EstNs is the estimated time, null where there is none, and EstSource where that comes from: "bodies"
	// for those of a control node, of two branches the longer, of a loop one round;
	// Source is the kind of kernel.
	EstNs     *int64 `json:"est_ns"`
	EstSource string `json:"est_source"`
	Source    string `json:"source"`
	// RunnerUp is the next best kernel and MarginNs what it would cost more, with the changes of
	// layout that it would be the cause of; empty and null when there is only one.
	RunnerUp string `json:"runner_up"`
	MarginNs *int64 `json:"margin_ns"`
	Reason   string `json:"reason"`
	// InPlace is the index of the input that the output overwrites, or −1.
	InPlace int `json:"in_place"`
	// Rows is how often the kernel runs, each time on one row of its operands; 0 when it runs once.
	Rows int64 `json:"rows"`
	// Output is the first output's name, type and shape, and Layout how its elements lie.
	Output string `json:"output"`
	Layout string `json:"layout"`
	// Reads lists, by index, the steps whose results this one reads, and Inputs the model's inputs.
	Reads  []int `json:"reads"`
	Inputs []int `json:"inputs"`
}

// BufferPlan is a range of a device's arena, and the steps from First to Last during which it is in use. It
// has the name of one of the tensors that share it.
type BufferPlan struct {
	Name   string `json:"name"`
	Device string `json:"device"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	First  int    `json:"first"`
	Last   int    `json:"last"`
}

// OutputPlan is a result of the model, and the steps, by index, that make it.
type OutputPlan struct {
	Name string `json:"name"`
	From []int  `json:"from"`
}

// TensorPlan is one tensor's place.
type TensorPlan struct {
	Name   string `json:"name"`
	Device string `json:"device"`
	Type   string `json:"type"`
	Layout string `json:"layout"`
	Where  string `json:"where"`
	// Offset is in the arena, for tensors that are there.
	Offset int64 `json:"offset"`
	Bytes  int64 `json:"bytes"`
}

// Plan returns the plan for the given values of the free dims. Dims left out are at their bound
// (Options.Max); those without one are taken to be 1, or, where no plan exists for that, the least
// power of two up to 4096 for which one does. Plan.Assumed lists them.
func (s *Session) Plan(dims map[string]int64) (*Plan, error) {
	if err := s.live(); err != nil {
		return nil, err
	}
	all, open, err := s.dimsFor(dims)
	if err != nil {
		return nil, err
	}
	st, shapes, err := s.assume(all, open)
	if err != nil {
		return nil, err
	}
	p := s.describe(st, shapes)
	p.Assumed = map[string]int64{}
	for _, name := range open {
		p.Assumed[name] = all[name]
	}
	return p, nil
}

// dimsFor returns the value of every free dim that has one, and the names of those that do not.
func (s *Session) dimsFor(dims map[string]int64) (all map[string]int64, open []string, err error) {
	free := s.model.FreeDims()
	all = map[string]int64{}
	maps.Copy(all, s.opts.Max)
	maps.Copy(all, s.opts.Fix)
	for _, name := range slices.Sorted(maps.Keys(dims)) {
		if !slices.Contains(free, name) {
			return nil, nil, fmt.Errorf("stowage: plan: got dim %q, want one of %q", name, free)
		}
		if fixed, ok := s.opts.Fix[name]; ok && fixed != dims[name] {
			return nil, nil, fmt.Errorf("stowage: plan: dim %q: got %d, want the fixed %d", name, dims[name], fixed)
		}
		if dims[name] < 0 {
			return nil, nil, fmt.Errorf("stowage: plan: dim %q: got %d, want at least 0", name, dims[name])
		}
		if bound, ok := s.opts.Max[name]; ok && dims[name] > bound {
			return nil, nil, fmt.Errorf("stowage: plan: dim %q: got %d, want at most %d (Options.Max)", name, dims[name], bound)
		}
		all[name] = dims[name]
	}
	for _, name := range free {
		if _, ok := all[name]; !ok {
			open = append(open, name)
		}
	}
	return all, open, nil
}

// mostAssumed is the largest value that a dim is taken to have.
const mostAssumed = 4096

// assume plans with the open dims at 1, or else at a power of two, the same for all of them but
// those for which 1 does as well; it adds them to all.
func (s *Session) assume(all map[string]int64, open []string) (*plan.Stage, declared, error) {
	try := func() (*plan.Stage, declared, error) {
		shapes, ok := s.shapes(all)
		if !ok {
			return nil, nil, errors.New("stowage: plan: an input of unknown rank cannot be planned before it is fed")
		}
		st, err := s.unit.Next(s.unit.Entry, shapes)
		return st, shapes, err
	}
	set := func(n int64) {
		for _, name := range open {
			all[name] = n
		}
	}
	set(1)
	st, shapes, first := try()
	if first == nil || len(open) == 0 {
		return st, shapes, first
	}
	for n := int64(2); n <= mostAssumed; n *= 2 {
		set(n)
		if _, _, err := try(); err != nil {
			continue
		}
		for _, name := range open {
			all[name] = 1
			if _, _, err := try(); err != nil {
				all[name] = n
			}
		}
		return try()
	}
	return nil, nil, fmt.Errorf("stowage: plan: dims %q: got no value, and found none that works: with 1, %w", open, first)
}

// declared is what is known of inputs before they exist. It implements plan.Available.
type declared map[graph.ValueID]typed

type typed struct {
	dtype tensor.DType
	shape tensor.Shape
	// value is nil unless the contents are known.
	value *tensor.Tensor
}

func (d declared) Type(v graph.ValueID) (tensor.DType, tensor.Shape) { return d[v].dtype, d[v].shape }

func (d declared) Contents(v graph.ValueID) (*tensor.Tensor, error) { return d[v].value, nil }

// shapes returns the inputs' shapes when every free dim has the value that dims gives it; ok is
// false when one is left free.
func (s *Session) shapes(dims map[string]int64) (declared, bool) {
	out := declared{}
	for i := range s.inputs {
		p := &s.inputs[i]
		if p.shape == nil {
			return nil, false
		}
		t := typed{dtype: p.dtype, shape: tensor.Shape{}}
		for _, d := range p.shape {
			n, ok := d.Int()
			if !ok {
				n, ok = dims[d.String()]
			}
			if !ok {
				return nil, false
			}
			t.shape = append(t.shape, n)
		}
		out[s.unit.Graph.Inputs[i]] = t
	}
	return out, true
}

// constBytes sums the constants of a graph and its subgraphs, each tensor once.
func constBytes(g *graph.Graph) int64 {
	var n int64
	seen := map[*tensor.Tensor]bool{}
	var walk func(g *graph.Graph)
	walk = func(g *graph.Graph) {
		for i := range g.Values {
			t := g.Values[i].Const
			if t == nil || seen[t] {
				continue
			}
			seen[t] = true
			n += int64(len(t.Bytes()))
			for _, s := range t.Strings() {
				n += int64(len(s))
			}
		}
		for _, node := range g.Nodes {
			for _, b := range node.Bodies() {
				walk(b)
			}
		}
	}
	walk(g)
	return n
}
