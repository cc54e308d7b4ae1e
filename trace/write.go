package trace

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// Write writes what is kept in the JSON form of the Trace Event Format (one process, a thread for each
// device and lane, times in microseconds), which ui.perfetto.dev and chrome://tracing read. Arrows go
// from copies to what reads them. otherData.dropped is how many events there was no room for.
func (r *Recorder) Write(w io.Writer) error {
	events, dropped := r.Kept()
	out := &writer{w: bufio.NewWriter(w)}
	fmt.Fprintf(out.w, `{"displayTimeUnit":"ns","otherData":{"dropped":%d},"traceEvents":[`, dropped)
	out.tracks(events)
	out.flows(events)
	for i := range events {
		out.event(&events[i])
	}
	if out.err == nil {
		_, out.err = out.w.WriteString("\n]}\n")
	}
	if out.err == nil {
		out.err = out.w.Flush()
	}
	if out.err != nil {
		return fmt.Errorf("trace: write: %w", out.err)
	}
	return nil
}

// process is the number of the one process that a trace is about.
const process = 1

// writer writes entries; after an error it writes nothing.
type writer struct {
	w      *bufio.Writer
	n      int
	err    error
	thread map[track]int
	// copies finds the copies that have arrows, by execution and number.
	copies map[place]*Event
	arrows int
}

// track is a thread of the trace. Decisions have one for all devices.
type track struct {
	device string
	lane   int
}

// place is a step of one execution of a list of steps.
type place struct {
	stage int64
	index int
}

// entry is one object of traceEvents.
type entry struct {
	Name string  `json:"name"`
	Cat  string  `json:"cat,omitempty"`
	Ph   string  `json:"ph"`
	Ts   *micros `json:"ts,omitempty"`
	Dur  *micros `json:"dur,omitempty"`
	Pid  int     `json:"pid"`
	Tid  int     `json:"tid"`
	ID   string  `json:"id,omitempty"`
	Bp   string  `json:"bp,omitempty"`
	S    string  `json:"s,omitempty"`
	Args any     `json:"args,omitempty"`
}

// micros is a time that is written in microseconds, to the nanosecond.
type micros time.Duration

// MarshalJSON implements json.Marshaler.
func (m micros) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%03d", m/1000, m%1000), nil
}

func at(t time.Duration) *micros { return (*micros)(&t) }

// args is what entries tell beside time and place.
type args struct {
	Run       int64    `json:"run,omitempty"`
	Step      *int     `json:"step,omitempty"`
	Iteration *int64   `json:"iteration,omitempty"`
	Op        string   `json:"op,omitempty"`
	Node      string   `json:"node,omitempty"`
	Tensor    string   `json:"tensor,omitempty"`
	Kernel    string   `json:"kernel,omitempty"`
	Source    string   `json:"source,omitempty"`
	From      string   `json:"from,omitempty"`
	To        string   `json:"to,omitempty"`
	Bytes     *int64   `json:"bytes,omitempty"`
	EstNs     *int64   `json:"est_ns,omitempty"`
	Policy    string   `json:"policy,omitempty"`
	Arm       string   `json:"arm,omitempty"`
	Devices   []string `json:"devices,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	Arms      []Arm    `json:"arms,omitempty"`
	Of        int      `json:"of,omitempty"`
	Err       string   `json:"error,omitempty"`
}

func (w *writer) put(e *entry) {
	if w.err != nil {
		return
	}
	e.Pid = process
	var b []byte
	if b, w.err = json.Marshal(e); w.err != nil {
		return
	}
	if w.n > 0 {
		_ = w.w.WriteByte(',')
	}
	w.n++
	_ = w.w.WriteByte('\n')
	_, w.err = w.w.Write(b)
}

// tracks numbers the threads, by device and lane, from 1, and names them.
func (w *writer) tracks(events []Event) {
	w.thread = map[track]int{}
	var order []track
	for i := range events {
		t := trackOf(&events[i])
		if _, ok := w.thread[t]; !ok && events[i].Kind != Queue {
			w.thread[t] = 0
			order = append(order, t)
		}
	}
	slices.SortFunc(order, func(a, b track) int {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.lane, b.lane))
	})
	type named struct {
		Name string `json:"name"`
	}
	type sorted struct {
		Index int `json:"sort_index"`
	}
	w.put(&entry{Name: "process_name", Ph: "M", Args: named{"stowage"}})
	for i, t := range order {
		w.thread[t] = i + 1
		name := fmt.Sprintf("%s, lane %d", t.device, t.lane)
		if t.device == "" {
			name = "decisions"
		}
		w.put(&entry{Name: "thread_name", Ph: "M", Tid: i + 1, Args: named{name}})
		w.put(&entry{Name: "thread_sort_index", Ph: "M", Tid: i + 1, Args: sorted{i + 1}})
	}
}

func trackOf(e *Event) track {
	if e.Kind == Decide {
		return track{}
	}
	return track{e.Device, e.Lane}
}

// flows finds the copies that steps read.
func (w *writer) flows(events []Event) {
	w.copies = map[place]*Event{}
	for i := range events {
		if e := &events[i]; e.Kind == Copy && e.Stage != 0 && e.What != nil {
			w.copies[place{e.Stage, e.What.Index}] = e
		}
	}
}

// event writes the entries of one event.
func (w *writer) event(e *Event) {
	tid := w.thread[trackOf(e)]
	x := &entry{Name: titleOf(e), Cat: e.Kind.String(), Ph: "X", Ts: at(e.Start), Dur: at(e.Took), Tid: tid,
		Args: argsOf(e)}
	switch e.Kind {
	case Queue:
		// Callers wait while the lane is still at work for others: they have no thread.
		x.Ph, x.ID, x.Dur, x.Tid = "b", fmt.Sprint("run ", e.Run), nil, 0
		w.put(x)
		w.put(&entry{Name: x.Name, Cat: x.Cat, Ph: "e", Ts: at(e.Start + e.Took), ID: x.ID})
		return
	case Decide:
		x.Ph, x.Dur, x.S = "i", nil, "t"
	}
	w.put(x)
	if e.Stage == 0 || e.What == nil || e.Kind != Step && e.Kind != Copy {
		return
	}
	for i, k := range e.What.Reads {
		if c := w.copies[place{e.Stage, k}]; c != nil && !slices.Contains(e.What.Reads[:i], k) {
			w.arrow(c, e, tid)
		}
	}
}

// arrow leads from the last nanosecond of a copy to the beginning of what reads it.
func (w *writer) arrow(from, to *Event, tid int) {
	w.arrows++
	id := fmt.Sprint(w.arrows)
	last := from.Start + max(0, from.Took-1)
	w.put(&entry{Name: "copy", Cat: "flow", Ph: "s", Ts: at(last), Tid: w.thread[trackOf(from)], ID: id})
	w.put(&entry{Name: "copy", Cat: "flow", Ph: "f", Ts: at(to.Start), Tid: tid, ID: id, Bp: "e"})
}

func titleOf(e *Event) string {
	switch {
	case e.Kind == Queue:
		return "wait for a lane"
	case e.Kind == Wait && e.What == nil:
		return "wait for other devices"
	case e.Kind == Wait:
		return "wait for " + e.What.title()
	case e.Kind == Decide:
		return "decide " + e.Decision.Arm
	case e.What != nil:
		return e.What.title()
	case e.Kind == Run:
		return fmt.Sprint("run ", e.Run)
	}
	return e.Kind.String()
}

func argsOf(e *Event) *args {
	a := &args{Run: e.Run, Err: e.Err}
	switch {
	case e.Kind == Decide:
		d := e.Decision
		a.Policy, a.Source, a.Reason = d.Policy, d.Source, d.Reason
		a.Arm, a.Devices, a.Arms, a.Of = d.Arm, d.Devices, d.Arms, d.Of
	case e.Kind == Body:
		a.Iteration = &e.Iteration
	case e.What == nil || e.Kind == Wait:
	case e.Kind == Copy:
		a.Tensor, a.From, a.To, a.Bytes = e.What.Name, e.What.From, e.What.To, &e.What.Bytes
	default:
		a.Op, a.Node, a.Kernel, a.Source = e.What.Op, e.What.Name, e.What.Kernel, e.What.Source
	}
	if e.Stage != 0 && e.What != nil && (e.Kind == Step || e.Kind == Copy) {
		a.Step = &e.What.Index
		if e.What.EstNs >= 0 {
			a.EstNs = &e.What.EstNs
		}
	}
	return a
}
