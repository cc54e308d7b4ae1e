package stowage

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
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
	Steps      []Step     `json:"steps"`
	Copies     []Copy     `json:"copies"`
	// Tensors lists what the arena holds, in order of the step that writes it.
	Tensors []TensorPlan `json:"tensors"`
	// Buffers lists the ranges of the arena, and Outputs the model's results.
	Buffers []BufferPlan `json:"buffers"`
	Outputs []OutputPlan `json:"outputs"`
	// Later counts the nodes that can be planned only when a run has made their shapes known.
	Later int `json:"later"`
	// Digest tells plans apart: the same model, shapes and kernels give the same digest.
	Digest string `json:"digest"`
}

// DevicePlan is the memory of one device.
type DevicePlan struct {
	Name string `json:"name"`
	// ArenaBytes is what one run needs, LowerBound the least that any arrangement in this order
	// needs, and MaterializedBytes the sum of all tensors without reuse.
	ArenaBytes        int64 `json:"arena_bytes"`
	LowerBound        int64 `json:"lower_bound"`
	MaterializedBytes int64 `json:"materialized_bytes"`
	// WeightBytes is the size of the constants, of which those that are not folded stay in the
	// model's file.
	WeightBytes int64 `json:"weight_bytes"`
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
	// EstNs is the estimated time, null where there is none, and EstSource where that comes from;
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
	// Output is the first output's name, type and shape, and Layout how its elements lie.
	Output string `json:"output"`
	Layout string `json:"layout"`
	// Reads lists, by index, the steps whose results this one reads, and Inputs the model's inputs.
	Reads  []int `json:"reads"`
	Inputs []int `json:"inputs"`
}

// BufferPlan is a range of the arena, and the steps from First to Last during which it is in use. It
// has the name of one of the tensors that share it.
type BufferPlan struct {
	Name   string `json:"name"`
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
	Type   string `json:"type"`
	Layout string `json:"layout"`
	Where  string `json:"where"`
	// Offset is in the arena, for tensors that are there.
	Offset int64 `json:"offset"`
	Bytes  int64 `json:"bytes"`
}

// Plan returns the plan for the given values of the free dims; dims left out are at their
// bound (Options.Max), or 1.
func (s *Session) Plan(dims map[string]int64) (*Plan, error) {
	if err := s.live(); err != nil {
		return nil, err
	}
	free := s.model.FreeDims()
	all := map[string]int64{}
	for _, name := range free {
		all[name] = 1
	}
	maps.Copy(all, s.opts.Max)
	for _, name := range slices.Sorted(maps.Keys(dims)) {
		if !slices.Contains(free, name) {
			return nil, fmt.Errorf("stowage: plan: got dim %q, want one of %q", name, free)
		}
		if fixed, ok := s.opts.Fix[name]; ok && fixed != dims[name] {
			return nil, fmt.Errorf("stowage: plan: dim %q: got %d, want the fixed %d", name, dims[name], fixed)
		}
		if dims[name] < 0 {
			return nil, fmt.Errorf("stowage: plan: dim %q: got %d, want at least 0", name, dims[name])
		}
		if bound, ok := s.opts.Max[name]; ok && dims[name] > bound {
			return nil, fmt.Errorf("stowage: plan: dim %q: got %d, want at most %d (Options.Max)", name, dims[name], bound)
		}
		all[name] = dims[name]
	}
	shapes, ok := s.shapes(all)
	if !ok {
		return nil, fmt.Errorf("stowage: plan: an input of unknown rank cannot be planned before it is fed")
	}
	st, err := s.unit.Next(s.unit.Entry, shapes)
	if err != nil {
		return nil, err
	}
	return s.describe(st), nil
}

// declared is inputs of known shapes and unknown contents. It implements plan.Available.
type declared map[graph.ValueID]typed

type typed struct {
	dtype tensor.DType
	shape tensor.Shape
}

func (d declared) Type(v graph.ValueID) (tensor.DType, tensor.Shape) { return d[v].dtype, d[v].shape }

func (d declared) Contents(graph.ValueID) (*tensor.Tensor, error) { return nil, nil }

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
