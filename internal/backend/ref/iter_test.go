package ref

import (
	"slices"
	"testing"

	"github.com/stowage-ml/stowage/tensor"
)

// flatten lists the offsets of one operand in the order in which a walk visits them.
func flatten(w walk, k int) []int {
	var out []int
	for off := range w.runs {
		for i := range w.n {
			out = append(out, off[k]+i*w.inner[k])
		}
	}
	return out
}

func TestWalkVisitsRowMajor(t *testing.T) {
	for _, c := range []struct {
		name  string
		shape tensor.Shape
		steps steps
		runs  int
		want  []int
	}{
		{"scalar", sh(), steps{}, 1, []int{0}},
		{"dense is one run", sh(2, 3), stepsOf(sh(2, 3)), 1, []int{0, 1, 2, 3, 4, 5}},
		{"empty", sh(2, 0, 3), stepsOf(sh(2, 0, 3)), 0, nil},
		{"transposed", sh(3, 2), steps{1, 3}, 3, []int{0, 3, 1, 4, 2, 5}},
		{"row repeated", sh(2, 3), spread(sh(3), sh(2, 3)), 2, []int{0, 1, 2, 0, 1, 2}},
		{"column repeated", sh(2, 3), spread(sh(2, 1), sh(2, 3)), 2, []int{0, 0, 0, 1, 1, 1}},
		{"scalar repeated is one run", sh(2, 3), spread(sh(), sh(2, 3)), 1, []int{0, 0, 0, 0, 0, 0}},
		{"ones are skipped", sh(1, 2, 1, 2, 1), stepsOf(sh(1, 2, 1, 2, 1)), 1, []int{0, 1, 2, 3}},
		{"backwards", sh(2, 2), steps{-2, -1}, 1, []int{0, -1, -2, -3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWalk(c.shape, c.steps)
			runs := 0
			for range w.runs {
				runs++
			}
			if got := flatten(w, 0); !slices.Equal(got, c.want) || runs != c.runs {
				t.Errorf("got %v in %d runs, want %v in %d", got, runs, c.want, c.runs)
			}
		})
	}
}

func TestWalkKeepsOperandsTogether(t *testing.T) {
	to := sh(2, 2, 2)
	w := newWalk(to, stepsOf(to), spread(sh(2, 1, 2), to), spread(sh(2, 1), to))
	for k, want := range [][]int{{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 0, 1, 2, 3, 2, 3}, {0, 0, 1, 1, 0, 0, 1, 1}} {
		if got := flatten(w, k); !slices.Equal(got, want) {
			t.Errorf("operand %d: got %v, want %v", k, got, want)
		}
	}
}

func TestWalkAllocatesNothing(t *testing.T) {
	from, to := sh(5, 1), sh(4, 5, 6)
	sum := 0
	allocs := testing.AllocsPerRun(10, func() {
		w := newWalk(to, stepsOf(to), spread(from, to))
		for off := range w.runs {
			sum += off[0]
		}
	})
	if allocs != 0 {
		t.Errorf("got %v allocations, want 0", allocs)
	}
}

func TestCheckSpread(t *testing.T) {
	for _, c := range []struct {
		from, to tensor.Shape
		ok       bool
	}{
		{sh(), sh(2, 3), true}, {sh(3), sh(2, 3), true}, {sh(2, 1), sh(2, 3), true}, {sh(1), sh(0), true},
		{sh(2), sh(2, 3), false}, {sh(1, 1, 3), sh(2, 3), false}, {sh(2), sh(1), false},
	} {
		if err := checkSpread(c.from, c.to); (err == nil) != c.ok {
			t.Errorf("%v to %v: got %v", c.from, c.to, err)
		}
	}
}
