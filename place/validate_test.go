package place

import (
	"errors"
	"testing"
)

func TestValidateFindsWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*Problem, *Solution)
	}{
		{"a device too few", func(_ *Problem, s *Solution) { s.Device = s.Device[1:] }},
		{"a node where it cannot run", func(_ *Problem, s *Solution) { s.Device[2] = gpu }},
		{"a node nowhere", func(_ *Problem, s *Solution) { s.Device[1] = -1 }},
		{"a reader without a copy", func(_ *Problem, s *Solution) { s.Copies = nil }},
		{"a copy twice", func(_ *Problem, s *Solution) { s.Copies = append(s.Copies, s.Copies[0]) }},
		{"a copy that nobody reads", func(_ *Problem, s *Solution) { s.Copies = append(s.Copies, Copy{1, 0, 1, 4, 14}) }},
		{"a copy from where it is not", func(_ *Problem, s *Solution) { s.Copies[0].From, s.Copies[0].To = cpu, gpu }},
		{"a copy of nothing", func(_ *Problem, s *Solution) { s.Copies[0].Tensor = 7 }},
		{"a copy of other bytes", func(_ *Problem, s *Solution) { s.Copies[0].Bytes++ }},
		{"a copy at another cost", func(_ *Problem, s *Solution) { s.Copies[0].Cost--; s.Cost-- }},
		{"another cost", func(_ *Problem, s *Solution) { s.Cost-- }},
		{"a bound above the cost", func(_ *Problem, s *Solution) { s.Bound = s.Cost + 1 }},
		{"a proof without a bound", func(_ *Problem, s *Solution) { s.Bound-- }},
		{"a bound without a proof", func(_ *Problem, s *Solution) { s.Proven = false }},
		{"a better strategy passed over", func(_ *Problem, s *Solution) { s.Tried[1] = Result{"carry", 1, true} }},
		{"a winner of another cost", func(_ *Problem, s *Solution) { s.Tried[0].Cost++ }},
		{"other bytes taken", func(_ *Problem, s *Solution) { s.Used[0]++ }},
		{"bytes of too few devices", func(_ *Problem, s *Solution) { s.Used = nil }},
		{"a capacity exceeded", func(p *Problem, _ *Solution) { p.Capacity = []int64{8, 7} }},
		{"a view of itself", func(p *Problem, _ *Solution) {
			p.Tensors = append(p.Tensors, Tensor{From: View, At: 3})
		}},
	} {
		p := two(10, 1, costs(Cannot, 1), costs(5, Cannot), costs(9, Cannot))
		p.Tensors = []Tensor{made(0, 4, 1, 2), made(1, 4, 2), left(2, 4)}
		p.Nodes[0].Bytes, p.Nodes[1].Bytes = []int64{8, 8}, []int64{8, 8}
		s := solve(t, p, Auto)
		c.set(p, s)
		if err := Validate(p, s); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want %v", c.name, err, ErrInvalid)
		}
	}
}
