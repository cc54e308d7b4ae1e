package arena

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func draw(t testing.TB, p *Problem, plan *Plan) string {
	t.Helper()
	var text bytes.Buffer
	if err := WriteSVG(&text, p, plan); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// wellFormed parses a picture, and counts its elements by name.
func wellFormed(t testing.TB, text string) map[string]int {
	t.Helper()
	count := make(map[string]int)
	in := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := in.Token()
		if err == io.EOF {
			return count
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if e, ok := token.(xml.StartElement); ok {
			count[e.Name.Local]++
		}
	}
}

func TestSVGGolden(t *testing.T) {
	p := &Problem{Align: 64, Buffers: []Buffer{
		{Name: "image <1&2>", Size: 4096, Start: 0, End: 3}, {Name: "/features/conv1/Conv_output_0", Size: 8192, Start: 2, End: 6},
		{Name: "left", Size: 2048, Rows: 4, Start: 5, End: 9}, {Name: "right", Size: 2048, Rows: 4, Start: 5, End: 8},
		{Name: "gap", Size: 1024, Start: 0, End: 2, More: []Span{{7, 10}}}, {Name: "apart", Size: 500, Start: 3, End: 5, Pool: "dram"},
		{Name: "caller's", Size: 77, Start: 0, End: 9},
	}, RowPacks: []RowPack{{Members: []int{2, 3}}}, External: []int{6}}
	plan := solve(t, p, Seed)
	text := draw(t, p, plan)
	golden(t, "plan.svg", text)
	if count := wellFormed(t, text); count["title"] != 7 {
		t.Errorf("got %d titles, want one for each of 7 pieces", count["title"])
	}
}

func TestSVGOfAnyPlan(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 32))
		p := everything(rng.IntN(30) + 1).problem(rng)
		plan := solve(t, p, Portfolio)
		text := draw(t, p, plan)
		wellFormed(t, text)
		if again := draw(t, p, plan); again != text {
			t.Fatalf("seed %d: got two pictures of one plan", seed)
		}
	}
	for name, p := range map[string]*Problem{
		"nothing": {}, "no time": {Buffers: []Buffer{{Size: 5}}}, "no bytes": {Buffers: []Buffer{{End: 5}}},
		"all of time": {Buffers: []Buffer{{Size: 5, Start: math.MinInt64, End: math.MaxInt64, Name: "a\x00\xff\n"}}},
		"many bytes":  {Align: 1, Buffers: []Buffer{{Size: math.MaxInt64 - 1, End: 1}}},
		"many rows": {Align: 1, RowPacks: []RowPack{{Members: []int{0, 1}}}, Buffers: []Buffer{
			{Size: 1000, Rows: 1000, End: 1}, {Size: 1000, Rows: 1000, End: 1},
		}},
	} {
		if text := draw(t, p, solve(t, p, Seed)); wellFormed(t, text)["svg"] != 1 {
			t.Errorf("%s: got %s, want a picture", name, text)
		}
	}
}

func TestSVGOfManyBuffersStaysSmall(t *testing.T) {
	p := network(30000, 3)
	text := draw(t, p, solve(t, p, Seed))
	if n := wellFormed(t, text)["path"]; n > 100 || len(text) > 3<<20 {
		t.Errorf("got %d paths in %d B, want at most 100 in 3 MiB", n, len(text))
	}
	if got := strings.Count(text, "z"); got < 30000 {
		t.Errorf("got %d rectangles, want every one of 30000", got)
	}
}

func TestSVGErrors(t *testing.T) {
	p := &Problem{Buffers: []Buffer{{Size: 5, End: 1}}}
	plan := solve(t, p, Seed)
	if err := WriteSVG(brokenWriter{}, p, plan); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want %v", err, errBroken)
	}
	plan.Offsets[0] = -7
	if err := WriteSVG(io.Discard, p, plan); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want %v", err, ErrInvalid)
	}
}

func TestShortenedKeepsBothEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		n    int
		want string
	}{{"abcdef", 6, "abcdef"}, {"abcdef", 5, "ab…ef"}, {"äöüß", 3, "ä…ß"}, {"abcdef", 2, ""}, {"ab", 2, "ab"}, {"ab", -1, ""}} {
		if got := shortened(tt.name, tt.n); got != tt.want {
			t.Errorf("%q in %d: got %q, want %q", tt.name, tt.n, got, tt.want)
		}
	}
}

func BenchmarkSVG(b *testing.B) {
	p := network(30000, 3)
	plan := solve(b, p, Seed)
	for b.Loop() {
		if err := WriteSVG(io.Discard, p, plan); err != nil {
			b.Fatal(err)
		}
	}
}
