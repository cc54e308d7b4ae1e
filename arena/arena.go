// Package arena answers where each byte lives: it takes buffers with sizes and lifetimes, and
// returns an offset for each in one block of memory, so that buffers that are live at the same
// time never share a byte.
//
// It is pure integer arithmetic. It knows nothing of tensors, devices or files; the same problem
// always gives the same plan. Sizes, offsets and alignments are bytes. Times are any int64 that
// grows, such as step numbers; lifetimes are half-open.
package arena

import "strconv"

// DefaultAlign is the alignment of a buffer when neither it nor its problem sets one.
const DefaultAlign = 256

// Unplaced is the offset that a plan gives an external buffer.
const Unplaced = -1

// Problem is everything that constrains a plan. Buffers are named by their index in Buffers.
type Problem struct {
	Buffers []Buffer
	// Aliases join buffers that share their bytes: views, and results written in place.
	Aliases []Alias
	// Packs lists buffers that lie back to back, in the order given, with no padding between.
	Packs [][]int
	// RowPacks lists buffers that lie side by side in each row.
	RowPacks []RowPack
	// External lists buffers that somebody else owns. They count as materialised and are not placed.
	External []int
	// Align is the alignment of the buffers that set none: a power of two; 0 means DefaultAlign.
	Align int64
	// Capacity is the size that no pool may exceed; 0 means no limit.
	Capacity int64
	// Block is the largest piece of memory that can be had at once: no storage crosses a multiple
	// of it. 0 means no limit; otherwise it is a multiple of every alignment.
	Block int64
	// Pools overrides Capacity and Block for the pools that it names.
	Pools []Pool
}

// Buffer is one thing to place. It is live during [Start, End) and during every span of More;
// an empty lifetime is never live. Lifetimes are taken at their word: bytes that must survive
// until an alias takes over are live until then.
type Buffer struct {
	// Name is for people: errors and explanations quote it. Names need not differ.
	Name string
	// Size may be 0: such a buffer has an offset and disturbs nobody.
	Size int64
	// Align is a power of two; 0 means Problem.Align. In a pack, the largest alignment of the
	// members applies to the pack's first byte, and the members lie where the pack puts them.
	Align int64
	// Start and End are the half-open lifetime; More holds further pieces of it, in any order.
	Start, End int64
	More       []Span
	// Rows is the number of rows of Size/Rows bytes each; 0 means 1. Row packs need it.
	Rows int64
	// Fixed, when set, is the buffer's offset: it lies there and nowhere else.
	Fixed *int64
	// Pool names the block of memory the buffer lives in. Offsets in different pools have
	// nothing to do with each other.
	Pool string
}

// Span is the half-open stretch of time [Start, End).
type Span struct{ Start, End int64 }

// Alias says that Out is written over In, or is a view of it: both have the same offset, and
// the storage they share is live whenever one of them is. Sizes, and pools, must be equal.
type Alias struct{ Out, In int }

// RowPack lays its members side by side in each row: row i of member j begins i pack rows plus
// the widths of the members before j behind the pack's first byte. All have one row count.
type RowPack struct {
	Members []int
	// Over, when set, is a buffer whose bytes the pack takes exactly, because a kernel rewrites it
	// in place into the members.
	Over *int
}

// Pool limits one block of memory. Capacity and Block are as in Problem.
type Pool struct {
	Name     string
	Capacity int64
	Block    int64
}

// Plan is an answer. Its slices are indexed like Problem.Buffers.
type Plan struct {
	// Offsets holds the first byte of each buffer within its pool; Unplaced when external.
	Offsets []int64
	// RowStride holds the bytes from one row of a buffer to its next: its own row's width, or
	// the whole row of the row pack it belongs to; 0 when external.
	RowStride []int64
	// Arena is the size of all pools together.
	Arena int64
	// Materialized is the sum of all sizes, before any reuse.
	Materialized int64
	// LowerBound is a size that no plan for this problem can be under, all pools together.
	LowerBound int64
	// Proven says that Arena equals LowerBound: there is no better plan.
	Proven bool
	// Strategy is the strategy that was asked for; PoolPlan.Rule says which rule won.
	Strategy string
	// Nodes counts the placements that were tried.
	Nodes int64
	// Stopped says that the context or the budget ended before the strategy did.
	Stopped bool
	// Pools describes each pool, in order of its first buffer; never empty.
	Pools []PoolPlan
}

// PoolPlan is the part of a plan that concerns one pool.
type PoolPlan struct {
	Name  string
	Arena int64
	Bound Bound
	// Optimal says that no better plan exists, if storages of one pack keep together: the arena is
	// the bound, or a search has tried all plans below the arena. The plan has no evidence of that.
	Optimal bool
	// Rule is the rule that gave the offsets.
	Rule string
}

// Reason says why a bound holds.
type Reason string

// The reasons of a Bound.
const (
	// Peak: the storages of Live are all live at Time, and must lie apart.
	Peak Reason = "peak"
	// Whole: the buffers of Live lie in one piece of this size.
	Whole Reason = "whole"
	// Fixed: the one buffer of Live has a fixed offset, and ends there.
	Fixed Reason = "fixed"
)

// Bound is a number of bytes that no plan can be under, with the evidence.
type Bound struct {
	Bytes  int64
	Reason Reason
	// Time is the instant of a Peak, and the start of Live[0] otherwise.
	Time int64
	// Live lists buffers by index, in order. At a Peak it has one buffer per storage, the lowest
	// that is live at Time. What Bytes has above the sum of their sizes is padding that alignment
	// forces.
	Live []int
}

// name returns the name by which people know buffer i.
func (p *Problem) name(i int) string {
	if i < 0 || i >= len(p.Buffers) {
		return label("", i)
	}
	return label(p.Buffers[i].Name, i)
}

// label is a name, or the number of what has none.
func label(name string, i int) string {
	if name == "" {
		return "#" + strconv.Itoa(i)
	}
	return name
}

// pool returns the limits of the pool of that name.
func (p *Problem) pool(name string) Pool {
	for _, q := range p.Pools {
		if q.Name == name {
			return q
		}
	}
	return Pool{Name: name, Capacity: p.Capacity, Block: p.Block}
}
