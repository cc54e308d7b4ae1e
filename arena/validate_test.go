package arena

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

var faults = []struct {
	name  string
	spoil func(p *Problem, plan *Plan)
	say   string
}{
	{"offsets are missing", func(_ *Problem, plan *Plan) { plan.Offsets = plan.Offsets[1:] }, "10 offsets"},
	{"strides are missing", func(_ *Problem, plan *Plan) { plan.RowStride = nil }, "0 row strides"},
	{"index out of range", func(p *Problem, _ *Plan) { p.Packs[0][0] = 99 }, "names buffer 99"},
	{"external is placed", func(_ *Problem, plan *Plan) { plan.Offsets[0] = 0 }, `"ext"`},
	{"alias lies elsewhere", func(_ *Problem, plan *Plan) { plan.Offsets[2] += 64 }, `like its alias "a"`},
	{"alias of another size", func(p *Problem, _ *Plan) { p.Buffers[2].Size-- }, "cannot be an alias"},
	{"alias of an external", func(p *Problem, _ *Plan) { p.Aliases[0].In = 0 }, "cannot be an alias"},
	{"negative offset", func(_ *Problem, plan *Plan) { plan.Offsets[8] = -64 }, `"f"`},
	{"end overflows", func(p *Problem, plan *Plan) {
		p.Buffers[8].Fixed, p.Buffers[8].Size, plan.Offsets[8] = nil, 64, 1<<63-64
	}, "an int64"},
	{"negative size", func(p *Problem, _ *Plan) { p.Buffers[8].Size = -1 }, `"f"`},
	{"fixed moves", func(_ *Problem, plan *Plan) { plan.Offsets[8] += 64 }, "where it is fixed"},
	{"crosses a block", func(p *Problem, _ *Plan) { p.Block = 540 }, "block"},
	{"misaligned", func(p *Problem, _ *Plan) { p.Buffers[8].Align = 1024 }, "multiple of 1024"},
	{"alignment of 3", func(p *Problem, _ *Plan) { p.Buffers[8].Align = 3 }, "power of two"},
	{"pack is apart", func(_ *Problem, plan *Plan) { plan.Offsets[4] += 2 }, `right behind "p"`},
	{"packed twice", func(p *Problem, _ *Plan) { p.Packs = append(p.Packs, []int{3}) }, "two packs"},
	{"external in a pack", func(p *Problem, _ *Plan) { p.Packs[0][0] = 0 }, "external"},
	{"pack across pools", func(p *Problem, _ *Plan) { p.Buffers[4].Pool = "b" }, "pool"},
	{"pack misaligned", func(p *Problem, _ *Plan) { p.Buffers[4].Align = 1 << 20 }, "multiple of 1048576"},
	{"member in the wrong column", func(_ *Problem, plan *Plan) { plan.Offsets[6] += 5 }, "its column"},
	{"member with another stride", func(_ *Problem, plan *Plan) { plan.RowStride[6]++ }, "row stride"},
	{"member with other rows", func(p *Problem, _ *Plan) { p.Buffers[6].Rows = 4 }, "rows: got 4"},
	{"member with ragged rows", func(p *Problem, plan *Plan) { p.Buffers[6].Size++; plan.RowStride[6]++ },
		"multiple of its 2 rows"},
	{"over lies elsewhere", func(_ *Problem, plan *Plan) { plan.Offsets[7] += 64 }, "row pack over it"},
	{"over of another size", func(p *Problem, _ *Plan) { p.Buffers[7].Size += 2 }, "row pack over it"},
	{"stride of a plain buffer", func(_ *Problem, plan *Plan) { plan.RowStride[8]-- }, "row stride"},
	{"view with other rows", func(p *Problem, plan *Plan) {
		p.Aliases = append(p.Aliases, Alias{8, 5})
		p.Buffers[8] = Buffer{Name: "f", Size: 20, Rows: 4, Start: 8, End: 9}
		plan.Offsets[8] = plan.Offsets[5]
	}, "rows lie apart"},
	{"over its capacity", func(p *Problem, _ *Plan) { p.Pools[0].Capacity = 59 }, "capacity, 59 B"},
	{"end before start", func(p *Problem, _ *Plan) { p.Buffers[8].End = -1 }, "lifetime"},
	{"two live in one place", func(p *Problem, plan *Plan) {
		p.Buffers[8].Fixed, plan.Offsets[8] = nil,
			plan.Offsets[1]
	}, "overlap"},
	{"one lives longer", func(p *Problem, _ *Plan) { p.Buffers[10].End = 2 }, "overlap"},
	{"one lives again", func(p *Problem, _ *Plan) { p.Buffers[10].More[0].Start = 6 }, "overlap"},
	{"materialised bytes", func(_ *Problem, plan *Plan) { plan.Materialized++ }, "materialised bytes"},
	{"arena", func(_ *Problem, plan *Plan) { plan.Arena++ }, "add up"},
	{"arena of a pool", func(_ *Problem, plan *Plan) { plan.Pools[0].Arena += 64 }, "end of its last buffer"},
	{"pool is missing", func(_ *Problem, plan *Plan) { plan.Pools = plan.Pools[:1] }, "every pool"},
	{"pool is there twice", func(_ *Problem, plan *Plan) { plan.Pools[1] = plan.Pools[0] }, "twice"},
	{"proven", func(_ *Problem, plan *Plan) { plan.Proven = !plan.Proven }, "add up"},
	{"lower bound", func(_ *Problem, plan *Plan) { plan.LowerBound-- }, "add up"},
	{"bound above the arena", func(_ *Problem, plan *Plan) { plan.Pools[1].Bound.Bytes++ }, "above its arena"},
	{"bound without evidence", func(_ *Problem, plan *Plan) { plan.Pools[1].Bound.Live = nil }, "evidence shows 0 B"},
	{"evidence out of order", func(_ *Problem, plan *Plan) { plan.Pools[1].Bound.Live = []int{9, 9} }, "in order"},
	{"evidence from elsewhere", func(_ *Problem, plan *Plan) { plan.Pools[1].Bound.Live = []int{8} },
		"placed one of pool"},
	{"evidence that is dead", func(_ *Problem, plan *Plan) { plan.Pools[1].Bound.Time = 5 }, "not live at 5"},
	{"evidence of no kind", func(_ *Problem, plan *Plan) { plan.Pools[1].Bound.Reason = "" }, "evidence shows 0 B"},
}

// TestValidateFindsEveryFault breaks a good plan, or changes its problem, in one way at a time.
func TestValidateFindsEveryFault(t *testing.T) {
	problem := func() *Problem {
		return &Problem{
			Align: 64, Block: 4096, Pools: []Pool{{Name: "b", Capacity: 64, Block: 0}},
			External: []int{0}, Aliases: []Alias{{2, 1}}, Packs: [][]int{{3, 4}},
			RowPacks: []RowPack{{Members: []int{5, 6}, Over: new(7)}},
			Buffers: []Buffer{
				{Name: "ext", Size: 10, Start: 0, End: 9},
				{Name: "a", Size: 100, Start: 0, End: 2}, {Name: "view", Size: 100, Start: 1, End: 5},
				{Name: "p", Size: 30, Start: 2, End: 6}, {Name: "q", Size: 40, Start: 3, End: 6},
				{Name: "k", Size: 20, Rows: 2, Start: 3, End: 7}, {Name: "v", Size: 40, Rows: 2, Start: 3, End: 7},
				{Name: "kv", Size: 60, Rows: 2, Start: 1, End: 4}, {Name: "f", Size: 50, Start: 0, End: 9, Fixed: new(int64(512))},
				{Name: "other", Size: 60, Start: 0, End: 1, Pool: "b"}, {Name: "gap", Size: 9, Start: 0, End: 1,
					More: []Span{{7, 8}}},
			},
		}
	}
	for _, tt := range faults {
		t.Run(tt.name, func(t *testing.T) {
			p := problem()
			plan := solve(t, p, Seed)
			// Where the row pack lies there is room before and after.
			plan.Offsets[10] = plan.Offsets[7]
			if err := Validate(p, plan); err != nil {
				t.Fatal(err)
			}
			tt.spoil(p, plan)
			err := Validate(p, plan)
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tt.say) {
				t.Errorf("got %v, want an invalid plan, %q", err, tt.say)
			}
		})
	}
}

func TestValidateEvidenceOfOtherKinds(t *testing.T) {
	pack := &Problem{Align: 1, Packs: [][]int{{0, 1}}, Buffers: []Buffer{
		{Size: 10, Start: 0, End: 1}, {Size: 10, Start: 1, End: 2}, {Size: 1, Start: 2, End: 3},
	}}
	plan := solve(t, pack, Auto)
	if b := plan.Pools[0].Bound; b.Reason != Whole || !plan.Proven {
		t.Fatalf("got %+v, want the whole pack", b)
	}
	plan.Pools[0].Bound.Live = []int{0, 2}
	if err := Validate(pack, plan); !errors.Is(err, ErrInvalid) {
		t.Errorf("pieces that are no pack: got %v, want %v", err, ErrInvalid)
	}
	fixed := &Problem{Align: 1, Packs: [][]int{{0, 1}}, Buffers: []Buffer{
		{Size: 10, End: 1, Fixed: new(int64(5))}, {Size: 10, End: 1}, {Size: 1, End: 1},
	}}
	plan = solve(t, fixed, Auto)
	if b := plan.Pools[0].Bound; b.Reason != Fixed || b.Bytes != 25 || !plan.Proven {
		t.Fatalf("got %+v, want the fixed end", b)
	}
	plan.Pools[0].Bound.Live = []int{1}
	if err := Validate(fixed, plan); !errors.Is(err, ErrInvalid) {
		t.Errorf("a buffer that is not fixed: got %v, want %v", err, ErrInvalid)
	}
}

func TestValidateLetsHolesOfARowPackBeUsed(t *testing.T) {
	// Rows of 10 and 30 bytes; when the wide member is dead its 30 bytes of each row are free.
	p := &Problem{Align: 1, RowPacks: []RowPack{{Members: []int{0, 1}}}, Buffers: []Buffer{
		{Size: 30, Rows: 3, Start: 0, End: 9}, {Size: 90, Rows: 3, Start: 0, End: 1}, {Size: 30, Start: 1, End: 2},
	}}
	plan := solve(t, p, Seed)
	plan.Offsets[2], plan.Arena, plan.Pools[0].Arena = 10, 120, 120
	plan.Proven = plan.LowerBound == 120
	if err := Validate(p, plan); err != nil {
		t.Errorf("in a hole: got %v, want no error", err)
	}
	plan.Offsets[2] = 11
	if err := Validate(p, plan); !errors.Is(err, ErrInvalid) {
		t.Errorf("one byte into the next row: got %v, want %v", err, ErrInvalid)
	}
	if want := []int64{40, 40, 30}; !slices.Equal(plan.RowStride, want) {
		t.Errorf("row strides: got %v, want %v", plan.RowStride, want)
	}
}
