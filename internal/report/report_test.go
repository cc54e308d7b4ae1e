package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// sample is a page with one of everything, and names that must be escaped.
func sample() *Page {
	return &Page{
		Title:   `a<b>&"c"`,
		Facts:   []Fact{{"steps", "3"}},
		Inputs:  []string{"<in>"},
		Outputs: []Output{{Name: "out</script>", From: []int{2}}},
		Devices: []Device{{Name: "cpu", ArenaBytes: 100, LowerBound: 90, MaterializedBytes: 200, WeightBytes: 5, PeakStep: 1,
			Live: []Buffer{{"<live>", 0, 64}}}, {Name: "gpu0"}},
		Steps: []Step{
			{Op: "Conv", Name: "<script>alert(1)</script>", Device: "cpu", Kernel: "k", Source: "go", EstNs: 1500,
				EstSource: "roofline", RunnerUp: "slow", MarginNs: 7, Reason: "cheapest", Inputs: []int{0}},
			{Op: "Reorder", Device: "cpu", Kernel: "reorder", EstNs: 10, Copy: true, Reads: []int{0}},
			{Op: "If", Device: "gpu0", Kernel: "If", EstNs: -1, Reads: []int{0, 1}},
		},
		Copies:     []Copy{{Tensor: "t<u>", From: "cpu", To: "gpu0", Bytes: 1 << 20, EstNs: 30}},
		Strategies: []Strategy{{"exact", 1510}, {"single", 2000}},
		CostNs:     1510,
		Arenas:     []Picture{{"cpu", `<svg id="arena"></svg>`}},
	}
}

func write(t testing.TB, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageNeedsNothingFromOutside(t *testing.T) {
	text := write(t, sample())
	fetches := regexp.MustCompile(`(?i)(src|href)\s*=\s*"([^"]*)"|url\(([^)]*)\)|@import|https?:`)
	for _, m := range fetches.FindAllString(text, -1) {
		if !strings.HasPrefix(m, `href="#`) {
			t.Errorf("got %q, want nothing that is fetched", m)
		}
	}
	if !strings.Contains(text, "default-src 'none'") {
		t.Error("got no policy that forbids fetching, want one")
	}
}

func TestNamesAreEscaped(t *testing.T) {
	text := write(t, sample())
	for _, bad := range []string{"<script>alert", "out</script>", "a<b>", "<live>", "t<u>", "<in>"} {
		if strings.Contains(text, bad) {
			t.Errorf("got %q as it is, want it escaped", bad)
		}
	}
	for _, want := range []string{"&lt;live&gt;", "prefers-color-scheme: dark", `<svg id="arena">`, "runner-up", ">exact<",
		"1.5 µs", `class="n d1" data-i="2"`, `class="n d0 copy" data-i="1"`, "1.0 MiB"} {
		if !strings.Contains(text, want) {
			t.Errorf("got no %q, want it in the page", want)
		}
	}
}

func TestGraphIsWellFormed(t *testing.T) {
	text := write(t, sample())
	from := strings.Index(text, `<svg id="graph"`)
	to := strings.Index(text[from:], "</svg>") + from + len("</svg>")
	d := xml.NewDecoder(strings.NewReader(text[from:to]))
	boxes, lines := 0, 0
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok {
			for _, a := range e.Attr {
				if a.Name.Local == "class" && strings.HasPrefix(a.Value, "n ") {
					boxes++
				}
				if a.Name.Local == "class" && a.Value == "e" {
					lines++
				}
			}
		}
	}
	if boxes != 5 || lines != 5 {
		t.Errorf("got %d boxes and %d lines, want 5 of each", boxes, lines)
	}
}

func TestEmptyPagesAndTheSameBytes(t *testing.T) {
	write(t, &Page{})
	if write(t, sample()) != write(t, sample()) {
		t.Error("got two pages, want the same bytes twice")
	}
}

func TestReadingWhatIsNotThereIsAnError(t *testing.T) {
	for name, change := range map[string]func(p *Page){
		"itself":  func(p *Page) { p.Steps[1].Reads = []int{1} },
		"later":   func(p *Page) { p.Steps[0].Reads = []int{2} },
		"before":  func(p *Page) { p.Steps[1].Reads = []int{-1} },
		"input":   func(p *Page) { p.Steps[0].Inputs = []int{1} },
		"output":  func(p *Page) { p.Outputs[0].From = []int{3} },
		"output-": func(p *Page) { p.Outputs[0].From = []int{-1} },
	} {
		p := sample()
		change(p)
		if err := Write(io.Discard, p); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
}

// random is a graph of n boxes, each reading up to three of the last span before it.
func random(r *rand.Rand, n, span int) (wide []float64, edges [][2]int) {
	for i := range n {
		wide = append(wide, 60+float64(r.IntN(120)))
		for range r.IntN(4) {
			if i > 0 {
				edges = append(edges, [2]int{i - 1 - r.IntN(min(i, span)), i})
			}
		}
	}
	return wide, edges
}

func TestLayersKeepApartAndLeadDown(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 60 {
		wide, edges := random(r, r.IntN(120), 1+r.IntN(60))
		d := layers(wide, edges)
		for _, row := range d.rows {
			for k := 1; k < len(row); k++ {
				a, b := &d.nodes[row[k-1]], &d.nodes[row[k]]
				if space := (b.x - b.wide/2) - (a.x + a.wide/2); space < bendGap-1e-6 {
					t.Fatalf("trial %d: got %v between two boxes of a row, want at least %v", trial, space, bendGap)
				}
			}
		}
		for i := range d.nodes {
			n := &d.nodes[i]
			if n.x-n.wide/2 < -1e-6 || n.x+n.wide/2 > d.wide+1e-6 || n.y < 0 || n.y > d.high {
				t.Fatalf("trial %d: got a box at %v, %v, want it within %v, %v", trial, n.x, n.y, d.wide, d.high)
			}
		}
		checkEdges(t, d, edges)
	}
}

// checkEdges holds the edges drawn against those given: each once, downwards, row by row.
func checkEdges(t *testing.T, d *drawing, edges [][2]int) {
	t.Helper()
	want := map[[2]int]bool{}
	for _, e := range edges {
		want[e] = true
	}
	if len(d.edges) != len(want) {
		t.Fatalf("got %d edges, want %d", len(d.edges), len(want))
	}
	for _, e := range d.edges {
		if !want[[2]int{e.from, e.to}] {
			t.Fatalf("got edge %v, want one that was given", e)
		}
		path := slices.Concat([]int{e.from}, e.through, []int{e.to})
		for k := 1; k < len(path); k++ {
			if d.nodes[path[k]].row != d.nodes[path[k-1]].row+1 {
				t.Fatalf("got edge %v through rows that are not one below the other", e)
			}
		}
	}
}

func TestChainIsStraight(t *testing.T) {
	wide, edges := []float64{}, [][2]int{}
	for i := range 30 {
		wide = append(wide, 80+float64(i%3)*20)
		if i > 0 {
			edges = append(edges, [2]int{i - 1, i})
		}
	}
	d := layers(wide, edges)
	for i := range d.nodes {
		if diff := d.nodes[i].x - d.nodes[0].x; diff > 0.5 || diff < -0.5 {
			t.Fatalf("box %d: got %v beside the first, want it right below", i, diff)
		}
	}
}

func TestLargeGraphsAreDrawnInTime(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	p := &Page{Devices: []Device{{Name: "cpu"}}, Inputs: []string{"x"}}
	for i := range 3000 {
		s := Step{Op: "Conv", Name: fmt.Sprint("n", i), Device: "cpu", EstNs: int64(r.IntN(1000))}
		for range 2 {
			if i > 0 {
				s.Reads = append(s.Reads, max(0, i-1-r.IntN(200)))
			}
		}
		p.Steps = append(p.Steps, s)
	}
	start := time.Now()
	text := write(t, p)
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("got %v for 3000 steps, want about one second", took)
	}
	if n := strings.Count(text, `class="n `); n != 3001 {
		t.Errorf("got %d boxes, want 3001", n)
	}
}

func TestFiguresAreForPeople(t *testing.T) {
	for ns, want := range map[int64]string{-1: "–", 0: "0 ns", 999: "999 ns", 1500: "1.5 µs", 2_340_000: "2.34 ms",
		12_345_000_000: "12.35 s"} {
		if got := duration(ns); got != want {
			t.Errorf("%d ns: got %q, want %q", ns, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 3 << 20: "3.0 MiB",
		5 << 30: "5.00 GiB"} {
		if got := size(n); got != want {
			t.Errorf("%d bytes: got %q, want %q", n, got, want)
		}
	}
}
