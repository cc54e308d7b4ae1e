package arena

import (
	"cmp"
	"context"
	"slices"
)

// runSeed is strategy "seed": first fit in order of start, larger first, lowest buffer first;
// a storage with gaps in its life is taken to be live throughout. It always runs to its end.
func runSeed(_ context.Context, t *task) answer {
	boxes := hull(t.boxes)
	order := make([]int32, 0, len(boxes))
	for i := range boxes {
		if boxes[i].fixed < 0 {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := &boxes[i], &boxes[j]
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.size, a.size), cmp.Compare(a.key, b.key))
	})
	ans := answer{offsets: make([]int64, len(boxes)), rule: "start, first fit", nodes: int64(len(order))}
	var s shelf
	ans.arena = s.reset(boxes, ans.offsets, t.block)
	for _, i := range order {
		b := &boxes[i]
		// What has ended by now meets none of the boxes to come: they start no earlier.
		s.expire(b.start)
		off := s.first(b)
		s.put(int(i), off)
		ans.offsets[i] = off
		ans.arena = max(ans.arena, off+b.size)
	}
	return ans
}
