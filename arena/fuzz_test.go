package arena

import (
	"bytes"
	"context"
	"errors"
	"testing"
)

// byteReader turns bytes into small numbers; when they run out it gives zeros.
type byteReader []byte

func (r *byteReader) next() int64 {
	if len(*r) == 0 {
		return 0
	}
	b := int8((*r)[0])
	*r = (*r)[1:]
	return int64(b)
}

// index is mostly that of a buffer.
func (r *byteReader) index() int { return int(r.next() % 12) }

// decode makes a problem, good or bad, of any bytes.
func decode(data []byte) *Problem {
	r := byteReader(data)
	p := &Problem{Align: r.next(), Capacity: r.next(), Block: r.next()}
	if r.next() > 0 {
		p.Align, p.Block, p.Capacity = 1<<(p.Align&7), 0, 0
	}
	for range r.next() & 15 {
		p.Buffers = append(p.Buffers, r.buffer())
	}
	for range r.next() & 7 {
		r.constrain(p)
	}
	return p
}

func (r *byteReader) buffer() Buffer {
	b := Buffer{Size: r.next(), Start: r.next(), Rows: r.next() & 3}
	b.End = b.Start + r.next()
	switch r.next() & 15 {
	case 1:
		b.Size <<= 56
	case 2:
		b.Align = r.next()
	case 3:
		b.Fixed = new(r.next())
	case 4:
		b.More = []Span{{r.next(), r.next()}}
	case 5:
		b.Pool = "b"
	}
	return b
}

func (r *byteReader) constrain(p *Problem) {
	switch r.next() & 3 {
	case 0:
		p.Aliases = append(p.Aliases, Alias{r.index(), r.index()})
	case 1:
		p.Packs = append(p.Packs, []int{r.index(), r.index()})
	case 2:
		k := RowPack{Members: []int{r.index(), r.index()}}
		if over := r.index(); over >= 0 {
			k.Over = &over
		}
		p.RowPacks = append(p.RowPacks, k)
	case 3:
		p.External = append(p.External, r.index())
	}
}

func FuzzSolve(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 0, 0, 1, 3, 10, 0, 1, 5, 0, 20, 1, 1, 5, 0, 10, 2, 1, 5, 0, 1, 0, 2, 0})
	f.Add([]byte{3, 0, 0, 1, 4, 8, 0, 2, 5, 0, 8, 1, 2, 5, 0, 16, 2, 2, 5, 0, 4, 0, 0, 9, 4, 1, 3, 1, 2, 0, 1, 2})
	f.Add([]byte{64, 100, 127, 0, 2, 8, 0, 2, 5, 3, 64, 8, 1, 2, 5, 5, 1, 3, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		p := decode(data)
		var floor *Plan
		for _, strategy := range []string{Seed, Portfolio, Auto} {
			plan, err := Solve(context.Background(), p, Options{Strategy: strategy})
			var bad *Error
			var full *CapacityError
			switch {
			case err == nil:
				if err := Validate(p, plan); err != nil {
					t.Fatalf("%s: %v\n%+v", strategy, err, p)
				}
			case errors.As(err, &full):
				if full.Infeasible == (plan != nil) {
					t.Fatalf("%s: got plan %v with %v", strategy, plan, err)
				}
			case !errors.As(err, &bad) || plan != nil:
				t.Fatalf("%s: got plan %v with %v, want a typed error", strategy, plan, err)
			}
			if floor == nil {
				floor = plan
			}
			if floor != nil && plan != nil && plan.Arena > floor.Arena {
				t.Fatalf("%s: got %d B, want at most %d B", strategy, plan.Arena, floor.Arena)
			}
		}
	})
}

func FuzzReadCSV(f *testing.F) {
	f.Add([]byte("id,lower,upper,size\na,0,3,4\n"))
	f.Add([]byte("pool,id,lower,upper,size,align,offset\nx,\"a\nb\",0,3,4,16,32\n,c,1,2,3,,\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadCSV(bytes.NewReader(data))
		if err != nil {
			return
		}
		var text bytes.Buffer
		if err := WriteCSV(&text, p, nil); err != nil {
			t.Fatal(err)
		}
		again, err := ReadCSV(&text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		if len(again.Buffers) != len(p.Buffers) {
			t.Fatalf("got %d buffers, want %d", len(again.Buffers), len(p.Buffers))
		}
	})
}

func FuzzRows(f *testing.F) {
	f.Add("ceil(2*n+1, 3) - min(n, 4)")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Rows(text).Eval(map[string]int64{"n": 7})
		if err == nil && v < 0 {
			t.Fatalf("%q: got %d, want at least 0", text, v)
		}
	})
}
