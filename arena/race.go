package arena

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// seeker looks for better plans of one part.
type seeker struct {
	ctx   context.Context
	boxes []box
	block int64
	// goal is the arena below which nothing better is asked for.
	goal int64
	// offsets is the best plan so far, and top its arena.
	offsets []int64
	top     int64
	// floor is the least arena that is not ruled out.
	floor int64
	// nodes counts up to budget; stopped says that they did not suffice, or ctx ended.
	nodes, budget int64
	stopped       bool
	// effort, when set, bounds the nodes times the boxes on all sections, which is what a node costs.
	effort int64
	// found says that there is a better plan than at first.
	found bool
}

// runner is one way to search: what is asked first, and which boxes are tried first.
type runner struct {
	way   way
	snug  snug
	taste taste
}

// taste says which boxes are tried first.
type taste int8

const (
	wide taste = iota
	large
	big
	long
	busy
	tastes
)

// snug says whether boxes that fit between their neighbours are tried before others: loose, no;
// sides, those that touch them; flush, also those that end where they do.
type snug int8

const (
	loose snug = iota
	sides
	flush
	snugs
)

// runners lists the ways to search, those that solve most problems first. Times are heavy-tailed:
// what one way does not finish in minutes another does at once.
var runners = []runner{
	{tightest, loose, large},
	{fewest, sides, large},
	{fewestFull, sides, wide},
	{fewestLow, flush, big},
	{fewestLow, sides, long},
	{fewestFull, sides, large},
	{fewest, loose, large},
	{fewest, sides, long},
	{fewestLow, sides, big},
	{fewestFull, flush, busy},
	{tightest, flush, wide},
	{fewestLow, flush, large},
	{fewestFull, sides, long},
}

const (
	// firstTries is what a search may cost in its first round, per box.
	firstTries = 2
	// maxUnits is the capacity, in grains, below which 32 bits are enough.
	maxUnits = 1 << 29
	// maxBytes and maxAlign bound what the search does with 64 bits.
	maxBytes, maxAlign = 1 << 60, 1 << 40
	// maxPairs bounds the pairs of boxes that meet, for their memory.
	maxPairs = 1 << 24
)

// seek improves the plan until it reaches the goal, no better one exists or the budget is used.
func (k *seeker) seek() {
	if k.block >= k.top {
		k.block = 0
	}
	grain, least := grainOf(k.boxes, k.block)
	sum, pairs := k.crowding()
	if least > maxAlign || k.top > maxBytes || len(k.boxes) > manyBoxes || pairs > maxPairs {
		k.stopped = true
		return
	}
	if k.effort > 0 {
		k.budget = min(k.budget, k.effort/sum+2*int64(len(k.boxes)))
	}
	if (k.top+int64(len(k.boxes))*least)/grain < maxUnits {
		race(k, newPart[int32](k.boxes, k.block, grain, least))
	} else {
		race(k, newPart[int64](k.boxes, k.block, grain, least))
	}
}

// crowding returns how many boxes are on the sections, all together, and an upper bound of the
// pairs of boxes that meet.
func (k *seeker) crowding() (sum, pairs int64) {
	at := instants(k.boxes)
	enter, leave := make([]int64, len(at)+1), make([]int64, len(at)+1)
	for i := range k.boxes {
		h := within(at, k.boxes[i].start, k.boxes[i].end)
		enter[h.from]++
		leave[h.to]++
	}
	live := int64(0)
	for s := range enter {
		live -= leave[s]
		pairs += enter[s]*live + enter[s]*(enter[s]-1)/2
		live += enter[s]
		sum += live
	}
	return sum, pairs
}

// race lets the runners take turns, in rounds of a length that varies. Every round
// tries the goal first, and then bisects between what failed and the best plan so far.
func race[T word](k *seeker, p *part[T]) {
	b := newBranch(k.ctx, p)
	for round := 0; k.top > max(k.goal, k.floor); round++ {
		tries := firstTries * int64(len(k.boxes)) * luby(round+1)
		// Below low, this round has failed.
		low := max(k.goal, k.floor)
		for target, failures := low, 0; failures < maxFailures; target = low + (k.top-low)/2 {
			if k.stopped = k.nodes >= k.budget || k.ctx.Err() != nil; k.stopped {
				return
			}
			if !relay(k, b, target, round, tries) {
				low = max(target+1, k.floor)
				failures++
			}
			if k.top-low <= k.top>>fineness || k.top <= max(k.goal, k.floor) {
				break
			}
		}
	}
}

// luby returns term i, from 1, of the sequence 1 1 2 1 1 2 4 … (Luby, Sinclair and Zuckerman, 1993),
// which suits searches whose times are heavy-tailed whatever their distribution.
func luby(i int) int64 {
	for {
		n := bits.Len(uint(i))
		if i == 1<<n-1 {
			return 1 << (n - 1)
		}
		i -= 1<<(n-1) - 1
	}
}

// maxFailures is the number of targets that a round may miss.
const maxFailures = 3

// fineness is the binary logarithm of the part of the arena below which bisecting ends.
const fineness = 9

// relay lets each runner search once at the target, until one finds a plan or rules it out.
func relay[T word](k *seeker, b *branch[T], target int64, round int, tries int64) bool {
	for i := range runners {
		b.line(round, i)
		if !b.reset(target) {
			k.floor = max(k.floor, target+1)
			return false
		}
		b.budget = min(tries, k.budget-k.nodes)
		found := b.search(0, int32(len(b.total)))
		k.nodes += b.nodes
		switch {
		case found:
			k.take(func(i int) int64 { return int64(b.off[i]) * b.grain })
			return true
		case !b.stopped:
			k.floor = max(k.floor, target+1)
			return false
		case k.nodes >= k.budget || k.ctx.Err() != nil:
			return false
		}
	}
	return false
}

// take makes the plan that a search has found the best so far.
func (k *seeker) take(place func(i int) int64) {
	k.top, k.found = 0, true
	for i := range k.boxes {
		k.offsets[i] = place(i)
		k.top = max(k.top, k.offsets[i]+k.boxes[i].size)
	}
}

// line sets how the search goes, and the order in which boxes are tried: in the first round as the
// runner says, and then with another taste and a little shaken.
func (b *branch[T]) line(round, lane int) {
	r := runners[lane]
	rng := rand.New(rand.NewPCG(uint64(round), uint64(lane)))
	if round > 0 && (round+lane)%2 == 0 {
		r.taste, r.snug = taste(rng.IntN(int(tastes))), snug(rng.IntN(int(snugs)))
	}
	b.way, b.snug = r.way, r.snug
	n := len(b.size)
	key := make([]float64, n)
	list := make([]int32, n)
	for i := range key {
		list[i] = int32(i)
		key[i] = b.worth(r.taste, int32(i))
		if round > 0 {
			key[i] *= math.Exp(shake * rng.Float64())
		}
	}
	slices.SortFunc(list, func(i, j int32) int {
		return cmp.Or(cmp.Compare(key[j], key[i]), cmp.Compare(b.size[j], b.size[i]),
			cmp.Compare(b.length[j], b.length[i]), cmp.Compare(i, j))
	})
	for k, i := range list {
		b.rank[i] = int32(k)
	}
}

// shake is the most by which the logarithm of a box's worth changes.
const shake = 0.3

// worth is larger for boxes that are to be tried earlier.
func (b *branch[T]) worth(t taste, i int32) float64 {
	width := float64(b.hull[i].to - b.hull[i].from)
	switch t {
	case wide:
		return width
	case large:
		return float64(b.size[i])
	case big:
		return float64(b.size[i]) * b.length[i]
	case long:
		return b.length[i]
	}
	return float64(b.peak[i])
}
