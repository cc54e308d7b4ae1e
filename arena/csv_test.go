package arena

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestReadCSV(t *testing.T) {
	const text = "\xef\xbb\xbfid, lower,upper,Size,note,align,offset,pool\n" +
		"a,0,3,4,x,,,\n" +
		" b ,-3, 9 ,4,\"quoted, text\",16,32,\n" +
		"\n" +
		"c,0,9,4,,,,dram\n"
	p, err := ReadCSV(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []Buffer{
		{Name: "a", Start: 0, End: 3, Size: 4},
		{Name: "b", Start: -3, End: 9, Size: 4, Align: 16, Fixed: new(int64(32))},
		{Name: "c", Start: 0, End: 9, Size: 4, Pool: "dram"},
	}
	if !reflect.DeepEqual(p.Buffers, want) {
		t.Errorf("got %+v, want %+v", p.Buffers, want)
	}
}

func TestReadCSVErrorsNameTheLine(t *testing.T) {
	const head = "id,lower,upper,size,align,offset,pool\n"
	tests := []struct {
		name, text, say string
		kind            error
	}{
		{"nothing", "", "line 1: got no header", nil},
		{"no size", "id,lower,upper\n", `line 1: column "size"`, nil},
		{"a column twice", "id,lower,upper,size,Size\n", `line 1: column "size": got it twice`, nil},
		{"a field too few", head + "a,0,1,2,,\n", "line 2: wrong number of fields", nil},
		{"a stray quote", head + "a,0,1,2,,,\nb\"c,0,1,2,,,\n", "line 3: ", nil},
		{"no number", head + "a,0,1,x,,,\n", `line 2: size: got "x", want an integer`, nil},
		{"a fraction", head + "a,0.5,1,2,,,\n", `line 2: lower: got "0.5"`, nil},
		{"65 bits", head + "a,0,18446744073709551616,2,,,\n",
			`line 2: upper: got "18446744073709551616", want at most 64 bits`, nil},
		{"an id twice", head + "a,0,1,2,,,\nb,0,1,2,,,\na,0,1,2,,,\n", `line 4: id "a" is on line 2 too`, nil},
		{"a negative size", head + "a,0,1,-2,,,\n", `arena: line 2: buffer "a": size: got -2 B`, ErrSize},
		{"an end before its start", head + "a,0,1,2,,,\nb,4,3,2,,,\n", "line 3: ", ErrLifetime},
		{"alignment of 3", head + "a,0,1,2,3,,\n", "line 2: ", ErrAlign},
		{"alignment of 0", head + "a,0,1,2,0,,\n", "line 2: align: got 0", nil},
		{"a negative offset", head + "a,0,1,2,,-8,\n", "line 2: ", ErrFixed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := ReadCSV(strings.NewReader(tt.text))
			if p != nil || err == nil || !strings.HasPrefix(err.Error(), "arena: ") || !strings.Contains(err.Error(), tt.say) {
				t.Fatalf("got %v, %v, want an error that says %q", p, err, tt.say)
			}
			if tt.kind != nil && !errors.Is(err, tt.kind) {
				t.Errorf("got %v, want %v", err, tt.kind)
			}
		})
	}
}

func TestCSVRoundTrip(t *testing.T) {
	p := &Problem{Align: 8, Buffers: []Buffer{
		{Name: "plain", Start: 0, End: 3, Size: 4}, {Name: "with, comma", Start: 0, End: 3, Size: 4, Align: 64, Pool: "x"},
		{Name: "fixed", Start: 1, End: 3, Size: 4, Fixed: new(int64(8))},
	}}
	var text bytes.Buffer
	if err := WriteCSV(&text, p, nil); err != nil {
		t.Fatal(err)
	}
	again, err := ReadCSV(&text)
	if err != nil || !reflect.DeepEqual(again.Buffers, p.Buffers) {
		t.Errorf("got %+v, %v, want %+v", again, err, p.Buffers)
	}
	// With a plan, every offset is given: read back, it can only give the same plan.
	plan := solve(t, p, Auto)
	if err := WriteCSV(&text, p, plan); err != nil {
		t.Fatal(err)
	}
	if again, err = ReadCSV(&text); err != nil {
		t.Fatal(err)
	}
	again.Align = 8
	if got := solve(t, again, Auto); !reflect.DeepEqual(got.Offsets, plan.Offsets) {
		t.Errorf("got %v, want %v", got.Offsets, plan.Offsets)
	}
}

func TestWriteCSV(t *testing.T) {
	p := &Problem{External: []int{1}, Buffers: []Buffer{{End: 3, Size: 4}, {Name: "e", End: 3, Size: 4}}}
	var text bytes.Buffer
	if err := WriteCSV(&text, p, nil); err != nil || text.String() != "id,lower,upper,size\n#0,0,3,4\ne,0,3,4\n" {
		t.Errorf("got %q, %v, want the four columns", text.String(), err)
	}
	text.Reset()
	if err := WriteCSV(&text, p, solve(t, p,
		Auto)); err != nil || text.String() != "id,lower,upper,size,offset\n#0,0,3,4,0\ne,0,3,4,\n" {
		t.Errorf("got %q, %v, want offsets of the placed", text.String(), err)
	}
	p.Buffers[0].More = []Span{{5, 6}}
	if err := WriteCSV(&text, p, nil); !errors.Is(err, ErrLifetime) {
		t.Errorf("pieces: got %v, want %v", err, ErrLifetime)
	}
	p.Buffers[0].More = nil
	if err := WriteCSV(brokenWriter{}, p, nil); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want %v", err, errBroken)
	}
	if _, err := ReadCSV(brokenReader{}); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want %v", err, errBroken)
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }
