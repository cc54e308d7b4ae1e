package move

import (
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/simd"
)

// TestRowsOfEveryWidth copies rows of 1 to 70 elements and looks at what is between them.
func TestRowsOfEveryWidth(t *testing.T) {
	for _, l := range simd.Levels() {
		for width := range 70 {
			rowsOne[uint8](t, l, width)
			rowsOne[uint16](t, l, width)
			rowsOne[uint32](t, l, width)
			rowsOne[complex128](t, l, width)
		}
	}
}

func rowsOne[T Word](t *testing.T, l simd.Level, width int) {
	t.Helper()
	for _, n := range []int{0, 1, 2, 7} {
		for _, gap := range []int{0, 1, 5} {
			ds, ss := width+gap, width+2*gap
			src, got := numbered[T](n*ss+width, 0), numbered[T](n*ds+width+1, 100)
			want := append([]T(nil), got...)
			for i := range n {
				copy(want[i*ds:i*ds+width], src[i*ss:])
			}
			Rows(l, got, src, n, width, ds, ss)
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("%v: %d rows of %d %T, gap %d: element %d: got %v, want %v", l, n, width, got[0], gap, i, got[i], want[i])
				}
			}
		}
	}
}

func numbered[T Word](n, from int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = word[T]((i + from) % 251)
	}
	return s
}

// TestBoxesAtRandom takes boxes of a few dimensions in all orders, strides and directions, whole and
// cut into units.
func TestBoxesAtRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for _, l := range simd.Levels() {
		for range 3000 {
			boxOne[uint8](t, r, l)
			boxOne[uint32](t, r, l)
		}
	}
}

func boxOne[T Word](t *testing.T, r *rand.Rand, l simd.Level) {
	t.Helper()
	var dims []Dim
	dst, src, low := 1, 1, 0
	for range r.IntN(5) {
		n := r.IntN(6)
		if r.IntN(4) == 0 {
			n = 1 + r.IntN(40)
		}
		dims = append(dims, Dim{N: n, Dst: dst})
		dst *= max(1, n) + r.IntN(2)
	}
	for _, i := range r.Perm(len(dims)) {
		d := &dims[i]
		switch r.IntN(8) {
		case 0:
			continue
		case 1:
			d.Src = -src
			low += src * max(0, d.N-1)
		default:
			d.Src = src
		}
		src *= max(1, d.N) + r.IntN(2)
	}
	if dst > 1<<15 || src > 1<<15 {
		return
	}
	r.Shuffle(len(dims), func(i, j int) { dims[i], dims[j] = dims[j], dims[i] })
	from := numbered[T](src+2, 0)
	got := numbered[T](dst+4, 77)
	want := append([]T(nil), got...)
	define(dims, want[3:], from, 0, low)
	b := NewBox(dims, 3, low)
	for lo := 0; lo < b.Units(); {
		hi := min(b.Units(), lo+1+r.IntN(b.Units()))
		Copy(l, b, got, from, lo, hi)
		lo = hi
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v: %T %+v: element %d: got %v, want %v", l, got[0], dims, i-3, got[i], want[i])
		}
	}
}

// define copies by the definition.
func define[T Word](dims []Dim, dst, src []T, to, from int) {
	if len(dims) == 0 {
		dst[to] = src[from]
		return
	}
	for i := range dims[0].N {
		define(dims[1:], dst, src, to+i*dims[0].Dst, from+i*dims[0].Src)
	}
}
