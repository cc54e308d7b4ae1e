package elem

import (
	"testing"

	"github.com/stowage-ml/stowage/tensor"
)

// Every element belongs to one task, and with planes that are large enough, the first half of the
// tasks has the upper half of each.
func TestSpreadCutsCoverEveryElementOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		for _, planes := range []int{0, 1, 3, 16} {
			for _, space := range []tensor.Shape{{0, 4}, {1, 1}, {200}, {7, 7}, {56, 56}, {15, 13}, {9, 17, 3}, {1, 300}} {
				c := newSpread(planes, space, 16, 100, threads)
				n := count(space) * 16
				seen := make([]int, planes*n)
				for i := range c.tasks {
					first, last, from, to := c.task(i)
					for row := first; row < last; row++ {
						for k := from; k < to; k++ {
							seen[row*n+k]++
						}
					}
				}
				for i, s := range seen {
					if s != 1 {
						t.Fatalf("%d planes of %v, %d threads: element %d belongs to %d tasks", planes, space, threads, i, s)
					}
				}
			}
		}
	}
	c := newSpread(16, tensor.Shape{56, 56}, 16, 100, 2)
	for i := range c.tasks {
		if _, _, from, _ := c.task(i); !c.across || (from == 0) != (i < c.tasks/2) {
			t.Errorf("task %d of %d begins at element %d of a plane", i, c.tasks, from)
		}
	}
}
