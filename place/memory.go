package place

import "math"

// plus adds two sizes that are not negative, and ends at the largest int64.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// pinned checks that what can run on one device only fits there.
func (m *model) pinned() error {
	if m.caps == nil {
		return nil
	}
	sum := make([]int64, m.k)
	for v, set := range m.dom {
		if set&(set-1) == 0 {
			d := lowest([]uint64{set})[0]
			sum[d] = plus(sum[d], m.size[v*m.k+d])
		}
	}
	if needs := m.needs(sum); needs != nil {
		return &CapacityError{Needs: needs, Infeasible: true}
	}
	return nil
}

// needs lists the devices of which more is taken than there is.
func (m *model) needs(used []int64) []Need {
	var out []Need
	for d, b := range used {
		if m.caps != nil && b > m.caps[d] {
			out = append(out, Need{m.p.Devices[d], b, m.caps[d], b - m.caps[d]})
		}
	}
	return out
}

func (m *model) repair(x []int) []int { return x }

func (m *model) overflow() error { return nil }

func (s *solver) capped() answer { return answer{} }
