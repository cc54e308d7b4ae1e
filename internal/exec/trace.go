package exec

import (
	"context"
	"time"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/trace"
)

// tracer is how a lane notes what happens in it.
type tracer struct {
	*trace.Recorder
	lane int
	// run is the number of the current run.
	run int64
	// names are those of the devices, by their numbers in plans.
	names []string
	// known holds what is noted of the steps of stages, by ID, the same in every run.
	known map[uint64][]trace.What
	// waited is when the caller of the next run began to wait for the lane; 0 when it did not.
	waited time.Duration
}

// mostKnown bounds the number of stages of which a lane knows what to note.
const mostKnown = 256

// TraceTo makes the lane note what it does, under a lane number of its own; nil does nothing. It is
// called once, when Devices are set, before the first run.
func (l *Lane) TraceTo(r *trace.Recorder) {
	if r == nil {
		return
	}
	names := []string{plan.Host}
	for _, d := range l.Devices {
		names = append(names, d.Name())
	}
	l.trace = &tracer{Recorder: r, lane: r.OpenLane(), names: names, known: map[uint64][]trace.What{}}
}

// Waited notes that the caller of the next run has waited for the lane since then, by the recorder's
// clock.
func (l *Lane) Waited(since time.Duration) {
	if l.trace != nil {
		l.trace.waited = since
	}
}

// add notes an event on a device that has lasted until now.
func (t *tracer) add(device int, since time.Duration, e trace.Event) {
	e.Device, e.Lane, e.Run, e.Start, e.Took = t.names[device], t.lane, t.run, since, t.Now()-since
	t.Add(e)
}

// begin starts a run, and returns when; nil and 0 stand for no recorder.
func (t *tracer) begin() time.Duration {
	if t == nil {
		return 0
	}
	t.run = t.NextRun()
	if t.waited > 0 {
		t.add(0, t.waited, trace.Event{Kind: trace.Queue})
		t.waited = 0
	}
	return t.Now()
}

// end notes a run.
func (t *tracer) end(since time.Duration, err error) {
	if t != nil {
		t.add(0, since, trace.Event{Kind: trace.Run, Err: text(err)})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// look notes that a stage has been planned, when the lane has not had it before.
func (f *frame) look(s *plan.Stage) {
	t := f.lane.trace
	if t == nil {
		return
	}
	if t.known[s.ID] == nil {
		t.add(0, f.planning, trace.Event{Kind: trace.Plan})
		if len(t.known) == mostKnown {
			clear(t.known)
		}
		t.known[s.ID] = t.whats(s)
	}
	f.whats, f.execution = t.known[s.ID], t.NextStage()
}

// do runs step i of a stage.
func (f *frame) do(ctx context.Context, s *plan.Stage, i int) error {
	x, t := &s.Steps[i], f.lane.trace
	if ran := f.lane.ran; ran != nil && !x.Transfer {
		ran[x.DeviceIndex] = true
	}
	if t == nil {
		return f.launch(ctx, x)
	}
	since := t.Now()
	err := f.launch(ctx, x)
	e := trace.Event{Kind: trace.Step, What: &f.whats[i], Stage: f.execution, Err: text(err)}
	if x.Transfer {
		e.Kind = trace.Copy
	}
	t.add(x.DeviceIndex, since, e)
	return err
}

// body runs a body of the current control step, in its frame.
func (f *frame) body(ctx context.Context, c *frame, outs Outputs, iteration int64) error {
	t := f.lane.trace
	if t == nil {
		return c.run(ctx, outs, nil)
	}
	since := t.Now()
	err := c.run(ctx, outs, nil)
	t.add(0, since, trace.Event{Kind: trace.Body, Iteration: iteration, Err: text(err)})
	return err
}

// now returns the time; 0 without a recorder.
func (t *tracer) now() time.Duration {
	if t == nil {
		return 0
	}
	return t.Now()
}

// waitedFor notes that a device has waited for a step of another one, the last of several; nil stands
// for all that others do.
func (t *tracer) waitedFor(device int, since time.Duration, what *trace.What) {
	if t != nil {
		t.add(device, since, trace.Event{Kind: trace.Wait, What: what})
	}
}

// upload notes a copy of a constant to a device.
func (t *tracer) upload(device int, bytes int64, run func() error) error {
	if t == nil {
		return run()
	}
	since := t.Now()
	err := run()
	t.add(device, since, trace.Event{Kind: trace.Copy, Err: text(err), What: &trace.What{Op: "Constant",
		From: t.names[0], To: t.names[device], Bytes: bytes, EstNs: -1}})
	return err
}

// whats describes the steps of a stage, and which of the copies among them each reads.
func (t *tracer) whats(s *plan.Stage) []trace.What {
	out := make([]trace.What, len(s.Steps))
	copied := map[graph.ValueID]int{}
	for i := range s.Steps {
		x, w := &s.Steps[i], &out[i]
		*w = trace.What{Index: i, Op: x.Node.Op, Name: x.Node.Name, Kernel: x.Name, Source: x.Source, EstNs: x.EstNs}
		if w.Op == "Fused" {
			// The name says what is fused.
			w.Op = ""
		}
		for _, v := range x.In {
			if k, ok := copied[v]; ok {
				w.Reads = append(w.Reads, k)
			}
		}
		if !x.Transfer {
			continue
		}
		w.From, w.To = t.names[x.From], t.names[x.To]
		copied[x.Out[0]] = i
	}
	for i := range s.Slots {
		if k, ok := copied[s.Slots[i].Value]; ok {
			out[k].Bytes = s.Slots[i].Bytes
		}
	}
	return out
}

// copyOut writes a value to the output whose memory is not the value's own.
func (f *frame) copyOut(dst, v *backend.View, of graph.ValueID) {
	t := f.lane.trace
	var since time.Duration
	if t != nil {
		since = t.Now()
	}
	copy(dst.Data, v.Data)
	copy(dst.Strs, v.Strs)
	if t != nil {
		t.add(0, since, trace.Event{Kind: trace.Copy, What: &trace.What{Op: "Output", Name: f.unit.Graph.Values[of].Name,
			From: t.names[0], To: t.names[0], Bytes: int64(len(v.Data)), EstNs: -1}})
	}
}

// decided notes the choice of an arm.
func (t *tracer) decided(d *Decision) {
	if t == nil {
		return
	}
	arms := []trace.Arm{{Name: d.Name, Ns: d.CompleteNs}}
	if d.RunnerUpName != "" {
		arms = append(arms, trace.Arm{Name: d.RunnerUpName, Ns: d.RunnerUpNs})
	}
	if d.Failed != nil {
		arms[0].Note = "tried again after: " + d.Failed.Error()
	}
	t.Decide(t.lane, t.run, trace.Decision{Policy: d.Policy.String(), Source: d.Source.String(), Reason: d.Reason.String(),
		Arm: d.Name, Devices: d.Devices, Arms: arms, Of: d.Arms})
}
