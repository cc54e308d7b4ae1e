package plan

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// ErrChanged is wrapped by the errors that say why a saved plan cannot be followed.
var ErrChanged = errors.New("the saved plan does not fit any more, and Options.Replan does not allow a new one")

func changed(format string, args ...any) error {
	return fmt.Errorf("plan: saved plan: "+format+": %w", append(args, ErrChanged)...)
}

// Saved is what was decided for the entry of a unit and one set of shapes: enough to make the same
// stage again without any search. The bodies of control nodes and later stages are not in it.
type Saved struct {
	// Shapes is for people to read; Key, in hex, tells the sets apart.
	Shapes []string `json:"shapes"`
	Key    string   `json:"key"`
	// Arenas has an entry for each device, the host first.
	Arenas []SavedArena `json:"arenas"`
	// Steps are in the order in which they run; Views lists the nodes without a step.
	Steps  []Choice `json:"steps"`
	Views  []Choice `json:"views"`
	Ranges []Range  `json:"ranges"`
	// Parted says that parts of values that share their bytes have ranges of their own.
	Parted bool `json:"parted"`
}

// SavedArena is the memory on one device.
type SavedArena struct {
	Bytes      int64  `json:"bytes"`
	LowerBound int64  `json:"lower_bound"`
	Strategy   string `json:"strategy"`
}

// Choice is what runs a node, or changes the layout or the device of a value.
type Choice struct {
	Op   string `json:"op"`
	Name string `json:"name"`
	// Node is the node's number in the graph, and −1 for a change of layout or device, which writes the
	// instance of Value in Layout on device To.
	Node   int            `json:"node"`
	Value  int            `json:"value"`
	Layout backend.Layout `json:"layout"`
	To     int            `json:"to"`
	// Device is where it runs.
	Device   int    `json:"device"`
	Kernel   string `json:"kernel"`
	Source   string `json:"source"`
	Revision int    `json:"revision"`
	Scratch  int64  `json:"scratch"`
	Rows     int64  `json:"rows"`
	// In and Out are the layouts of the operands; null means row-major for all.
	In  []backend.Layout `json:"in"`
	Out []backend.Layout `json:"out"`
}

// Range is a range of a device's arena during the steps from First to Last.
type Range struct {
	// Value stands for the values that share it, of which it holds the bytes from At on; −1 is a step's
	// scratch memory.
	Value  int   `json:"value"`
	At     int64 `json:"at"`
	Device int   `json:"device"`
	First  int   `json:"first"`
	Last   int   `json:"last"`
	Bytes  int64 `json:"bytes"`
	Offset int64 `json:"offset"`
}

// Follow makes the unit plan its entry as saved. What cannot be followed, and shapes that are not in
// the list, are errors that wrap ErrChanged, or, with replan, planned anew. It must come before the
// first plan.
func (u *Unit) Follow(list []Saved, replan bool) error {
	u.saved, u.replan = map[string]*Saved{}, replan
	if !replan {
		u.arms = u.arms[:1]
	}
	for i := range list {
		key, err := hex.DecodeString(list[i].Key)
		if err != nil {
			return fmt.Errorf("plan: saved plan: key of plan %d: %w", i, err)
		}
		if u.saved[string(key)] != nil {
			return fmt.Errorf("plan: saved plan: got the shapes %q twice", list[i].Shapes)
		}
		u.saved[string(key)] = &list[i]
	}
	return nil
}

// Saved returns what has been decided for the entry so far, and what the unit has to follow, in order
// of key.
func (u *Unit) Saved() []Saved {
	b := u.Entry
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string]Saved{}
	for _, s := range u.saved {
		all[s.Key] = *s
	}
	for key, k := range b.stages {
		s := u.save(key, k.stage)
		all[s.Key] = s
	}
	return slices.SortedFunc(maps.Values(all), func(a, b Saved) int { return cmp.Compare(a.Key, b.Key) })
}

// save writes down a stage.
func (u *Unit) save(key string, s *Stage) Saved {
	out := Saved{Key: hex.EncodeToString([]byte(key)), Shapes: u.shapesOf([]byte(key)), Parted: s.parted,
		Steps: []Choice{}, Views: []Choice{}, Ranges: []Range{}}
	number := map[*graph.Node]int{}
	for i, n := range u.Graph.Nodes {
		number[n] = i
	}
	made := map[graph.ValueID]instance{}
	for i := range s.Slots {
		x := &s.Slots[i]
		made[x.Value] = instance{of: x.Of, layout: x.Layout, device: x.Device}
	}
	inst := func(v graph.ValueID) instance { return made[v] }
	stepped := map[*graph.Node]bool{}
	for t := range s.Steps {
		x := &s.Steps[t]
		out.Steps = append(out.Steps, choiceOf(x.item, number, inst))
		stepped[x.Node] = true
	}
	for i := range s.items {
		if it := &s.items[i]; !stepped[it.node] {
			out.Views = append(out.Views, choiceOf(it, number, inst))
		}
	}
	ends := make([]int64, 1+len(s.Away))
	for i := range s.boxes {
		b := &s.boxes[i]
		ends[b.device] = max(ends[b.device], b.offset+b.bytes)
		out.Ranges = append(out.Ranges, Range{Value: int(b.root), At: b.at, Device: b.device, First: b.first,
			Last: b.last, Bytes: b.bytes, Offset: b.offset})
	}
	for d, n := range ends {
		m := &s.Memory
		if d != host {
			m = &s.Away[d-1]
		}
		out.Arenas = append(out.Arenas, SavedArena{Bytes: n, LowerBound: min(n, m.LowerBound), Strategy: m.Strategy})
	}
	return out
}

func choiceOf(it *item, number map[*graph.Node]int, inst func(graph.ValueID) instance) Choice {
	o := &it.options[it.pick]
	c := Choice{Op: it.node.Op, Name: readable(it.node.Name), Node: -1, Device: it.device, Kernel: o.Name,
		Source: o.Source, Revision: o.Revision, Scratch: o.Scratch, Rows: it.rows, In: o.in, Out: o.out}
	if it.change || it.transfer {
		x := inst(it.out[0])
		c.Value, c.Layout, c.To = int(x.of), x.layout, x.device
		return c
	}
	c.Node = number[it.node]
	return c
}

// readable returns a name as JSON gives it back.
func readable(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }

// shapesOf reads the shapes in a key of the entry.
func (u *Unit) shapesOf(key []byte) []string {
	out := []string{}
	for _, v := range u.Entry.Shapes {
		if len(key) < 2 {
			break
		}
		dt, s := tensor.DType(key[0]), make(tensor.Shape, key[1])
		key = key[2:]
		for i := range s {
			n, size := binary.Varint(key)
			if size <= 0 {
				return out
			}
			s[i], key = n, key[size:]
		}
		out = append(out, fmt.Sprintf("%s %v%v",
			readable(u.Graph.Values[v].Name), dt, s))
	}
	return out
}
