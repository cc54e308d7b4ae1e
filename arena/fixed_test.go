package arena

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestCombsMeetWhereTheyShareAByte(t *testing.T) {
	for seed := range uint64(20000) {
		rng := rand.New(rand.NewPCG(seed, 13))
		comb := func() comb {
			width := 1 + rng.Int64N(4)
			return comb{rng.Int64N(20), width, width + rng.Int64N(8), 1 + rng.Int64N(5)}
		}
		x, y := comb(), comb()
		held := map[int64]bool{}
		for r := range x.rows {
			for j := range x.width {
				held[x.base+r*x.stride+j] = true
			}
		}
		want := false
		for r := range y.rows {
			for j := range y.width {
				want = want || held[y.base+r*y.stride+j]
			}
		}
		if got := x.meets(y); got != want || y.meets(x) != want {
			t.Fatalf("%+v and %+v: got %t, want %t", x, y, got, want)
		}
	}
}

func TestVeryLongCombs(t *testing.T) {
	long := comb{0, 1, 4, 1 << 40}
	tests := []struct {
		name string
		y    comb
		want bool
	}{
		{"of one stride, in the gaps", comb{1, 3, 4, 1 << 40}, false},
		{"of one stride, in the teeth", comb{2, 3, 4, 1 << 40}, true},
		{"of a multiple of the stride, in the gaps", comb{1, 3, 8, 1 << 40}, false},
		{"of strides that have nothing in common", comb{1, 1, 5, 1 << 40}, true},
	}
	for _, tt := range tests {
		if got := long.meets(tt.y); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestFixedMayLieInAHole fixes a row pack, and a buffer in bytes of a member that is dead by then.
func TestFixedMayLieInAHole(t *testing.T) {
	problem := func(offset int64) *Problem {
		return &Problem{Align: 1, RowPacks: []RowPack{{Members: []int{0, 1}}}, Buffers: []Buffer{
			{Name: "narrow", Size: 30, Rows: 3, Start: 0, End: 9, Fixed: new(int64(100))},
			{Name: "wide", Size: 90, Rows: 3, Start: 0, End: 1},
			{Name: "guest", Size: 30, Start: 1, End: 2, Fixed: new(offset)},
		}}
	}
	for _, strategy := range Strategies() {
		if plan := solve(t, problem(150), strategy); plan.Arena != 220 {
			t.Errorf("%s: got %d B, want 220 B", strategy, plan.Arena)
		}
	}
	_, err := Solve(context.Background(), problem(151), Options{})
	if !errors.Is(err, ErrFixed) || !strings.Contains(err.Error(), `"guest"`) {
		t.Errorf("one byte into the next row: got %v, want %v", err, ErrFixed)
	}
}

func TestCapacityErrorsSayWhy(t *testing.T) {
	many := &Problem{Align: 1, Capacity: 29}
	for range 30 {
		many.Buffers = append(many.Buffers, Buffer{Size: 1, End: 1})
	}
	tests := []struct {
		name string
		p    *Problem
		say  string
	}{
		{"a pack", &Problem{Align: 1, Capacity: 15, Packs: [][]int{{0, 1}}, Buffers: []Buffer{
			{Name: "a", Size: 8, Start: 0, End: 1}, {Name: "b", Size: 8, Start: 1, End: 2}}},
			"capacity: got 15 B, want at least 16 B; in one piece: a (8 B) b (8 B)"},
		{"a fixed offset", &Problem{Align: 1, Capacity: 15, Buffers: []Buffer{
			{Name: "a", Size: 8, Start: 0, End: 1, Fixed: new(int64(8))}}},
			"want at least 16 B; fixed: a (8 B)"},
		{"a pool", &Problem{Align: 1, Pools: []Pool{{Name: "l2", Capacity: 1}}, Buffers: []Buffer{
			{Name: "a", Size: 8, Start: 0, End: 1, Pool: "l2"}}},
			`pool "l2": capacity: got 1 B, want at least 8 B; live at 0: a (8 B)`},
		{"very many buffers", many, "#19 (1 B) and 10 more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Solve(context.Background(), tt.p, Options{})
			if !errors.Is(err, ErrCapacity) || !strings.Contains(err.Error(), tt.say) {
				t.Errorf("got %v, want it to say %q", err, tt.say)
			}
		})
	}
}
