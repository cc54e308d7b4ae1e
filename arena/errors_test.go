package arena

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
)

var problemErrors = []struct {
	name   string
	change func(p *Problem)
	kind   error
	buffer string
	say    string
}{
	{"negative size", func(p *Problem) { p.Buffers[1].Size = -1 }, ErrSize, "y", "got -1 B"},
	{"sizes overflow", func(p *Problem) { p.Buffers[0].Size, p.Buffers[1].Size = math.MaxInt64/2, math.MaxInt64/2+9 },
		ErrSize, "y", "overflow"},
	{"offsets overflow", func(p *Problem) { p.Buffers[1].Align = 1 << 62; p.Buffers[2].Align = 1 << 62 },
		ErrSize, "z", "overflow"},
	{"negative rows", func(p *Problem) { p.Buffers[2].Rows = -2 }, ErrSize, "z", "got -2"},
	{"end before start", func(p *Problem) { p.Buffers[1].End = 0 }, ErrLifetime, "y",
		"got end 0, want at least its start 1"},
	{"piece ends before its start", func(p *Problem) { p.Buffers[1].More = []Span{{8, 7}} }, ErrLifetime, "y",
		"got end 7"},
	{"alignment of 48", func(p *Problem) { p.Buffers[1].Align = 48 }, ErrAlign, "y", "got 48 B"},
	{"negative alignment", func(p *Problem) { p.Buffers[1].Align = math.MinInt64 }, ErrAlign, "y", "power of two"},
	{"default alignment of 3", func(p *Problem) { p.Align = 3 }, ErrAlign, "", "got 3 B"},
	{"alias of unequal sizes", func(p *Problem) { p.Aliases = []Alias{{1, 0}} }, ErrAlias, "y",
		`alias over "x": got 256 B over 512 B`},
	{"alias of an external buffer", func(p *Problem) { p.External, p.Aliases = []int{2}, []Alias{{1, 2}} },
		ErrExternal, "y", `over "z"`},
	{"alias into another pool", func(p *Problem) { p.Buffers[1].Pool = "b"; p.Aliases = []Alias{{1, 2}} },
		ErrPool, "y", `got pool "b" over pool ""`},
	{"alias of nothing", func(p *Problem) { p.Aliases = []Alias{{1, 3}} }, ErrIndex, "", "got buffer 3, want one of 3"},
	{"external nothing", func(p *Problem) { p.External = []int{-1} }, ErrIndex, "", "external: got buffer -1"},
	{"pack of nothing", func(p *Problem) { p.Packs = [][]int{{7}} }, ErrIndex, "", "pack: got buffer 7"},
	{"row pack of nothing", func(p *Problem) { p.RowPacks = []RowPack{{Members: []int{7}}} }, ErrIndex, "",
		"row pack: got"},
	{"row pack over nothing", func(p *Problem) { p.RowPacks = []RowPack{{Over: new(9)}} }, ErrIndex, "",
		"over: got buffer 9"},
	{"pack names an external buffer", func(p *Problem) { p.External, p.Packs = []int{2}, [][]int{{1, 2}} },
		ErrExternal, "z", "pack"},
	{"row pack names an external buffer", func(p *Problem) {
		p.External, p.RowPacks = []int{2}, []RowPack{{Members: []int{1, 2}}}
	}, ErrExternal, "z", "row pack"},
	{"row pack over an external buffer", func(p *Problem) {
		p.External, p.RowPacks = []int{0}, []RowPack{{Members: []int{1, 2}, Over: new(0)}}
	}, ErrExternal, "x", "row pack"},
	{"packed twice in one", func(p *Problem) { p.Packs = [][]int{{1, 1}} }, ErrPacked, "y", "packed twice"},
	{"packed in two", func(p *Problem) { p.Packs = [][]int{{1, 0}, {2, 1}} }, ErrPacked, "y", "packed twice"},
	{"packed twice through an alias", func(p *Problem) { p.Aliases, p.Packs = []Alias{{2, 1}}, [][]int{{1, 2}} },
		ErrPacked, "z", "packed twice"},
	{"packed and row-packed", func(p *Problem) { p.Packs, p.RowPacks = [][]int{{1}}, []RowPack{{Members: []int{1}}} },
		ErrPacked, "y", "packed twice"},
	{"over one of its members", func(p *Problem) { p.RowPacks = []RowPack{{Members: []int{1}, Over: new(1)}} },
		ErrPacked, "y", "packed twice"},
	{"unequal row counts", func(p *Problem) { p.Buffers[2].Rows = 2; p.RowPacks = []RowPack{{Members: []int{1, 2}}} },
		ErrRows, "z", "got 2 rows, want 4"},
	{"row count of over", func(p *Problem) {
		p.Buffers[0].Rows, p.RowPacks = 2, []RowPack{{Members: []int{1, 2}, Over: new(0)}}
	}, ErrRows, "x", "got 2 rows, want 4"},
	{"nothing over something", func(p *Problem) { p.RowPacks = []RowPack{{Over: new(0)}} }, ErrRows, "x", "want 0"},
	{"rows of unequal size", func(p *Problem) { p.Buffers[1].Size = 255; p.RowPacks = []RowPack{{Members: []int{1, 2}}} },
		ErrRows, "y", "got 255 B in 4 rows"},
	{"a view with other rows", func(p *Problem) {
		p.Buffers[2].Rows, p.Aliases = 2, []Alias{{2, 1}}
		p.RowPacks = []RowPack{{Members: []int{0, 1}}}
	}, ErrRows, "z", "got 2 rows, want 4"},
	{"over of the wrong size", func(p *Problem) { p.RowPacks = []RowPack{{Members: []int{1}, Over: new(0)}} },
		ErrOver, "x", "got members of 256 B, want its size, 512 B"},
	{"pack across pools", func(p *Problem) { p.Buffers[2].Pool = "b"; p.Packs = [][]int{{1, 2}} }, ErrPool, "z",
		`got pool "b"`},
	{"fixed below zero", func(p *Problem) { p.Buffers[1].Fixed = new(int64(-256)) }, ErrFixed, "y", "got -256 B"},
	{"fixed off its alignment", func(p *Problem) { p.Buffers[1].Fixed = new(int64(100)) }, ErrFixed, "y",
		"multiple of 256 B"},
	{"fixed too low for its pack", func(p *Problem) { p.Packs = [][]int{{0, 1}}; p.Buffers[1].Fixed = new(int64(256)) },
		ErrFixed, "y", "want at least 512 B"},
	{"fixed off its pack's alignment", func(p *Problem) {
		p.Packs = [][]int{{0,
			1}}
		p.Buffers[1].Fixed = new(int64(513))
	},
		ErrFixed, "y", "512 B into its pack"},
	{"aliases fixed apart", func(p *Problem) {
		p.Aliases = []Alias{{2, 1}}
		p.Buffers[1].Fixed, p.Buffers[2].Fixed = new(int64(0)), new(int64(256))
	}, ErrFixed, "z", `want 0 B beside "y"`},
	{"fixed over one another", func(p *Problem) {
		p.Buffers[0].Fixed, p.Buffers[1].Fixed = new(int64(0)), new(int64(256))
	}, ErrFixed, "y", `256 B at 256 B overlap "x", 512 B at 0 B`},
	{"fixed across a block", func(p *Problem) { p.Block = 512; p.Buffers[0].Fixed = new(int64(256)) }, ErrFixed,
		"x", "cross a block"},
	{"fixed and external", func(p *Problem) { p.External = []int{1}; p.Buffers[1].Fixed = new(int64(0)) },
		ErrExternal, "y", "not placed"},
	{"larger than a block", func(p *Problem) { p.Block = 256 }, ErrBlock, "x",
		"got 512 B, want at most the block, 256 B"},
	{"block off the alignment", func(p *Problem) { p.Block = 1000 }, ErrBlock, "x", "got 1000 B, want a multiple"},
	{"pack larger than a block", func(p *Problem) { p.Block = 512; p.Packs = [][]int{{0, 1}} }, ErrBlock, "x",
		"got 768 B"},
	{"negative capacity", func(p *Problem) { p.Capacity = -1 }, ErrPool, "", "capacity -1 B"},
	{"negative capacity of a pool", func(p *Problem) { p.Pools = []Pool{{Name: "b", Capacity: -1}} }, ErrPool, "",
		`pool "b"`},
	{"pool listed twice", func(p *Problem) { p.Pools = []Pool{{Name: "b"}, {Name: "b"}} }, ErrPool, "", "listed twice"},
}

func TestProblemErrors(t *testing.T) {
	// Two buffers that live together, and a third.
	three := func(change func(p *Problem)) *Problem {
		p := &Problem{Buffers: []Buffer{
			{Name: "x", Size: 512, Start: 0, End: 4, Rows: 4},
			{Name: "y", Size: 256, Start: 1, End: 3, Rows: 4},
			{Name: "z", Size: 256, Start: 2, End: 5, Rows: 4},
		}}
		change(p)
		return p
	}
	for _, tt := range problemErrors {
		t.Run(tt.name, func(t *testing.T) {
			p := three(tt.change)
			for _, strategy := range Strategies() {
				plan, err := Solve(context.Background(), p, Options{Strategy: strategy})
				if plan != nil || !errors.Is(err, tt.kind) {
					t.Fatalf("%s: got %v, %v, want %v", strategy, plan, err, tt.kind)
				}
				var bad *Error
				if !errors.As(err, &bad) || bad.Buffer != tt.buffer {
					t.Errorf("got %v, want an error of buffer %q", err, tt.buffer)
				}
				if !strings.HasPrefix(err.Error(), "arena: ") || !strings.Contains(err.Error(), tt.say) {
					t.Errorf("got %q, want it to say %q", err, tt.say)
				}
			}
			if _, err := LowerBound(p, ""); !errors.Is(err, tt.kind) {
				t.Errorf("lower bound: got %v, want %v", err, tt.kind)
			}
		})
	}
}

func TestUnnamedBufferIsItsNumber(t *testing.T) {
	_, err := Solve(context.Background(), &Problem{Buffers: []Buffer{{}, {Size: -1}}}, Options{})
	if err == nil || !strings.Contains(err.Error(), `"#1"`) {
		t.Errorf("got %v, want an error of \"#1\"", err)
	}
}

func TestUnknownStrategy(t *testing.T) {
	_, err := Solve(context.Background(), &Problem{}, Options{Strategy: "magic"})
	if !errors.Is(err, ErrStrategy) || !strings.Contains(err.Error(), `got "magic", want one of auto, `) {
		t.Errorf("got %v, want %v", err, ErrStrategy)
	}
}

func TestCapacityBelowTheBoundSaysWhatIsLive(t *testing.T) {
	p := &Problem{Align: 1, Capacity: 99, Buffers: []Buffer{
		{Name: "a", Size: 60, Start: 0, End: 2}, {Name: "b", Size: 40, Start: 1, End: 3}, {Name: "c", Size: 50,
			Start: 2, End: 4},
	}}
	plan, err := Solve(context.Background(), p, Options{})
	var full *CapacityError
	if plan != nil || !errors.Is(err, ErrCapacity) || !errors.As(err, &full) || !full.Infeasible {
		t.Fatalf("got %v, %v, want no plan and an infeasible capacity", plan, err)
	}
	want := "arena: capacity: got 99 B, want at least 100 B; live at 1: a (60 B) b (40 B)"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestCapacityAboveTheBoundIsNeverInfeasible(t *testing.T) {
	// The three cannot be placed in 5 bytes: x and z would need the same end of the arena.
	p := &Problem{Align: 1, Capacity: 5, Pools: []Pool{{Name: "b", Capacity: 1}}, Buffers: []Buffer{
		{Name: "x", Size: 2, Start: 0, End: 2, Fixed: new(int64(0))},
		{Name: "y", Size: 2, Start: 0, End: 4},
		{Name: "z", Size: 2, Start: 2, End: 4, Fixed: new(int64(1))},
		{Name: "w", Size: 1, Start: 0, End: 2, Fixed: new(int64(4))},
		{Name: "v", Size: 1, Start: 0, End: 9, Pool: "b"},
	}}
	plan, err := Solve(context.Background(), p, Options{})
	var full *CapacityError
	if !errors.As(err, &full) || full.Infeasible {
		t.Fatalf("got %v, want a capacity error that proves nothing", err)
	}
	if plan == nil || plan.Pools[0].Arena != full.Arena || full.Arena <= 5 {
		t.Errorf("got plan %+v, want the best one found", plan)
	}
	if !strings.Contains(err.Error(), "unproven") || !strings.Contains(err.Error(), "lower bound 5 B") {
		t.Errorf("got %q, want the bound, unproven", err)
	}
}
