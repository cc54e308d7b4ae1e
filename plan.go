package stowage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

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
	Steps      []Step     `json:"steps"`
	Copies     []Copy     `json:"copies"`
	// Tensors lists what the arena holds, in order of the step that writes it.
	Tensors []TensorPlan `json:"tensors"`
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

// Copy is a tensor's way from one device to another.
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
	// EstNs is the estimated time, null where there is none; Source the kind of kernel.
	EstNs  *int64 `json:"est_ns"`
	Source string `json:"source"`
	// RunnerUp is the next best kernel and MarginNs what it would cost more; empty and null when
	// there is only one.
	RunnerUp string `json:"runner_up"`
	MarginNs *int64 `json:"margin_ns"`
	Reason   string `json:"reason"`
	// InPlace is the index of the input that the output overwrites, or −1.
	InPlace int `json:"in_place"`
	// Output is the first output's name, type and shape.
	Output string `json:"output"`
}

// TensorPlan is one tensor's place.
type TensorPlan struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Where string `json:"where"`
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

func (s *Session) describe(st *plan.Stage) *Plan {
	g := s.unit.Graph
	p := &Plan{Later: st.Later(), Strategies: []Strategy{}, Steps: []Step{}, Copies: []Copy{}, Tensors: []TensorPlan{}}
	p.Devices = []DevicePlan{{Name: "cpu", ArenaBytes: st.Memory.Arena, LowerBound: st.Memory.LowerBound,
		MaterializedBytes: st.Memory.Materialized, WeightBytes: s.weights}}
	types := map[graph.ValueID]string{}
	for i := range st.Slots {
		sl := &st.Slots[i]
		t := TensorPlan{Name: g.Values[sl.Value].Name, Where: sl.Where.String(), Offset: sl.Offset, Bytes: sl.Bytes,
			Type: sl.DType.String() + "[...]"}
		if sl.Shape != nil {
			t.Type = sl.DType.String() + sl.Shape.String()
		}
		types[sl.Value] = t.Name + " " + t.Type
		if sl.Where != plan.InConst {
			p.Tensors = append(p.Tensors, t)
		}
	}
	for i := range st.Steps {
		x := &st.Steps[i]
		out := ""
		for _, v := range x.Node.Outputs {
			if v != graph.NoValue {
				out = types[v]
				break
			}
		}
		p.Steps = append(p.Steps, Step{Op: x.Node.Op, Name: x.Node.Name, Device: x.Device, Kernel: x.Name,
			Source: x.Source, Reason: x.Reason, InPlace: x.InPlace, Output: out})
	}
	h := sha256.New()
	p.write(h)
	p.Digest = hex.EncodeToString(h.Sum(nil)[:16])
	return p
}

// String lays the plan out for a person to read.
func (p *Plan) String() string {
	var b strings.Builder
	for _, d := range p.Devices {
		fmt.Fprintf(&b, "device %s: arena %d bytes, lower bound %d, without reuse %d, weights %d\n",
			d.Name, d.ArenaBytes, d.LowerBound, d.MaterializedBytes, d.WeightBytes)
	}
	fmt.Fprintf(&b, "steps %d, digest %s\n", len(p.Steps), p.Digest)
	p.write(&b)
	if p.Later > 0 {
		fmt.Fprintf(&b, "and %d nodes whose shapes depend on data: planned during the run, once per shape\n", p.Later)
	}
	return b.String()
}

// write lists the steps and the tensors: everything that the digest covers.
func (p *Plan) write(w io.Writer) {
	for i, s := range p.Steps {
		fmt.Fprintf(w, "%5d %-24s %-6s %-8s %s", i, s.Op, s.Device, s.Source, s.Output)
		if s.InPlace >= 0 {
			fmt.Fprintf(w, " (in place of input %d)", s.InPlace)
		}
		fmt.Fprintf(w, "  %s\n", s.Name)
	}
	for _, t := range p.Tensors {
		if t.Where == plan.InArena.String() {
			fmt.Fprintf(w, "%12d +%-10d %s %s\n", t.Offset, t.Bytes, t.Name, t.Type)
		}
	}
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
