package arena

import (
	"math/rand/v2"
	"slices"
	"testing"
)

var wrongTurns = []struct {
	name    string
	p       Problem
	seed    []int64
	seedTop int64
	best    int64
}{
	{"leading gap is used", Problem{Align: 1, Buffers: []Buffer{
		{Size: 100, Start: 0, End: 2}, {Size: 80, Start: 1, End: 3}, {Size: 60, Start: 2, End: 4},
	}}, []int64{0, 100, 0}, 180, 180},
	{"fixed offset is honoured", Problem{Align: 1, Buffers: []Buffer{
		{Size: 10, Start: 0, End: 9}, {Size: 20, Start: 0, End: 9, Fixed: new(int64(10))}, {Size: 30, Start: 0, End: 9},
	}}, []int64{0, 10, 30}, 60, 60},
	{"a view keeps its storage while another lives", Problem{Align: 1, Aliases: []Alias{{1, 0}}, Buffers: []Buffer{
		{Name: "x", Size: 64, Start: 0, End: 2}, {Name: "view", Size: 64, Start: 1, End: 6},
		{Name: "op1", Size: 64, Start: 2, End: 5},
	}}, []int64{0, 0, 64}, 128, 128},
	{"a view of a view", Problem{Align: 1, Aliases: []Alias{{2, 1}, {1, 0}}, Buffers: []Buffer{
		{Size: 8, Start: 0, End: 2}, {Size: 8, Start: 1, End: 3}, {Size: 8, Start: 2, End: 7}, {Size: 8, Start: 3, End: 4},
	}}, []int64{0, 0, 0, 8}, 16, 16},
	{"an output without consumers lives in its own step", Problem{Align: 1, Buffers: []Buffer{
		{Size: 16, Start: 0, End: 2}, {Size: 16, Start: 1, End: 2}, {Size: 16, Start: 1, End: 3},
	}}, []int64{0, 16, 32}, 48, 48},
	{"concat takes no copies", Problem{Align: 4, Packs: [][]int{{1, 2}}, Buffers: []Buffer{
		{Name: "x", Size: 256, Start: 0, End: 3}, {Name: "cos", Size: 256, Start: 1, End: 5}, {Name: "sin",
			Size: 256, Start: 2, End: 5},
	}}, []int64{0, 256, 512}, 768, 768},
	{"scratch lies beside inputs and outputs of its step", Problem{Align: 1, Buffers: []Buffer{
		{Name: "in", Size: 8, Start: 0, End: 2}, {Name: "scratch", Size: 100, Start: 1, End: 2}, {Name: "out",
			Size: 8, Start: 1, End: 3},
	}}, []int64{0, 8, 108}, 116, 116},
	{"own alignment, not the neighbour's", Problem{Buffers: []Buffer{
		{Size: 3, Align: 1, Start: 0, End: 1}, {Size: 2, Align: 16, Start: 0, End: 1},
	}}, []int64{0, 16}, 18, 5},
	{"an in-place result keeps a later buffer away", Problem{Align: 1, Aliases: []Alias{{1, 0}}, Buffers: []Buffer{
		{Size: 1024, Start: 0, End: 2}, {Size: 1024, Start: 1, End: 4}, {Size: 512, Start: 2, End: 5},
	}}, []int64{0, 0, 1024}, 1536, 1536},
	{"touching lives share bytes", Problem{Align: 1, Buffers: []Buffer{
		{Size: 8, Start: 0, End: 1}, {Size: 8, Start: 1, End: 2},
	}}, []int64{0, 0}, 8, 8},
	{"a gap in a life is used", Problem{Align: 1, Buffers: []Buffer{
		{Size: 8, Start: 0, End: 2, More: []Span{{5, 7}}}, {Size: 8, Start: 2, End: 5},
	}}, []int64{0, 8}, 16, 8},
	{"bytes of size zero disturb nobody", Problem{Buffers: []Buffer{
		{Size: 8, Start: 0, End: 2}, {Size: 0, Start: 0, End: 2}, {Size: 0, Start: 0, End: 2, Fixed: new(int64(4096))},
	}}, []int64{0, 0, 4096}, 8, 8},
}

// TestWherePlannersGoWrong has one case for each way a planner is known to go wrong. want holds
// an offset for each buffer, −2 for any; auto's arena and bound must be best.
func TestWherePlannersGoWrong(t *testing.T) {
	for _, tt := range wrongTurns {
		t.Run(tt.name, func(t *testing.T) {
			plan := solve(t, &tt.p, Seed)
			if !slices.Equal(plan.Offsets, tt.seed) || plan.Arena != tt.seedTop {
				t.Errorf("seed: got %v in %d B, want %v in %d B", plan.Offsets, plan.Arena, tt.seed, tt.seedTop)
			}
			plan = solve(t, &tt.p, Auto)
			if plan.Arena != tt.best || !plan.Proven || plan.LowerBound != tt.best {
				t.Errorf("auto: got %d B, bound %d B, want both %d B", plan.Arena, plan.LowerBound, tt.best)
			}
		})
	}
}

func TestFixedIsNeverWorseThanFirstFitAround(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 11))
		p := traits{n: 2 + rng.IntN(12)}.problem(rng)
		p.Buffers[0].Fixed = new(8 * rng.Int64N(10) * 16)
		for _, strategy := range Strategies() {
			plan := solve(t, p, strategy)
			if plan.Offsets[0] != *p.Buffers[0].Fixed {
				t.Fatalf("seed %d: %s: got %d, want %d", seed, strategy, plan.Offsets[0], *p.Buffers[0].Fixed)
			}
			_, around := seedRule(&Problem{Align: p.Align, Buffers: alive(p.Buffers[1:])})
			top := (*p.Buffers[0].Fixed + p.Buffers[0].Size + 15) / 16 * 16
			if plan.Arena > top+around {
				t.Fatalf("seed %d: %s: got %d B, want at most %d B with the others above", seed, strategy, plan.Arena, top+around)
			}
		}
	}
}

// alive gives every buffer at least one instant, as the seed's inclusive ranges do.
func alive(list []Buffer) []Buffer {
	list = slices.Clone(list)
	for i := range list {
		list[i].End = max(list[i].End, list[i].Start+1)
	}
	return list
}

func TestRowPackInterleavesRows(t *testing.T) {
	// Two projections of 3 rows over a buffer that both are computed from, and a view of one.
	p := &Problem{Align: 64, Aliases: []Alias{{4, 1}}, RowPacks: []RowPack{{Members: []int{0, 1}, Over: new(2)}},
		Buffers: []Buffer{
			{Name: "q", Size: 30, Rows: 3, Start: 1, End: 3}, {Name: "k", Size: 60, Rows: 3, Start: 1, End: 2},
			{Name: "qk", Size: 90, Rows: 3, Start: 0, End: 2}, {Name: "other", Size: 7, Rows: 7, Start: 1, End: 4},
			{Name: "view", Size: 60, Rows: 3, Start: 2, End: 6},
		}}
	for _, strategy := range Strategies() {
		plan := solve(t, p, strategy)
		base := plan.Offsets[2]
		want := []int64{base, base + 10, base, plan.Offsets[3], base + 10}
		if !slices.Equal(plan.Offsets, want) || base%64 != 0 {
			t.Errorf("%s: offsets: got %v, want %v", strategy, plan.Offsets, want)
		}
		if want := []int64{30, 30, 30, 1, 30}; !slices.Equal(plan.RowStride, want) {
			t.Errorf("%s: row strides: got %v, want %v", strategy, plan.RowStride, want)
		}
		if plan.Arena != 128+7 {
			t.Errorf("%s: arena: got %d B, want 135 B", strategy, plan.Arena)
		}
		if plan.Materialized != 30+60+90+7+60 {
			t.Errorf("%s: materialised: got %d, want 247", strategy, plan.Materialized)
		}
	}
}

func TestExternalIsCountedAndNotPlaced(t *testing.T) {
	p := &Problem{External: []int{0}, Buffers: []Buffer{{Size: 100, End: 9}, {Size: 50, End: 9}}}
	for _, strategy := range Strategies() {
		plan := solve(t, p, strategy)
		if plan.Offsets[0] != Unplaced || plan.RowStride[0] != 0 || plan.Arena != 50 || plan.Materialized != 150 {
			t.Errorf("%s: got %+v, want 50 B of 150 B, the first not placed", strategy, plan)
		}
	}
}

func TestPoolsAreSeparate(t *testing.T) {
	p := &Problem{Align: 1, Capacity: 10, Pools: []Pool{{Name: "big", Capacity: 100}}, Buffers: []Buffer{
		{Size: 60, End: 2, Pool: "big"}, {Size: 10, End: 1}, {Size: 40, End: 2, Pool: "big"}, {Size: 10, Start: 1, End: 2},
	}}
	for _, strategy := range Strategies() {
		plan := solve(t, p, strategy)
		big, rest := plan.Pools[0], plan.Pools[1]
		if plan.Arena != 110 || big.Name != "big" || big.Arena != 100 || rest.Arena != 10 || !plan.Proven {
			t.Errorf("%s: got %+v, want 100 B of big and 10 B of the other", strategy, plan)
		}
	}
	if b, err := LowerBound(p, "big"); err != nil || b.Bytes != 100 || !slices.Equal(b.Live, []int{0, 2}) {
		t.Errorf("lower bound: got %+v, %v, want 100 B", b, err)
	}
	if _, err := LowerBound(p, "none"); err == nil {
		t.Error("lower bound of no pool: got no error")
	}
}

func TestBlocksAreNotCrossed(t *testing.T) {
	p := &Problem{Align: 1, Block: 16, Buffers: []Buffer{{Size: 10, End: 1}, {Size: 9, End: 1}, {Size: 6, End: 1},
		{Size: 7, End: 1}}}
	for _, strategy := range Strategies() {
		if plan := solve(t, p, strategy); plan.Arena != 32 {
			t.Errorf("%s: got %d B, want two blocks of 16 B", strategy, plan.Arena)
		}
	}
}

func TestEmptyProblem(t *testing.T) {
	for _, strategy := range Strategies() {
		plan := solve(t, &Problem{}, strategy)
		if plan.Arena != 0 || !plan.Proven || len(plan.Pools) != 1 {
			t.Errorf("%s: got %+v, want nothing, proven", strategy, plan)
		}
	}
}

func TestBoundCountsForcedPadding(t *testing.T) {
	tests := []struct {
		name string
		p    Problem
		want Bound
	}{
		{"all but the last are rounded up", Problem{Buffers: []Buffer{{Size: 100, End: 1}, {Size: 50, End: 1},
			{Size: 256, End: 1}}},
			Bound{Bytes: 256 + 256 + 50, Reason: Peak, Live: []int{0, 1, 2}}},
		{"a whole pack is one piece", Problem{Packs: [][]int{{0, 1}}, Buffers: []Buffer{
			{Size: 10, End: 1}, {Size: 10, End: 1}, {Size: 8, End: 1}}},
			Bound{Bytes: 256 + 8, Reason: Peak, Live: []int{0, 1, 2}}},
		{"a part of a pack is loose", Problem{Packs: [][]int{{0, 1}}, Buffers: []Buffer{
			{Size: 10, End: 1}, {Size: 10, Start: 1, End: 2}, {Size: 8, End: 1}}},
			Bound{Bytes: 20, Reason: Whole, Live: []int{0, 1}}},
		{"a fixed end", Problem{Buffers: []Buffer{{Size: 10, Start: 3, End: 4, Fixed: new(int64(1024))}}},
			Bound{Bytes: 1034, Reason: Fixed, Time: 3, Live: []int{0}}},
		{"the earliest instant", Problem{Align: 1, Buffers: []Buffer{{Size: 5, Start: 7, End: 8}, {Size: 5, Start: 2,
			End: 4}}},
			Bound{Bytes: 5, Reason: Peak, Time: 2, Live: []int{1}}},
		{"aliases count once", Problem{Align: 1, Aliases: []Alias{{1, 0}}, Buffers: []Buffer{
			{Size: 5, Start: 0, End: 2}, {Size: 5, Start: 1, End: 4}}},
			Bound{Bytes: 5, Reason: Peak, Time: 0, Live: []int{0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := LowerBound(&tt.p, "")
			if err != nil || got.Bytes != tt.want.Bytes || got.Reason != tt.want.Reason || got.Time != tt.want.Time ||
				!slices.Equal(got.Live, tt.want.Live) {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}
