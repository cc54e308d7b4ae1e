package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const buffersCSV = "id,lower,upper,size,align\na,0,2,100,\nb,1,3,50,64\nc,2,4,100,\nd,3,5,20,\n"

const buffersJSON = `{"align": 16, "capacity": 4096, "aliases": [{"out": "view", "in": "x"}], "packs": [["l", "r"]],
"row_packs": [{"members": ["gate", "up"], "over": "both"}], "external": ["caller's"],
"buffers": [
  {"id": "x", "lower": 0, "upper": 1, "size": 100}, {"id": "view", "lower": 1, "upper": 4, "size": 100},
  {"id": "l", "lower": 2, "upper": 3, "size": 24}, {"id": "r", "lower": 2, "upper": 4, "size": 24},
  {"id": "both", "lower": 3, "upper": 5, "size": 64, "rows": 4}, {"id": "gate", "lower": 4, "upper": 6, "size": 32, "rows": 4},
  {"id": "up", "lower": 4, "upper": 6, "size": 32, "rows": 4}, {"id": "caller's", "lower": 0, "upper": 6, "size": 999}
]}`

var milliseconds = regexp.MustCompile(`(ms=|"ms": )[0-9.]+`)

// timeless replaces the time that a plan took.
func timeless(s string) string { return milliseconds.ReplaceAllString(s, "${1}0") }

func TestArenaPrintsThePlan(t *testing.T) {
	table := put(t, "buffers.csv", []byte(buffersCSV))
	doc := put(t, "buffers.json", []byte(buffersJSON))
	golden(t, "arena.txt", timeless(good(t, "arena", table, "--strategy", "seed", "--explain")))
	golden(t, "arena.json", timeless(good(t, "arena", doc, "--strategy", "seed", "--json")))
	golden(t, "arena.csv", good(t, "arena", table, "--strategy", "seed", "--align", "32", "--out", "-"))
	const least = "arena=150 lower_bound=150 proven=true strategy=auto nodes="
	if out := good(t, "arena", table); !strings.HasPrefix(out, least) {
		t.Errorf("got %q, want the least plan, at an alignment of 1", out)
	}
	for _, stdin := range []string{buffersCSV, buffersJSON, "\xef\xbb\xbf" + buffersJSON} {
		if r := cli(t, []byte(stdin), "arena", "-"); r.code != exitGood || !strings.HasPrefix(r.out, "arena=") {
			t.Errorf("standard input: got %+v", r)
		}
	}
}

func TestArenaWritesByExtension(t *testing.T) {
	doc := put(t, "buffers.json", []byte(buffersJSON))
	dir := t.TempDir()
	for name, start := range map[string]string{"p.csv": "id,lower,upper,size,offset\n", "p.json": "{", "p.SVG": "<svg "} {
		path := filepath.Join(dir, name)
		if out := good(t, "arena", doc, "--out", path); !strings.HasPrefix(out, "arena=") {
			t.Errorf("%s: got %q", name, out)
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(text), start) {
			t.Errorf("%s: got %.60q, %v, want it to begin with %q", name, text, err, start)
		}
	}
	var first, again struct {
		Offsets map[string]int64 `json:"offsets"`
	}
	for path, to := range map[string]any{doc: &first, filepath.Join(dir, "p.json"): &again} {
		if err := json.Unmarshal([]byte(good(t, "arena", path, "--json")), to); err != nil {
			t.Fatal(err)
		}
	}
	if len(first.Offsets) != 7 || len(again.Offsets) != 7 {
		t.Errorf("got %v and %v, want 7 offsets each", first, again)
	}
	for id, at := range first.Offsets {
		if again.Offsets[id] != at {
			t.Errorf("%s: got %d, want %d, as the file says", id, again.Offsets[id], at)
		}
	}
}

func TestArenaSaysWhatACapacityLacks(t *testing.T) {
	table := put(t, "buffers.csv", []byte(buffersCSV))
	r := cli(t, nil, "arena", table, "--capacity", "149")
	const live = "got 149 B, want at least 150 B; live at 1: a (100 B) b (50 B)"
	if r.code != exitFailed || r.out != "" || !strings.Contains(r.err, live) {
		t.Errorf("got %+v, want the bound and what is live", r)
	}
	// A plan of 6 B exists; first fit in order of start does not find it.
	gap := put(t, "gap.csv", []byte("id,lower,upper,size\na,0,1,2\nb,0,2,2\nc,1,3,4\n"))
	r = cli(t, nil, "arena", gap, "--capacity", "7", "--strategy", "seed")
	const over = "arena=8 lower_bound=6 proven=false"
	if r.code != exitFailed || !strings.HasPrefix(r.out, over) || !strings.Contains(r.err, "(unproven)") {
		t.Errorf("got %+v, want the best plan, and that nothing is proven", r)
	}
	if out := good(t, "arena", gap, "--capacity", "7"); !strings.HasPrefix(out, "arena=6 ") {
		t.Errorf("got %q, want 6 B", out)
	}
}

func TestArenaErrorsNameTheLineOrTheField(t *testing.T) {
	for _, c := range []struct{ text, args, want string }{
		{"", "", "line 1: got no header"},
		{"id,lower,upper,size\na,0,1,x\n", "", `standard input: arena: line 2: size: got "x"`},
		{"id,lower,upper,size,offset\na,0,2,4,0\n\n\"b\",0,2,4,2\n", "", `arena: line 4: buffer "b": offset`},
		{`{"buffers": [{"id": "a"}]}`, "", "arena: buffers[0].lower: got nothing"},
		{`[]`, "", "got a list, want an object"},
		{`{"buffers": [{"id": "a", "lower": 0, "upper": 1, "size": 1}], "packs": [["a", "a"]]}`, "", `arena: packs[0]: buffer "a": packed twice`},
		{"id,lower,upper,size\na,0,1,-1\n", "", `standard input: arena: line 2: buffer "a": size: got -1 B`},
		{`{"buffers": [{"id": "a", "lower": 0, "upper": 1, "size": 1}, {"id": "b", "lower": 1, "upper": 2, "size": 1}],
			"aliases": [["a", "b"], ["b", "a"]]}`, "", `arena: aliases[0]: got "a" over "b" over "a", want no`},
		{`{"buffers": [{"id": "a", "lower": 0, "upper": 1, "size": 1, "align": 4, "offset": 2}]}`, "", `arena: buffers[0]: buffer "a": offset`},
		{buffersCSV, "--capacity 0", "--capacity: got 0, want at least 1"},
		{buffersCSV, "--capacity -1", "--capacity: got -1"},
		{buffersCSV, "--align 3", "alignment: got 3 B, want a power of two"},
		{buffersCSV, "--align 0", "--align: got 0"},
		{buffersCSV, "--capacity=-1", "--capacity: got -1"},
		{buffersCSV, "--budget=-1", "--budget: got -1"},
		{buffersCSV, "--strategy best", `strategy: got "best", want one of auto`},
	} {
		r := cli(t, []byte(c.text), append([]string{"arena", "-"}, strings.Fields(c.args)...)...)
		if r.code != exitUsage || r.out != "" || !strings.Contains(r.err, c.want) {
			t.Errorf("%q %s: got %+v, want status 2 and %q", c.text, c.args, r, c.want)
		}
	}
	if r := cli(t, nil, "arena", "/no/such.csv"); r.code != exitUsage || !strings.Contains(r.err, "/no/such.csv") {
		t.Errorf("got %+v", r)
	}
	if r := cli(t, []byte(buffersCSV), "arena", "-", "--out", "/no/such/x.svg"); r.code != exitFailed || r.out != "" {
		t.Errorf("got %+v, want status 1 when a file cannot be written", r)
	}
	pieces := `{"buffers": [{"id": "a", "lower": 0, "upper": 1, "size": 1, "more": [[3, 4]]}]}`
	r := cli(t, []byte(pieces), "arena", "-", "--out", "-")
	if r.code != exitUsage || !strings.Contains(r.err, "want one in a CSV") {
		t.Errorf("got %+v, want what a CSV cannot hold", r)
	}
}
