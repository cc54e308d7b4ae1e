package stowage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/plan"
)

// describe turns what was planned for inputs of these shapes into what people read.
func (s *Session) describe(st *plan.Stage, in declared) *Plan {
	p := &Plan{Later: st.Later(), Strategies: []Strategy{}, Steps: []Step{}, Copies: []Copy{},
		Tensors: []TensorPlan{}, Segments: []Segment{}}
	w := nested{}
	all := w.stage(s.unit, st, in, 0)
	d := DevicePlan{Name: "cpu", ArenaBytes: w.total(), LowerBound: all.least, MaterializedBytes: all.written,
		WeightBytes: s.weights, BodyBytes: w.total() - st.Memory.Arena}
	d.Proven = d.ArenaBytes == d.LowerBound
	d.Peak = peakOn(st, 0)
	p.Devices, p.NotCounted = append([]DevicePlan{d}, s.awayPlans(st)...), w.missing()
	slots := make([]*plan.Slot, st.Values)
	for i := range st.Slots {
		sl := &st.Slots[i]
		slots[sl.Value] = sl
		if sl.Where != plan.InConst {
			p.Tensors = append(p.Tensors, s.tensorPlan(sl))
		}
	}
	from := newEdges(s.unit.Graph, st, slots)
	for i, v := range s.unit.Graph.Outputs {
		p.Outputs = append(p.Outputs, OutputPlan{Name: s.outputs[i].name, From: from.from(v)})
	}
	p.Buffers = s.bufferPlans(st, slots)
	for i := range st.Steps {
		x := &st.Steps[i]
		p.Steps = append(p.Steps, s.stepPlan(x, slots))
		last := &p.Steps[i]
		last.Reads, last.Inputs = from.reads(x)
		if ns := all.bodies[i]; last.EstNs == nil && ns > 0 {
			last.EstNs, last.EstSource = &ns, "bodies"
		}
		if x.Reorder || x.Transfer {
			p.Copies = append(p.Copies, s.copyPlan(x, slots))
		}
	}
	p.setCost(st)
	devices := s.Devices()
	for _, x := range st.Segments() {
		p.Segments = append(p.Segments, Segment{devices[x.Device], x.First, x.Last})
	}
	h := sha256.New()
	p.write(h)
	p.Digest = hex.EncodeToString(h.Sum(nil)[:16])
	return p
}

func (s *Session) tensorPlan(sl *plan.Slot) TensorPlan {
	t := TensorPlan{Name: s.unit.Graph.Values[sl.Of].Name, Device: s.Devices()[sl.Device],
		Where: sl.Where.String(), Offset: sl.Offset, Bytes: sl.Bytes,
		Type: sl.DType.String() + "[...]", Layout: sl.Layout.String()}
	if sl.Shape != nil {
		t.Type = sl.DType.String() + sl.Shape.String()
	}
	return t
}

func (s *Session) stepPlan(x *plan.Step, slots []*plan.Slot) Step {
	out := Step{Op: x.Node.Op, Name: x.Node.Name, Device: x.Device, Kernel: x.Name, EstSource: x.EstSource,
		Source: x.Source, RunnerUp: x.RunnerUp, Reason: x.Reason, InPlace: x.InPlace, Rows: x.Rows,
		Layout: backend.RowMajor.String()}
	if x.EstNs >= 0 {
		out.EstNs = &x.EstNs
	}
	if x.RunnerUp != "" {
		out.MarginNs = &x.MarginNs
	}
	for _, v := range x.Out {
		if v != graph.NoValue {
			t := s.tensorPlan(slots[v])
			out.Output, out.Layout = t.Name+" "+t.Type, t.Layout
			break
		}
	}
	return out
}

// peakOn says when most of a device's arena is in use.
func peakOn(st *plan.Stage, device int) Peak {
	step, live := st.Peak(device)
	p := Peak{Step: step, Live: []LiveBuffer{}}
	for _, l := range live {
		p.Live = append(p.Live, LiveBuffer(l))
	}
	return p
}

// awayPlans describes the memory of the devices beside the host.
func (s *Session) awayPlans(st *plan.Stage) []DevicePlan {
	var out []DevicePlan
	constants, known := st.Resident(), s.unit.Devices()
	for d := range st.Away {
		m := &st.Away[d]
		out = append(out, DevicePlan{Name: s.devices.planned[d].Name, ArenaBytes: m.Arena, LowerBound: m.LowerBound,
			MaterializedBytes: m.Materialized,
			Proven:            m.Arena == m.LowerBound, CapacityBytes: known[d].Capacity, Refused: known[d].Refused,
			WeightBytes: constants[d+1], Peak: peakOn(st, d+1)})
	}
	return out
}

// copyPlan describes a change of layout, or a copy between devices.
func (s *Session) copyPlan(x *plan.Step, slots []*plan.Slot) Copy {
	if to := slots[x.Out[0]]; x.Transfer {
		names := s.Devices()
		return Copy{Tensor: s.unit.Graph.Values[to.Of].Name, From: names[x.From], To: names[x.To], Bytes: to.Bytes,
			EstNs: &x.EstNs}
	}
	from, to := backend.RowMajor, slots[x.Out[0]]
	if in := slots[x.In[0]]; in != nil {
		from = in.Layout
	}
	return Copy{Tensor: s.unit.Graph.Values[to.Of].Name, From: x.Device + " " + from.String(),
		To: x.Device + " " + to.Layout.String(), Bytes: to.Bytes, EstNs: &x.EstNs}
}

// setCost sums the estimates, and says what was compared. Steps without an estimate count nothing.
func (p *Plan) setCost(st *plan.Stage) {
	var sum int64
	each := make([]int64, len(p.Steps))
	for i := range p.Steps {
		if ns := p.Steps[i].EstNs; ns != nil {
			each[i] = *ns
			sum += *ns
		}
	}
	bound := sum
	if st.Cost != nil {
		bound = min(sum, st.Cost.BoundNs)
		for _, t := range st.Cost.Strategies {
			p.Strategies = append(p.Strategies, Strategy(t))
		}
	}
	span := st.Makespan(each)
	p.CostNs, p.BoundNs, p.MakespanNs = &sum, &bound, &span
}

// String lays the plan out for a person to read.
func (p *Plan) String() string {
	var b strings.Builder
	for _, d := range p.Devices {
		p.writeDevice(&b, &d)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Assumed)) {
		fmt.Fprintf(&b, "dim %s: assumed %d\n", name, p.Assumed[name])
	}
	for _, what := range p.NotCounted {
		fmt.Fprintf(&b, "not counted: %s\n", what)
	}
	fmt.Fprintf(&b, "steps %d, digest %s\n", len(p.Steps), p.Digest)
	if p.CostNs != nil {
		fmt.Fprintf(&b, "estimated %v, at least %v\n", micro(*p.CostNs), micro(*p.BoundNs))
	}
	if len(p.Devices) > 1 && p.MakespanNs != nil {
		fmt.Fprintf(&b, "with devices at the same time %v\n", micro(*p.MakespanNs))
	}
	for _, t := range p.Strategies {
		fmt.Fprintf(&b, "strategy %s: %v\n", t.Name, micro(t.CostNs))
	}
	p.write(&b)
	for _, c := range p.Copies {
		fmt.Fprintf(&b, "copy %s from %s to %s, %d bytes, %v\n", c.Tensor, c.From, c.To, c.Bytes, micro(*c.EstNs))
	}
	if len(p.Devices) > 1 {
		for _, x := range p.Segments {
			fmt.Fprintf(&b, "segment %s: steps %d to %d\n", x.Device, x.First, x.Last)
		}
	}
	if p.Later > 0 {
		fmt.Fprintf(&b, "and %d nodes whose shapes depend on data: planned during the run, once per shape\n", p.Later)
	}
	return b.String()
}

// writeDevice writes a device's memory, and what it is for when most of it is in use.
func (p *Plan) writeDevice(w io.Writer, d *DevicePlan) {
	proven := "not proven"
	if d.Proven {
		proven = "proven"
	}
	fmt.Fprintf(w, "device %s: arena %d bytes, lower bound %d, %s, without reuse %d, weights %d\n",
		d.Name, d.ArenaBytes, d.LowerBound, proven, d.MaterializedBytes, d.WeightBytes)
	if d.CapacityBytes > 0 {
		fmt.Fprintf(w, "%12d bytes may be used; memory refused %d times\n", d.CapacityBytes, d.Refused)
	}
	if d.BodyBytes > 0 {
		fmt.Fprintf(w, "%12d bytes of it for subgraphs\n", d.BodyBytes)
	}
	if len(d.Peak.Live) == 0 {
		return
	}
	fmt.Fprintf(w, "peak at step %d:\n", d.Peak.Step)
	for _, l := range d.Peak.Live {
		fmt.Fprintf(w, "%12d bytes %s\n", l.Bytes, l.Name)
	}
}

// micro writes nanoseconds as microseconds.
func micro(ns int64) string { return fmt.Sprintf("%.1f µs", float64(ns)/1e3) }

// write lists the steps and the tensors: everything that the digest covers.
func (p *Plan) write(w io.Writer) {
	for i, s := range p.Steps {
		fmt.Fprintf(w, "%5d %-24s %-6s %-24s %-8s %s", i, s.Op, s.Device, s.Kernel, s.Source, s.Output)
		if s.Layout != backend.RowMajor.String() {
			fmt.Fprintf(w, " %s", s.Layout)
		}
		if s.InPlace >= 0 {
			fmt.Fprintf(w, " (in place of input %d)", s.InPlace)
		}
		if s.Rows > 0 {
			fmt.Fprintf(w, " (%d rows)", s.Rows)
		}
		fmt.Fprintf(w, "  %s\n", s.Name)
	}
	for _, t := range p.Tensors {
		if t.Where != plan.InArena.String() {
			continue
		}
		fmt.Fprintf(w, "%12d +%-10d %s %s", t.Offset, t.Bytes, t.Name, t.Type)
		if t.Device != plan.Host {
			fmt.Fprintf(w, " on %s", t.Device)
		}
		if t.Layout != backend.RowMajor.String() {
			fmt.Fprintf(w, " %s", t.Layout)
		}
		fmt.Fprintln(w)
	}
}
