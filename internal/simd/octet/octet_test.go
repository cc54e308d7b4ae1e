package octet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/simd"
)

// octets returns rows of random bytes at stride ld, and only as many as are needed, between others.
func octets(r *rand.Rand, rows, cols, ld int) []byte {
	n := 0
	if rows > 0 && cols > 0 {
		n = (rows-1)*ld + cols
	}
	all := make([]byte, n+64)
	for i := range all {
		all[i] = byte(r.Uint32())
		if r.IntN(8) == 0 {
			all[i] = []byte{0, 127, 128, 255}[r.IntN(4)]
		}
	}
	return all[32:][:n:n]
}

func number(b byte, signed bool) int32 {
	if signed {
		return int32(int8(b))
	}
	return int32(b)
}

func TestProductsAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range simd.Levels() {
		for i := range 400 {
			m, k, n := r.IntN(28), r.IntN(40), r.IntN(70)
			switch i % 8 {
			case 0:
				m, n = r.IntN(4), 100+r.IntN(200)
			case 1:
				k = 200 + r.IntN(300)
			}
			testProduct(t, r, l, m, k, n)
		}
	}
}

func testProduct(t *testing.T, r *rand.Rand, l simd.Level, m, k, n int) {
	signedA, signedB, float, more := r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(3)
	lda, ldb, ldc := k+more, n+more, n+more
	a, b := octets(r, m, k, lda), octets(r, k, n, ldb)
	zeroA, zeroB := number(byte(r.Uint32()), signedA), number(byte(r.Uint32()), signedB)
	if r.IntN(3) == 0 {
		zeroB = 0
	}
	packed := Pack(l, make([]byte, MatrixBytes(l, k, n)), b, signedB, ldb, k, n)
	rows := Prepare(l, make([]byte, RowsBytes(l, m, k)), a, signedA, lda, m, zeroA, &packed, zeroB)
	const untouched = 0x7ead
	all := make([]int32, m*ldc+32)
	for i := range all {
		all[i] = untouched
	}
	what := fmt.Sprintf("%v %d×%d×%d signed %v %v zeros %d %d float %v", l, m, k, n, signedA, signedB, zeroA, zeroB, float)
	cut := min(n, r.IntN(n/Cols(l)+1)*Cols(l))
	for _, part := range [][2]int{{0, cut}, {cut, n}} {
		if part[0] < part[1] && m > 0 {
			end := 16 + (m-1)*ldc + part[1]
			rows.Mul(l, &packed, part[0], part[1]-part[0], all[16+part[0]:end:end], ldc, float)
		}
	}
	for i := range m {
		for j := range n {
			want := int32(0)
			for x := range k {
				want += (number(a[i*lda+x], signedA) - zeroA) * (number(b[x*ldb+j], signedB) - zeroB)
			}
			if float {
				want = int32(math.Float32bits(float32(want)))
			}
			if got := &all[16+i*ldc+j]; *got != want {
				t.Fatalf("%s: (%d,%d): got %d, want %d", what, i, j, *got, want)
			} else {
				*got = untouched
			}
		}
	}
	for i, v := range all {
		if v != untouched {
			t.Fatalf("%s: wrote %d outside of the result, at %d", what, v, i-16)
		}
	}
}
