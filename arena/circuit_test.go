package arena

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestFormatBytes(t *testing.T) {
	tests := []struct {
		format    Format
		rows, dim int64
		want      int64
		ok        bool
	}{
		{Float32, 3, 5, 60, true},
		{BFloat16, 3, 5, 30, true},
		{Bool, 2, 9, 18, true},
		{Format{Bits: 4}, 3, 5, 9, true},
		{FP8Tensor, 3, 64, 3*64 + 4, true},
		{FP8Token, 3, 64, 3 * (64 + 4), true},
		{FP8Group(32), 3, 64, 3 * 2 * (32 + 4), true},
		{FP8Group(48), 3, 64, 0, false},
		{MXFP8, 3, 64, 3 * 2 * 33, true},
		{MXFP4, 3, 64, 3 * 2 * 17, true},
		{MXFP4, 3, 48, 0, false},
		{NVFP4, 3, 64, 3*4*9 + 4, true},
		{NVFP4, 3, 40, 0, false},
		{Int8Block(32), 3, 64, 3 * 2 * 34, true},
		{Int4Block(32), 3, 64, 3 * 2 * 18, true},
		{Int4Block(32), 3, 65, 0, false},
		{Float32, 0, 5, 0, true},
		{Float32, 5, 0, 0, true},
		{MXFP4, 5, 0, 0, true},
		{Float32, math.MaxInt64 / 4, 5, 0, false},
		{Float64, 1, math.MaxInt64, 0, false},
		{FP8Tensor, math.MaxInt64, 1, 0, false},
		{Float32, -1, 5, 0, false},
		{Float32, 1, -5, 0, false},
		{Format{Bits: -8}, 1, 5, 0, false},
	}
	for _, tt := range tests {
		if got, ok := tt.format.Bytes(tt.rows, tt.dim); ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s of %d × %d: got %d, %t, want %d, %t", tt.format.Name, tt.rows, tt.dim, got, ok, tt.want, tt.ok)
		}
	}
}

func TestRows(t *testing.T) {
	dims := map[string]int64{"n": 10, "heads.kv": 4, "zero": 0, "bad": -1, "big": math.MaxInt64}
	tests := []struct {
		rows Rows
		want int64
		err  string
	}{
		{"", 1, ""}, {"7", 7, ""}, {"n", 10, ""}, {" n * heads.kv ", 40, ""}, {"2*n+1", 21, ""}, {"1+2*n", 21, ""},
		{"n-3-2", 5, ""}, {"n/3", 3, ""}, {"ceil(n,3)", 4, ""}, {"ceil(n, 5)", 2, ""}, {"min(n,3)", 3, ""},
		{"max(n,3)", 10, ""},
		{"(n+2)*(heads.kv-1)", 36, ""}, {"100/n/2", 5, ""}, {"zero*big", 0, ""},
		{"n+", 0, "column 3"}, {"n n", 0, `got "n", want the end`}, {"(n", 0, `want ')'`}, {"m", 0, `got dim "m"`},
		{"bad", 0, `got dim "bad"`}, {"n-11", 0, "got 10 - 11"}, {"n/zero", 0, "got 10 / 0"}, {"ceil(n,zero)", 0, "/ 0"},
		{"big+1", 0, "less than 2^63"}, {"big*2", 0, "less than 2^63"}, {"99999999999999999999", 0, "below 2^63"},
		{"1x", 0, "number"}, {"floor(n,2)", 0, `got function "floor"`}, {"min(n)", 0, `want ','`}, {"min(n,2", 0, `want ')'`},
		{"#", 0, `got "#"`}, {Rows(strings.Repeat("(", 5000)), 0, "deep"},
	}
	for _, tt := range tests {
		got, err := tt.rows.Eval(dims)
		if tt.err == "" && (err != nil || got != tt.want) {
			t.Errorf("%q: got %d, %v, want %d", tt.rows, got, err, tt.want)
		}
		if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%q: got %d, %v, want an error that says %q", tt.rows, got, err, tt.err)
		}
	}
}

func TestLiveRange(t *testing.T) {
	tests := []struct {
		name string
		edge Edge
		want Span
	}{
		{"to the last reader", Edge{Producer: 1, Consumers: []int{3, 2}}, Span{1, 4}},
		{"read in its own group", Edge{Producer: 1, Consumers: []int{1}}, Span{1, 2}},
		{"an output lives to the end", Edge{Producer: 1, Consumers: []int{2}, Output: true}, Span{1, 6}},
		{"an unread edge lives to the end", Edge{Producer: 4}, Span{4, 6}},
		{"from outside", Edge{Producer: Outside, Consumers: []int{2}}, Span{0, 6}},
		{"to outside", Edge{Producer: 1, Consumers: []int{2, Outside}}, Span{1, 6}},
		{"read before it is written", Edge{Producer: 3, Consumers: []int{1}}, Span{3, 4}},
	}
	for _, tt := range tests {
		c := &Circuit{Groups: 6, Edges: []Edge{tt.edge}}
		if got, err := c.LiveRange(0); err != nil || got != tt.want {
			t.Errorf("%s: got %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
	c := &Circuit{Groups: 6, RecycleInputs: true, RecycleUnread: true, Edges: []Edge{
		{Producer: Outside, Consumers: []int{2}}, {Producer: 4}, {Producer: Outside}, {Producer: 6}, {Producer: 1,
			Consumers: []int{-2}},
	}}
	for e, want := range []Span{{0, 3}, {4, 5}, {0, 1}} {
		if got, err := c.LiveRange(e); err != nil || got != want {
			t.Errorf("recycled %d: got %v, %v, want %v", e, got, err, want)
		}
	}
	for _, e := range []int{3, 4} {
		if _, err := c.LiveRange(e); !errors.Is(err, ErrIndex) {
			t.Errorf("edge %d: got %v, want %v", e, err, ErrIndex)
		}
	}
}

func TestCircuitProblem(t *testing.T) {
	c := &Circuit{
		Groups: 4, Dims: map[string]int64{"n": 1, "h": 2}, Align: 64,
		External: []int{0}, Aliases: []Alias{{4, 3}}, Packs: [][]int{{3, 5}},
		RowPacks: []RowPack{{Members: []int{2}, Over: new(6)}},
		Edges: []Edge{
			{Name: "in", Rows: "n", Dim: 64, Format: Float32, Producer: Outside, Consumers: []int{0}},
			{Name: "fused", Rows: "oops", Fused: true},
			{Name: "q", Rows: "n*h", Dim: 32, Format: MXFP4, Producer: 0, Consumers: []int{1}},
			{Name: "a", Rows: "n", Dim: 16, Format: BFloat16, Producer: 1, Consumers: []int{2}},
			{Name: "b", Rows: "n", Dim: 16, Format: BFloat16, Producer: 2, Consumers: []int{3}},
			{Name: "c", Rows: "n", Dim: 8, Format: Int8, Producer: 3, Output: true},
			{Name: "q0", Rows: "n*h", Dim: 32, Format: MXFP4, Producer: 0, Consumers: []int{0}},
		},
	}
	p, buffers, err := c.Problem(8)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{0, -1, 1, 2, 3, 4, 5}; !slices.Equal(buffers, want) {
		t.Errorf("buffers: got %v, want %v", buffers, want)
	}
	want := []Buffer{
		{Name: "in", Size: 8 * 64 * 4, Rows: 8, Start: 0, End: 4},
		{Name: "q", Size: 16 * 17, Rows: 16, Start: 0, End: 2},
		{Name: "a", Size: 8 * 32, Rows: 8, Start: 1, End: 3},
		{Name: "b", Size: 8 * 32, Rows: 8, Start: 2, End: 4},
		{Name: "c", Size: 64, Rows: 8, Start: 3, End: 4},
		{Name: "q0", Size: 16 * 17, Rows: 16, Start: 0, End: 1},
	}
	if !reflect.DeepEqual(p.Buffers, want) {
		t.Errorf("got %+v, want %+v", p.Buffers, want)
	}
	plan := solve(t, p, Seed)
	if !slices.Equal(plan.Offsets, []int64{Unplaced, 0, 320, 320, 576, 0}) || plan.Arena != 640 {
		t.Errorf("got %v in %d B", plan.Offsets, plan.Arena)
	}
	if c.Dims["n"] != 1 {
		t.Errorf("dims: got n=%d, want the caller's left alone", c.Dims["n"])
	}
}

func TestCircuitErrorsNameTheEdge(t *testing.T) {
	tests := []struct {
		name   string
		change func(c *Circuit)
		kind   error
		say    string
	}{
		{"dim is no multiple of its group", func(c *Circuit) { c.Edges[1].Format, c.Edges[1].Dim = MXFP4, 33 },
			ErrSize, `"b": size: got 8 rows of 33 elements of mxfp4`},
		{"size overflows", func(c *Circuit) { c.Edges[1].Dim = math.MaxInt64 / 2 }, ErrSize, `"b"`},
		{"rows overflow", func(c *Circuit) { c.Edges[1].Rows = "n*9223372036854775807" }, ErrSize, `"b"`},
		{"rows of an unknown dim", func(c *Circuit) { c.Edges[1].Rows = "m" }, ErrSize, `"b"`},
		{"group out of range", func(c *Circuit) { c.Edges[1].Producer = 2 }, ErrIndex, `"b": got group 2`},
		{"fused edge external", func(c *Circuit) { c.External = []int{2} }, ErrIndex, `"fused": is not materialised`},
		{"fused edge aliased", func(c *Circuit) { c.Aliases = []Alias{{0, 2}} }, ErrIndex, `"fused"`},
		{"fused edge packed", func(c *Circuit) { c.Packs = [][]int{{2}} }, ErrIndex, `"fused"`},
		{"fused edge row-packed", func(c *Circuit) { c.RowPacks = []RowPack{{Members: []int{2}}} }, ErrIndex, `"fused"`},
		{"fused edge under a row pack", func(c *Circuit) {
			c.RowPacks = []RowPack{{Members: []int{0},
				Over: new(2)}}
		}, ErrIndex, `"fused"`},
		{"no such edge", func(c *Circuit) { c.External = []int{3} }, ErrIndex, `"#3"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &Circuit{Groups: 2, Edges: []Edge{
				{Name: "a", Rows: "n", Dim: 4, Format: Float32, Producer: 0, Consumers: []int{1}},
				{Name: "b", Rows: "n", Dim: 4, Format: Float32, Producer: 1},
				{Name: "fused", Fused: true},
			}}
			tt.change(c)
			p, _, err := c.Problem(8)
			if p != nil || !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.say) {
				t.Errorf("got %v, %v, want %v that says %q", p, err, tt.kind, tt.say)
			}
		})
	}
}
