package arena

import (
	"cmp"
	"slices"
)

// order says in which order boxes are placed: by rank, then larger first, then longer first,
// then lowest buffer first.
type order struct {
	name string
	rank func(t *task) func(a, b int32) int
}

// The orders of the portfolio.
var (
	bySize    = order{"size", rankSize}
	byBreadth = order{"breadth", rankBreadth}
	byArea    = order{"area", rankArea}
	byLength  = order{"length", rankLength}
	byStart   = order{"start", rankStart}
	byEnd     = order{"end", rankEnd}
	byAlign   = order{"alignment", rankAlign}
	byReach   = order{"reach", rankReach}
	byCrowd   = order{"crowd", rankCrowd}
)

// sorted returns the boxes that are not fixed, in the order.
func (o *order) sorted(t *task) []int32 {
	list := make([]int32, 0, len(t.boxes))
	for i := range t.boxes {
		if t.boxes[i].fixed < 0 {
			list = append(list, int32(i))
		}
	}
	rank := o.rank(t)
	slices.SortFunc(list, func(i, j int32) int {
		if c := rank(i, j); c != 0 {
			return c
		}
		a, b := &t.boxes[i], &t.boxes[j]
		if a.size != b.size {
			return cmp.Compare(b.size, a.size)
		}
		return cmp.Or(cmp.Compare(b.length(), a.length()), cmp.Compare(a.key, b.key))
	})
	return list
}

// length is how long the box lives, gaps included.
func (b *box) length() uint64 { return uint64(b.end) - uint64(b.start) }

func (b *box) area() float64 { return float64(b.size) * float64(b.length()) }

func rankSize(*task) func(i, j int32) int { return func(i, j int32) int { return 0 } }

func rankArea(t *task) func(i, j int32) int {
	return func(i, j int32) int { return cmp.Compare(t.boxes[j].area(), t.boxes[i].area()) }
}

func rankLength(t *task) func(i, j int32) int {
	return func(i, j int32) int { return cmp.Compare(t.boxes[j].length(), t.boxes[i].length()) }
}

func rankStart(t *task) func(i, j int32) int {
	return func(i, j int32) int { return cmp.Compare(t.boxes[i].start, t.boxes[j].start) }
}

func rankEnd(t *task) func(i, j int32) int {
	return func(i, j int32) int { return cmp.Compare(t.boxes[j].end, t.boxes[i].end) }
}

func rankAlign(t *task) func(i, j int32) int {
	return func(i, j int32) int { return cmp.Compare(t.boxes[j].align, t.boxes[i].align) }
}

// rankBreadth ranks a box by the most that is live at one instant of its life, and boxes of one
// instant together.
func rankBreadth(t *task) func(i, j int32) int {
	peaks := t.crowds().peaks
	return func(i, j int32) int {
		a, b := peaks[i], peaks[j]
		return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.at, b.at))
	}
}

// rankReach ranks a box by the most that is live with it, times its length.
func rankReach(t *task) func(i, j int32) int {
	peaks := t.crowds().peaks
	reach := func(i int32) float64 { return float64(peaks[i].total) * float64(t.boxes[i].length()) }
	return func(i, j int32) int { return cmp.Compare(reach(j), reach(i)) }
}

// rankCrowd ranks a box by its size times the most that is live with it.
func rankCrowd(t *task) func(i, j int32) int {
	peaks := t.crowds().peaks
	crowd := func(i int32) float64 { return float64(peaks[i].total) * float64(t.boxes[i].size) }
	return func(i, j int32) int { return cmp.Compare(crowd(j), crowd(i)) }
}

// crowd is what is live over time, gaps in lives filled.
type crowd struct {
	// peaks holds, for each box, the most that is live at one instant of its life.
	peaks []peak
}

// peak is the number of bytes live at an instant; at is the instant's place among the starts.
type peak struct {
	total int64
	at    int
}

func higher(a, b peak) peak {
	if b.total > a.total || b.total == a.total && b.at < a.at {
		return b
	}
	return a
}

// crowds works out the crowd once per task.
func (t *task) crowds() *crowd {
	if t.crowd != nil {
		return t.crowd
	}
	var starts []int64
	for i := range t.boxes {
		if !t.boxes[i].idle() {
			starts = append(starts, t.boxes[i].start)
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	n := len(starts)
	sums := make([]int64, n+1)
	from, to := make([]int, len(t.boxes)), make([]int, len(t.boxes))
	for i := range t.boxes {
		if b := &t.boxes[i]; !b.idle() {
			from[i], _ = slices.BinarySearch(starts, b.start)
			to[i], _ = slices.BinarySearch(starts, b.end)
			sums[from[i]] += b.size
			sums[to[i]] -= b.size
		}
	}
	tree := peakTree(sums[:n])
	t.crowd = &crowd{peaks: make([]peak, len(t.boxes))}
	for i := range t.boxes {
		if !t.boxes[i].idle() {
			t.crowd.peaks[i] = tree.most(from[i], to[i])
		}
	}
	return t.crowd
}

// peaks is a tree: the second half holds the bytes live at each instant, and every node before it
// the higher of its two children.
type peaks []peak

// peakTree makes the tree from the changes at each instant.
func peakTree(changes []int64) peaks {
	n := len(changes)
	tree := make(peaks, 2*n)
	var total int64
	for k, change := range changes {
		total += change
		tree[n+k] = peak{total, k}
	}
	for k := n - 1; k > 0; k-- {
		tree[k] = higher(tree[2*k], tree[2*k+1])
	}
	return tree
}

// most returns the highest peak of the instants in [from, to).
func (p peaks) most(from, to int) peak {
	best := peak{at: from}
	n := len(p) / 2
	for l, r := n+from, n+to; l < r; l, r = l/2, r/2 {
		if l&1 == 1 {
			best = higher(best, p[l])
			l++
		}
		if r&1 == 1 {
			r--
			best = higher(best, p[r])
		}
	}
	return best
}
