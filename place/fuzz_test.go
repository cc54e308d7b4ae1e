package place

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

// large is mostly what next is, and sometimes near the end of int64.
func (r *byteReader) large() int64 {
	n := r.next()
	if n > 100 {
		return 1<<63 - 1 - (n-101)<<56
	}
	return n
}

// decode makes a problem, good or bad, of any bytes.
func decode(data []byte) *Problem {
	r := byteReader(data)
	k := 1 + int(r.next()&3)
	p := &Problem{Devices: make([]string, k), Exit: int(r.next()%5) - 1, Relay: r.next() > 64}
	row := func() []int64 {
		var out []int64
		for range k {
			out = append(out, r.large())
		}
		return out
	}
	for range r.next() & 15 {
		n := Node{Cost: row()}
		if r.next() > 32 {
			n.Bytes = row()
		}
		p.Nodes = append(p.Nodes, n)
	}
	for range r.next() & 31 {
		t := Tensor{From: int(r.next() % 16), At: int(r.next() % 4), Bytes: r.large(), Out: r.next() > 0}
		for range r.next() & 3 {
			t.To = append(t.To, int(r.next()&15))
		}
		p.Tensors = append(p.Tensors, t)
	}
	for range k {
		p.Latency = append(p.Latency, row())
		var rates []float64
		for _, n := range row() {
			rates = append(rates, float64(n)/4)
		}
		p.PerByte = append(p.PerByte, rates)
	}
	if r.next() > 64 {
		p.Capacity = row()
	}
	return p
}

func FuzzSolve(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 1, 0, 2, 5, 1, 0, 3, 4, 0, 1, 0, 0, 8, 1, 1, 1, 0, 4, 4, 0, 1, 1, 0})
	f.Add([]byte{2, 1, 127, 2, 5, 1, 120, 0, 3, 4, 127, 0, 1, 0, 0, 8, 1, 1, 1, 0, 4, 4, 0, 1, 1, 0})
	f.Add([]byte{1, 1, 0, 1, 5, 1, 64, 4, 4, 0, 0, 3, 0, 0, 3, 3, 0, 0, 100, 4, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		p := decode(data)
		best := int64(-1)
		for _, strategy := range Strategies() {
			s, err := Solve(context.Background(), p, Options{Strategy: strategy, Budget: 1 << 14})
			var bad *Error
			var full *CapacityError
			switch {
			case err == nil:
				if err := Validate(p, s); err != nil {
					t.Fatalf("%s: %v\n%+v\n%+v", strategy, err, p, s)
				}
				if best < 0 {
					best = s.Cost
				}
				if s.Cost < best || s.Bound > best {
					t.Fatalf("%s: got %d ns, bound %d ns, with %d ns by auto\n%+v", strategy, s.Cost, s.Bound, best, p)
				}
			case s != nil || !errors.As(err, &bad) && !errors.As(err, &full):
				t.Fatalf("%s: got %v with %v, want a typed error", strategy, s, err)
			}
		}
	})
}

func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(contract))
	f.Add([]byte(`{"devices":["a"],"latency_ns":[[null]],"ns_per_byte":[[1]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadJSON(bytes.NewReader(data))
		if err != nil {
			var bad *Error
			if p != nil || !errors.As(err, &bad) {
				t.Fatalf("got %v with %v, want a typed error", p, err)
			}
			return
		}
		if len(p.Nodes) > 20 || len(p.Devices) > 8 {
			return
		}
		var full *CapacityError
		s, err := Solve(context.Background(), p, Options{Budget: 1 << 14})
		if err != nil {
			if !errors.As(err, &full) {
				t.Fatal(err)
			}
			return
		}
		if err := Validate(p, s); err != nil {
			t.Fatal(err)
		}
	})
}
