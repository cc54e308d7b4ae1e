// Package place answers on which device each node of a graph runs: it takes what a node costs on
// each device and what it takes to copy each tensor from one device to another, and returns one
// device for each node, so that all costs and copies together are least.
//
// It is pure integer arithmetic. It knows nothing of models, kernels or devices; the same problem
// always gives the same placement. Costs are nanoseconds and sizes are bytes. Costs are summed
// with saturation at MaxCost.
package place

import "strconv"

// MaxCost is where sums of costs end: what costs more costs this much.
const MaxCost int64 = 1<<62 - 2

// Values of the fields of a Problem that stand for "none".
const (
	// Cannot, as the cost of a node on a device, says that it cannot run there.
	Cannot int64 = -1
	// NoLink, as the latency between two devices, says that no copy goes straight from one to the
	// other.
	NoLink int64 = -1
	// NoExit, as the exit, says that nobody reads the outputs.
	NoExit = -1
	// Unlimited, as the capacity of a device, says that it has none.
	Unlimited int64 = -1
)

// Values of Tensor.From for what no node makes.
const (
	// Fixed tensors are on the device At before anything runs.
	Fixed = -1
	// View tensors are the bytes of the tensor At.
	View = -2
)

// Problem is everything that a placement depends on. Devices, nodes and tensors are named by their
// index. Where two devices are equally good, the one listed first is chosen.
type Problem struct {
	// Devices lists 1 to 64 devices by name; at most 8 when copies go through other devices.
	Devices []string
	// Nodes are in any order; Tensors must not make a cycle of them.
	Nodes   []Node
	Tensors []Tensor
	// Latency and PerByte give the time of a copy from the first device to the second: Latency ns
	// plus PerByte ns for each byte, rounded to the nearest ns. Their diagonals are not read.
	Latency [][]int64
	PerByte [][]float64
	// Exit is the device where outputs are read, or NoExit.
	Exit int
	// Capacity holds the bytes that the nodes of each device may have together, or Unlimited; nil
	// means that no device has a limit.
	Capacity []int64
	// Relay lets copies go through other devices where that is cheaper: a tensor then costs the
	// cheapest tree of copies from its home to all who need it. A pair with NoLink implies it.
	// Without it, every copy comes from the tensor's home.
	Relay bool
}

// Node is one thing to place.
type Node struct {
	// Name is for people: errors and explanations quote it.
	Name string
	// Cost holds the time of the node on each device, or Cannot. One must be a time.
	Cost []int64
	// Bytes holds the memory that the node takes of each device's capacity; nil means none.
	Bytes []int64
}

// Tensor is something that nodes read. It is copied at most once to each device that needs it.
type Tensor struct {
	// Name is for people; "" means the name of the node that makes it.
	Name string
	// From is the node that makes the tensor, Fixed or View; At then is a device or a tensor. What
	// reads a view reads the tensor that it is a view of, and a copy is one of the whole tensor.
	From, At int
	// To lists the nodes that read the tensor, once for each time they do.
	To []int
	// Bytes is the size; that of a view is not used.
	Bytes int64
	// Out says that the tensor is also read at the exit.
	Out bool
}

// Solution is an answer. Device and Used are indexed like Problem.Nodes and Problem.Devices.
type Solution struct {
	// Device holds the device of each node.
	Device []int
	// Copies lists what is copied, in order of tensors; from each tensor's home first.
	Copies []Copy
	// Cost is that of all nodes and copies. Bound is a cost that no placement can be under, and
	// Proven says that they are equal.
	Cost, Bound int64
	Proven      bool
	// Used holds the bytes taken of each device.
	Used []int64
	// Strategy is the one that found the placement; Tried lists all that looked for one.
	Strategy string
	Tried    []Result
	// Method says how an exact strategy went about it: "cut", "elimination" or "search", or with
	// capacities also "enumeration" or "prices".
	Method string
	// Stopped says that the context ended before the strategies did.
	Stopped bool
}

// Copy is one copy of a tensor, which is that of Problem.Tensors[Tensor].
type Copy struct {
	Tensor, From, To int
	Bytes, Cost      int64
}

// Result is what one strategy found.
type Result struct {
	Name string
	// Cost is that of its placement, if Fits says that it found one within the capacities.
	Cost int64
	Fits bool
}

// TensorName returns the name by which people know tensor i: its own, that of what it is from, or
// "#i".
func (p *Problem) TensorName(i int) string {
	if i < 0 || i >= len(p.Tensors) {
		return label("", i)
	}
	t := &p.Tensors[i]
	switch {
	case t.Name != "":
		return t.Name
	case t.From >= 0:
		return p.nodeName(t.From)
	case t.From == Fixed && t.At >= 0 && t.At < len(p.Devices):
		return "@" + p.Devices[t.At]
	}
	return label("", i)
}

func (p *Problem) nodeName(i int) string {
	if i < 0 || i >= len(p.Nodes) {
		return label("", i)
	}
	return label(p.Nodes[i].Name, i)
}

// label is a name, or the number of what has none.
func label(name string, i int) string {
	if name == "" {
		return "#" + strconv.Itoa(i)
	}
	return name
}
