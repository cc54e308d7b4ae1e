// Package trace keeps what a program ran, when and on which device, and writes it for trace viewers
// (Perfetto, chrome://tracing). It knows nothing of models, tensors or devices: they are names here.
// Times are durations since a recorder was made; sizes are in bytes.
package trace

import "time"

// Kind says what an event is.
type Kind uint8

// The kinds of events.
const (
	// Run is one run of a model, with all that it does on the host inside.
	Run Kind = iota + 1
	// Plan is the time in which a run found, or made, a plan for shapes that its lane has not had.
	Plan
	// Body is one run of the body of a control operator, inside that operator's step.
	Body
	// Step is one operator.
	Step
	// Copy moves bytes from one device to another, or to an output.
	Copy
	// Wait is the time in which a device had nothing to do but wait for another one.
	Wait
	// Queue is the time that a caller has waited for a free lane.
	Queue
	// Decide is a choice made while the work runs.
	Decide
)

var kinds = [...]string{Run: "run", Plan: "plan", Body: "body", Step: "step", Copy: "copy", Wait: "wait",
	Queue: "queue", Decide: "decision"}

// String names the kind.
func (k Kind) String() string {
	if int(k) < len(kinds) && kinds[k] != "" {
		return kinds[k]
	}
	return "unknown"
}

// Event is something that has happened.
type Event struct {
	Kind Kind
	// Device is what it happened on, and Lane the number of those that it happened in of the runs at
	// the same time. The events of a device in a lane, but for those that are Queue or Decide, follow
	// one another or lie inside one another.
	Device string
	Lane   int
	// Run is the number of the run, from 1; 0 is before any.
	Run         int64
	Start, Took time.Duration
	// What is what was worked on, or, of a Wait, waited for; nil when that is nothing in particular.
	// It must not change any more.
	What *What
	// Stage tells the executions of a list of steps apart: events with the same Stage, unless it is 0,
	// belong to one, in which What.Index tells them apart.
	Stage int64
	// Iteration is the number of a Body among those of its step, from 0.
	Iteration int64
	// Err says how it failed; "" means that it did not.
	Err string
	// Decision is set when Kind is Decide.
	Decision *Decision
}

// What describes a step or a copy, the same in every run.
type What struct {
	// Index is the number of the step in its list, from 0.
	Index int
	// Op is the operator, and Name the node's name, or the tensor's of a copy.
	Op, Name string
	// Kernel is what computes it, and Source the kind of kernel.
	Kernel, Source string
	// From and To are the ends of a copy, and Bytes its size.
	From, To string
	Bytes    int64
	// EstNs is how many nanoseconds the plan has taken it to need; −1 when it has not said.
	EstNs int64
	// Reads lists the numbers of the copies whose results it reads.
	Reads []int
}

// title is the name of the work in a viewer.
func (w *What) title() string {
	switch {
	case w.Op == "":
		return w.Name
	case w.Name == "":
		return w.Op
	}
	return w.Op + " " + w.Name
}

// Decision is a choice among prepared routes.
type Decision struct {
	// Policy is the rule that chose, Source where the times and loads that it compared come from, and
	// Reason what it says of the choice.
	Policy, Source, Reason string
	// Arm is what was chosen, "" when nothing was, and Devices lists what that uses. Arms lists those that
	// were compared, Of is how many there were.
	Arm     string
	Devices []string
	Arms    []Arm
	Of      int
}

// Arm is one route of a decision.
type Arm struct {
	Name string `json:"arm"`
	// Ns is the time that was compared, in nanoseconds; −1 when there was none.
	Ns int64 `json:"ns"`
	// Note says what else counted, such as why the arm could not be taken.
	Note string `json:"note,omitempty"`
}
