package arena

import (
	"cmp"
	"math"
	"slices"
)

// near tells which boxes meet which: those of box i are list[from[i]:from[i+1]].
type near struct {
	from []int32
	list []int32
}

// of returns the boxes that meet box i.
func (n *near) of(i int32) []int32 { return n.list[n.from[i]:n.from[i+1]] }

// nearPerBox is how many boxes a box may meet on average for near to be worth its memory.
const nearPerBox = 128

// near returns the task's near, and nil when too many boxes meet. It takes O(n log n) time and
// time proportional to the result.
func (t *task) near() *near {
	if t.nearDone || t.scan {
		return t.nearby
	}
	t.nearDone = true
	pairs, ok := t.pairs(nearPerBox * len(t.boxes) / 2)
	if !ok {
		return nil
	}
	count := make([]int32, len(t.boxes)+1)
	for _, p := range pairs {
		count[p[0]+1]++
		count[p[1]+1]++
	}
	for i := range t.boxes {
		count[i+1] += count[i]
	}
	n := &near{from: count, list: make([]int32, 2*len(pairs))}
	next := slices.Clone(count)
	for _, p := range pairs {
		n.list[next[p[0]]], n.list[next[p[1]]] = p[1], p[0]
		next[p[0]]++
		next[p[1]]++
	}
	t.nearby = n
	return n
}

// pairs lists the boxes that meet, two by two; ok is false when there are more than limit.
func (t *task) pairs(limit int) (list [][2]int32, ok bool) {
	order := make([]int32, 0, len(t.boxes))
	for i := range t.boxes {
		if !t.boxes[i].idle() {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(t.boxes[i].start, t.boxes[j].start), cmp.Compare(i, j))
	})
	list = make([][2]int32, 0, min(limit, 8*len(t.boxes)))
	var live []int32
	for _, i := range order {
		b := &t.boxes[i]
		live = slices.DeleteFunc(live, func(j int32) bool { return t.boxes[j].end <= b.start })
		for _, j := range live {
			if !b.meets(&t.boxes[j]) {
				continue
			}
			if len(list) == limit {
				return nil, false
			}
			list = append(list, [2]int32{i, j})
		}
		live = append(live, i)
	}
	return list, true
}

// lowest finds the first of the smallest of a list of numbers that change: a binary tree whose
// leaves are the numbers, each node the smaller of its two children.
type lowest struct {
	tree []int64
	n    int
}

// none is above every number in a lowest.
const none = math.MaxInt64

func newLowest(list []int64) *lowest {
	n := 1
	for n < len(list) {
		n *= 2
	}
	l := &lowest{make([]int64, 2*n), n}
	copy(l.tree[n:], list)
	for k := n + len(list); k < 2*n; k++ {
		l.tree[k] = none
	}
	for k := n - 1; k > 0; k-- {
		l.tree[k] = min(l.tree[2*k], l.tree[2*k+1])
	}
	return l
}

// set changes number k.
func (l *lowest) set(k int, v int64) {
	k += l.n
	l.tree[k] = v
	for k /= 2; k > 0; k /= 2 {
		low := min(l.tree[2*k], l.tree[2*k+1])
		if l.tree[k] == low {
			return
		}
		l.tree[k] = low
	}
}

func (l *lowest) get(k int) int64 { return l.tree[l.n+k] }

// first returns the place of the smallest number, the first of equals.
func (l *lowest) first() int {
	k := 1
	for k < l.n {
		k *= 2
		if l.tree[k] > l.tree[k+1] {
			k++
		}
	}
	return k - l.n
}
