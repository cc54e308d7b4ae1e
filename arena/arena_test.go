package arena

import (
	"context"
	"testing"
)

// solve solves p and checks the plan.
func solve(t *testing.T, p *Problem, strategy string) *Plan {
	t.Helper()
	plan, err := Solve(context.Background(), p, Options{Strategy: strategy})
	if err != nil {
		t.Fatalf("%s: %v", strategy, err)
	}
	if err := Validate(p, plan); err != nil {
		t.Fatalf("%s: %v", strategy, err)
	}
	return plan
}

func TestSeedRule(t *testing.T) {
	at := int64(256)
	tests := []struct {
		name    string
		p       Problem
		offsets []int64
		arena   int64
		bound   int64
	}{
		{"leading gap is used", Problem{Align: 1, Buffers: []Buffer{
			{Size: 100, Start: 0, End: 2}, {Size: 80, Start: 1, End: 3}, {Size: 60, Start: 2, End: 4},
		}}, []int64{0, 100, 0}, 180, 180},
		{"own alignment, not the neighbour's", Problem{Buffers: []Buffer{
			{Size: 2, Align: 16, Start: 0, End: 1}, {Size: 3, Align: 1, Start: 0, End: 1},
		}}, []int64{16, 0}, 18, 5},
		{"in place keeps its storage for the union", Problem{Align: 1, Aliases: []Alias{{1, 0}}, Buffers: []Buffer{
			{Size: 1024, Start: 0, End: 2}, {Size: 1024, Start: 1, End: 4}, {Size: 512, Start: 2, End: 5},
		}}, []int64{0, 0, 1024}, 1536, 1536},
		{"fixed first", Problem{Buffers: []Buffer{
			{Size: 300, Start: 0, End: 2}, {Size: 256, Start: 1, End: 2, Fixed: &at},
		}}, []int64{512, 256}, 812, 556},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := solve(t, &tt.p, Seed)
			for i, want := range tt.offsets {
				if plan.Offsets[i] != want {
					t.Errorf("offset %d: got %d, want %d", i, plan.Offsets[i], want)
				}
			}
			if plan.Arena != tt.arena || plan.LowerBound != tt.bound {
				t.Errorf("got arena %d bound %d, want %d %d", plan.Arena, plan.LowerBound, tt.arena, tt.bound)
			}
		})
	}
}
