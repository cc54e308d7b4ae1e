package arena

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with testdata/name, or rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

const wholeJSON = "\xef\xbb\xbf" + `{
  "packs": [["c", "b"]], "external": ["e"], "aliases": [{"in": "a", "out": 7}, ["f", "a"]],
  "row_packs": [{"members": ["g"], "over": "h"}, ["i"]], "align": 64, "capacity": 100000, "block": 4096,
  "pools": [{"name": "dram", "capacity": 5, "block": 64}],
  "buffers": [
    {"id": "a", "lower": 0, "upper": 3, "size": 4, "align": null, "offset": null, "pool": ""},
    {"id": "b", "lower": -3, "upper": 9, "size": 4, "align": 16, "more": [[10, 12], [20, 21]]},
    {"id": "c", "lower": 0, "upper": 9, "size": 4},
    {"id": 7, "lower": 0, "upper": 9, "size": 4, "offset": 64},
    {"id": "e", "lower": 0, "upper": 9, "size": 4, "pool": "dram"},
    {"id": "f", "lower": 0, "upper": 9, "size": 4},
    {"id": "g", "lower": 0, "upper": 9, "size": 4, "rows": 2},
    {"id": "h", "lower": 0, "upper": 9, "size": 4, "rows": 2},
    {"id": "i", "lower": 0, "upper": 9, "size": 4}
  ]
}
`

func TestReadJSON(t *testing.T) {
	p, err := ReadJSON(strings.NewReader(wholeJSON))
	if err != nil {
		t.Fatal(err)
	}
	want := &Problem{
		Align: 64, Capacity: 100000, Block: 4096, External: []int{4}, Packs: [][]int{{2, 1}},
		Aliases:  []Alias{{3, 0}, {5, 0}},
		RowPacks: []RowPack{{Members: []int{6}, Over: new(7)}, {Members: []int{8}}},
		Pools:    []Pool{{"dram", 5, 64}},
		Buffers: []Buffer{
			{Name: "a", Start: 0, End: 3, Size: 4},
			{Name: "b", Start: -3, End: 9, Size: 4, Align: 16, More: []Span{{10, 12}, {20, 21}}},
			{Name: "c", End: 9, Size: 4}, {Name: "7", End: 9, Size: 4, Fixed: new(int64(64))},
			{Name: "e", End: 9, Size: 4, Pool: "dram"}, {Name: "f", End: 9, Size: 4},
			{Name: "g", End: 9, Size: 4, Rows: 2}, {Name: "h", End: 9, Size: 4, Rows: 2}, {Name: "i", End: 9, Size: 4},
		},
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got %+v, want %+v", p, want)
	}
}

func TestReadJSONErrorsNameTheField(t *testing.T) {
	const a = `{"id": "a", "lower": 0, "upper": 1, "size": 2}`
	tests := []struct {
		name, text, field, say string
		kind                   error
	}{
		{"nothing", "", "", "got the end at line 1, byte 1", ErrJSON},
		{"no object", "[]", "", "got a list, want an object", ErrJSON},
		{"no JSON", "{\n\"buffers\": [}", "buffers", "line 2, byte", ErrJSON},
		{"half", `{"buffers": [` + a, "buffers", "got the end", ErrJSON},
		{"two", `{"buffers": []} {}`, "", "got something behind the end", ErrJSON},
		{"no buffers", `{}`, "buffers", "got nothing, want a list", ErrJSON},
		{"null", `null`, "buffers", "got nothing, want a list", ErrJSON},
		{"buffers of a wrong type", `{"buffers": 3}`, "buffers", "got 3, want a list", ErrJSON},
		{"unknown", `{"buffer": []}`, "buffer", "got an unknown field", ErrJSON},
		{"unknown inside", `{"buffers": [{"ID": "a"}]}`, "buffers[0].ID", "got an unknown field", ErrJSON},
		{"a field twice", `{"align": 1, "align": 1}`, "align", "got it twice", ErrJSON},
		{"no size", `{"buffers": [{"id": "a", "lower": 0, "upper": 1}]}`, "buffers[0].size", "got nothing", ErrJSON},
		{"no id", `{"buffers": [{"id": "", "lower": 0, "upper": 1, "size": 0}]}`, "buffers[0].id", "got nothing", ErrJSON},
		{"an id twice", `{"buffers": [` + a + `,` + a + `]}`, "buffers[1].id", `got "a", which is the id of buffers[0] too`,
			ErrJSON},
		{"an id of a wrong type", `{"buffers": [{"id": true}]}`, "buffers[0].id", "got true, want a string", ErrJSON},
		{"an id of 1.5", `{"buffers": [{"id": 1.5}]}`, "buffers[0].id", "got 1.5, want a string", ErrJSON},
		{"a pool of a wrong type", `{"buffers": [{"pool": 1}]}`, "buffers[0].pool", "got 1, want a string", ErrJSON},
		{"a size of a wrong type", `{"buffers": [{"size": "2"}]}`, "buffers[0].size", `got "2", want an integer`, ErrJSON},
		{"a fraction", `{"buffers": [{"lower": 0.5}]}`, "buffers[0].lower", "got 0.5, want an integer", ErrJSON},
		{"65 bits", `{"buffers": [{"upper": 18446744073709551616}]}`, "buffers[0].upper", "want at most 64 bits", ErrJSON},
		{"a piece of one end", `{"buffers": [{"more": [[1]]}]}`, "buffers[0].more[0]", "got 1 numbers", ErrJSON},
		{"alias of one", `{"buffers": [` + a + `], "aliases": [{"out": "a"}]}`, "aliases[0]", "got 1 ids", ErrJSON},
		{"alias of three", `{"buffers": [` + a + `], "aliases": [["a", "a", "a"]]}`, "aliases[0]", "got 3 ids", ErrJSON},
		{"alias of null", `{"buffers": [` + a + `], "aliases": [null]}`, "aliases[0]", "got null, want an object", ErrJSON},
		{"alias of itself", `{"buffers": [` + a + `], "aliases": [["a", "a"]]}`, "aliases[0]", `got "a" over "a"`, ErrJSON},
		{"aliases in a circle", `{"buffers": [` + a + `, {"id": 4, "lower": 0, "upper": 1, "size": 2}, {"id": "c", "lower": 0,
			"upper": 1, "size": 2}], "aliases": [["a", 4], ["c", 4], ["c", "a"], [4, "c"]]}`, "aliases[3]",
			`got "4" over "c" over "4", want no buffer over itself`, ErrJSON},
		{"alias of nobody", `{"buffers": [` + a + `], "aliases": [["a", "b"]]}`, "aliases[0][1]", `got id "b"`, ErrJSON},
		{"pack of nobody", `{"buffers": [` + a + `], "packs": [["a"], ["b"]]}`, "packs[1][0]", `got id "b"`, ErrJSON},
		{"external nobody", `{"buffers": [` + a + `], "external": [null]}`, "external[0]", "got null, want an id", ErrJSON},
		{"over nobody", `{"buffers": [` + a + `], "row_packs": [{"over": "b"}]}`, "row_packs[0].over", `got id "b"`, ErrJSON},
		{"a pool without a name", `{"buffers": [], "pools": [{}]}`, "pools[0].name", "got nothing", ErrJSON},
		{"alignment of 0", `{"buffers": [{"align": 0}]}`, "buffers[0].align", "got 0 B, want a power of two", ErrAlign},
		{"alignment of 3", `{"buffers": [], "align": 3}`, "problem", "got 3 B, want a power of two", ErrAlign},
		{"a negative size", `{"buffers": [{"id": 4, "lower": 0, "upper": 1, "size": -2}]}`, "buffers[0]",
			`buffer "4": size: got -2 B`, ErrSize},
		{"an end before its start", `{"buffers": [` + a + `, {"id": 4, "lower": 2, "upper": 1, "size": 2}]}`, "buffers[1]",
			`got end 1`, ErrLifetime},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := ReadJSON(strings.NewReader(tt.text))
			bad, ok := errors.AsType[*FieldError](err)
			if p != nil || !ok || bad.Field != tt.field || !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.say) ||
				!strings.HasPrefix(err.Error(), "arena: ") {
				t.Errorf("got %v, %v, want field %q and %q", p, err, tt.field, tt.say)
			}
		})
	}
	if _, err := ReadJSON(brokenReader{}); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want %v", err, errBroken)
	}
}

func TestJSONRoundTrip(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 31))
		p := everything(1 + rng.IntN(20)).problem(rng)
		p.Pools = []Pool{{Name: "b", Capacity: 1 << 40}}
		var text, again bytes.Buffer
		if err := WriteJSON(&text, p, nil); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(text.Bytes()) {
			t.Fatalf("seed %d: got no JSON:\n%s", seed, text.String())
		}
		q, err := ReadJSON(bytes.NewReader(text.Bytes()))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text.String())
		}
		if err := WriteJSON(&again, q, nil); err != nil || again.String() != text.String() {
			t.Fatalf("seed %d: got %v and\n%s\nwant\n%s", seed, err, again.String(), text.String())
		}
		// With a plan, every offset is given: read back, it can only give the same plan.
		plan := solve(t, p, Portfolio)
		text.Reset()
		if err := WriteJSON(&text, p, plan); err != nil {
			t.Fatal(err)
		}
		if q, err = ReadJSON(&text); err != nil {
			t.Fatal(err)
		}
		if got := solve(t, q, Seed); !reflect.DeepEqual(got.Offsets, plan.Offsets) {
			t.Fatalf("seed %d: got %v, want %v", seed, got.Offsets, plan.Offsets)
		}
	}
}

func TestReportIsTheContracts(t *testing.T) {
	p := &Problem{Align: 1, External: []int{3}, Buffers: []Buffer{
		{Name: "z<1>", Size: 3, End: 2, Fixed: new(int64(0))}, {Name: "a", Size: 4, Start: 1, End: 3, Fixed: new(int64(3))},
		{Name: "far", Size: 5, End: 1, Pool: "dram"}, {Name: "mine", Size: 9, End: 1},
	}}
	r, err := solve(t, p, Seed).Report(p, 1234567*time.Nanosecond)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", text.String())
}

func TestJSONOutNeedsIDsThatDiffer(t *testing.T) {
	p := &Problem{Buffers: []Buffer{{Name: "x\xff"}, {Name: "x\xfe"}}}
	plan := solve(t, p, Seed)
	if r, err := plan.Report(p, 0); r != nil || !errors.Is(err, ErrJSON) {
		t.Errorf("report: got %v, %v, want %v", r, err, ErrJSON)
	}
	if err := WriteJSON(&bytes.Buffer{}, p, nil); !errors.Is(err, ErrJSON) {
		t.Errorf("got %v, want %v", err, ErrJSON)
	}
	p.Buffers[1].Name = ""
	if err := WriteJSON(brokenWriter{}, p, nil); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want %v", err, errBroken)
	}
}

func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(wholeJSON))
	f.Add([]byte(`{"buffers": [{"id": "a", "lower": 0, "upper": 1, "size": 2}, null], "row_packs": [[], {"over": null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadJSON(bytes.NewReader(data))
		if err != nil {
			if _, ok := errors.AsType[*FieldError](err); !ok || p != nil {
				t.Fatalf("got %v, %v, want a FieldError alone", p, err)
			}
			return
		}
		var text, again bytes.Buffer
		if err := WriteJSON(&text, p, nil); err != nil {
			t.Fatal(err)
		}
		q, err := ReadJSON(bytes.NewReader(text.Bytes()))
		if err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		if err := WriteJSON(&again, q, nil); err != nil || again.String() != text.String() {
			t.Fatalf("got %v and\n%s\nwant\n%s", err, again.String(), text.String())
		}
	})
}
