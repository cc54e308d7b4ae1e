package plan

import (
	"cmp"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// Where says what kind of memory holds a value during a stage.
type Where uint8

// The kinds of memory.
const (
	// InArena is a range of the stage's arena.
	InArena Where = iota + 1
	// InConst is memory of the model or the plan, never written.
	InConst
	// InOutput is the memory of a graph output, which the caller supplies.
	InOutput
	// InValue is the memory of another value that exists before the stage starts.
	InValue
	// Placed is memory that a step asks for while it runs, when it knows the size.
	Placed
)

// String names the kind of memory.
func (w Where) String() string {
	switch w {
	case InArena:
		return "arena"
	case InConst:
		return "constant"
	case InOutput:
		return "output"
	case InValue:
		return "view"
	case Placed:
		return "heap"
	}
	return "nowhere"
}

// Slot is where one value is during a stage.
type Slot struct {
	// Value is the number of the instance, and Of that of the graph's value: they differ for
	// instances that are not row-major.
	Value, Of graph.ValueID
	Layout    backend.Layout
	// Device is where the value is: in that device's arena, when it is in one.
	Device int
	Where  Where
	DType  tensor.DType
	// Shape is nil for a value that is Placed.
	Shape tensor.Shape
	// Offset is in the arena, in the output or in the base; Bytes is the value's size, and Span what
	// lies from its first byte to its last: more, for one that lies in the rows of another. Its own
	// rows then are Pitch bytes apart; else Pitch is 0.
	Offset, Bytes, Span, Pitch int64
	// Const is the contents of a value InConst; Own says that it is not the graph's, but goes with the
	// plan.
	Own   bool
	Const *tensor.Tensor
	// Base is the value whose memory this one has, InValue.
	Base graph.ValueID
	// Output is the index of the graph output whose memory this one has, InOutput, and OutShape
	// that output's shape, which a view may have changed.
	Output   int
	OutShape tensor.Shape
}

// Control says how a step runs its node's bodies.
type Control struct {
	Bodies []*Unit
	// Taken is the index of the body that is known to be taken, or −1.
	Taken int
}

// Step is one kernel launch, or one control node.
type Step struct {
	Node    *graph.Node
	Kernel  backend.Kernel
	Control *Control
	// In and Out are the values that the kernel reads and writes, in the node's order.
	In, Out []graph.ValueID
	// Reorder says that the step changes a layout; Node then stands for no node of the graph.
	Reorder bool
	// Transfer says that the step copies a value from device From to device To; it has no kernel.
	Transfer bool
	From, To int
	// DeviceIndex is the number of the device, the host's being 0.
	DeviceIndex int
	// Wait lists steps on other devices that must have ended before this one begins.
	Wait []int
	// Name and Source are the kernel's; Device is where it runs.
	Name, Source, Device string
	// EstNs is the estimated time, −1 when there is none, and EstSource where that comes from.
	EstNs     int64
	EstSource string
	// RunnerUp is the kernel that would be next; "" when there is none. MarginNs is what it takes
	// more, with the changes of layout that it is the cause of.
	RunnerUp string
	MarginNs int64
	// Reason says why this kernel was chosen.
	Reason string
	// ScratchOffset and ScratchBytes are the step's own range of the arena.
	ScratchOffset, ScratchBytes int64
	// InPlace is the input that the first output overwrites, or −1.
	InPlace int
	// Rows is how often the kernel runs, each time on one row of the operands that RowIn and RowOut
	// describe; 0 when it runs once, on all of them.
	Rows          int64
	RowIn, RowOut []Row

	reads []graph.ValueID
	item  *item
}

// Cost is what the choice of layouts rests on, in nanoseconds.
type Cost struct {
	// BoundNs is the least that any choice takes by the estimates.
	BoundNs int64
	// Strategies lists what was tried.
	Strategies []Strategy
}

// Together is what is gained from devices that run at the same time, in nanoseconds.
type Together struct {
	// SpanNs is the simulated time of a run, with copies, and SumSpanNs that of the placement whose sum
	// is least. Kept says that this is the one that was taken.
	SpanNs, SumSpanNs int64
	Kept              bool
}

// Makespan estimates the time of the stage's steps, which take ns each, when devices run at the same time,
// each its own in their order, and copies are the work of the device that is not the host.
func (s *Stage) Makespan(ns []int64) int64 {
	free := map[int]int64{}
	done := make([]int64, len(s.Steps))
	var last int64
	for i := range s.Steps {
		x := &s.Steps[i]
		at := free[x.DeviceIndex]
		for _, u := range x.Wait {
			at = max(at, done[u])
		}
		done[i] = at + ns[i]
		free[x.DeviceIndex], last = done[i], max(last, done[i])
	}
	return last
}

// Segment is a row of steps of one device, from First to Last.
type Segment struct{ Device, First, Last int }

// Segments cuts the steps, in their order, where the device changes. What a step reads is made in its
// segment or one before, so no segments wait for one another in a circle.
func (s *Stage) Segments() []Segment {
	var out []Segment
	for i := range s.Steps {
		d := s.Steps[i].DeviceIndex
		if n := len(out); n > 0 && out[n-1].Device == d {
			out[n-1].Last = i
			continue
		}
		out = append(out, Segment{d, i, i})
	}
	return out
}

// Strategy is a way to choose, and what its choice costs.
type Strategy struct {
	Name   string
	CostNs int64
}

// Copy writes a value to a graph output whose memory is not the value's own.
type Copy struct {
	Value  graph.ValueID
	Output int
}

// Memory is what a stage needs of its arena.
type Memory struct {
	Arena, LowerBound, Materialized int64
	// Strategy is the one whose offsets were taken.
	Strategy string
}

// stages counts the stages that have been planned.
var stages atomic.Uint64

// Stage is a part of a unit that was planned at once. It is immutable but for the plans cached
// on Next.
type Stage struct {
	// ID tells the stages of a process apart. Whoever remembers something of a stage does so by ID, which
	// does not keep the stage.
	ID uint64
	// Slots lists every value that the stage makes, and every constant that it reads, in an
	// order in which a value follows its Base.
	Slots  []Slot
	Steps  []Step
	Copies []Copy
	// Memory is the host's, and Away that of each other device.
	Memory Memory
	Away   []Memory
	// Values is the number of instances: of the graph's values, and of those in other layouts.
	Values int
	// Cost is nil where there was no choice of layouts.
	Cost *Cost
	// Together is nil where the host is alone.
	Together *Together
	// Next is where planning goes on when the steps have run; nil when the unit is done.
	Next *Branch

	// from is the branch that the stage starts at.
	from  *Branch
	rest  []*graph.Node
	facts map[graph.ValueID]op.Fact
	boxes []box
	// items and parted are what saving needs beside the steps.
	items  []item
	parted bool
	// spread says that some step runs beside the host.
	spread bool
	// picks and order are set in a plan for the largest shapes.
	picks map[*graph.Node]pick
	order map[stepKey]int
}

// Spread reports whether some step runs beside the host.
func (s *Stage) Spread() bool { return s.spread }

// arena is the size of a device's arena.
func (s *Stage) arena(device int) int64 {
	if device == host {
		return s.Memory.Arena
	}
	return s.Away[device-1].Arena
}

// within reports whether every arena is at most that of another plan.
func (s *Stage) within(l *Stage) bool {
	ok := s.Memory.Arena <= l.Memory.Arena
	for d := range s.Away {
		ok = ok && s.Away[d].Arena <= l.Away[d].Arena
	}
	return ok
}

// reserve takes the size of another plan's arena.
func (m *Memory) reserve(l *Memory) {
	m.Arena, m.LowerBound, m.Strategy = l.Arena, l.LowerBound, l.Strategy
}

// bytes is what the arenas of all devices take.
func (s *Stage) bytes() int64 {
	n := s.Memory.Arena
	for i := range s.Away {
		n += s.Away[i].Arena
	}
	return n
}

// Later returns the number of nodes that wait for a further stage.
func (s *Stage) Later() int { return len(s.rest) }

// Live is something that the arena holds.
type Live struct {
	Name          string
	Offset, Bytes int64
}

// Peak returns the step during which most bytes of a device's arena are in use, the first of those
// alike, and what is live then, the largest first.
func (s *Stage) Peak(device int) (step int, live []Live) {
	boxes := slices.DeleteFunc(slices.Clone(s.boxes), func(b box) bool { return b.device != device })
	step, _ = peakOf(boxes, len(s.Steps))
	for i := range boxes {
		b := &boxes[i]
		if b.first > step || step > b.last {
			continue
		}
		if n := len(live); n > 0 && live[n-1].Name == b.name && live[n-1].Offset+live[n-1].Bytes == b.offset {
			live[n-1].Bytes += b.bytes
			continue
		}
		live = append(live, Live{Name: b.name, Offset: b.offset, Bytes: b.bytes})
	}
	slices.SortStableFunc(live, func(a, b Live) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return step, live
}

// Dead calls visit with every range of the arena whose contents nothing reads after the step.
func (s *Stage) Dead(step int, visit func(device int, offset, bytes int64)) {
	for i := range s.boxes {
		if b := &s.boxes[i]; b.last == step {
			visit(b.device, b.offset, b.bytes)
		}
	}
}

// footprint estimates the memory that the stage itself takes: its lists, and what a kernel and
// a shape of usual size hold.
func (s *Stage) footprint() int64 {
	const kernel, shape = 256, 48
	return int64(len(s.Slots))*(int64(unsafe.Sizeof(Slot{}))+shape) +
		int64(len(s.Steps))*(int64(unsafe.Sizeof(Step{}))+kernel) +
		int64(len(s.boxes))*int64(unsafe.Sizeof(box{})) +
		int64(len(s.facts))*int64(unsafe.Sizeof(op.Fact{})+unsafe.Sizeof(graph.NoValue))
}
