package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/simd"
)

// sentinel is what surrounds operands: it must never be read into a result nor change.
var sentinel = float32(math.NaN())

// noise returns rows of random numbers at stride ld between sentinels, and the slice from the first
// on that ends with the last.
func noise(r *rand.Rand, rows, cols, ld int) (all, used []float32) {
	const edge = 32
	all = make([]float32, 2*edge+rows*ld+cols)
	for i := range all {
		all[i] = sentinel
	}
	for i := range rows {
		for j := range cols {
			all[edge+i*ld+j] = r.Float32()*2 - 1
		}
	}
	if rows == 0 || cols == 0 {
		return all, all[edge:edge]
	}
	return all, all[edge : edge+(rows-1)*ld+cols]
}

// want computes the product in float64, with the sum of the terms' sizes.
func want(m *Mul, c []float32, b []float32, ldb int) (out, size []float64) {
	for i := range m.M {
		for j := range m.N {
			s := 0.0
			switch m.Start {
			case FromC:
				s = float64(c[i*m.LDC+j])
			case FromCols:
				s = float64(m.Bias[j])
			case FromRows:
				s = float64(m.Bias[i])
			}
			t := math.Abs(s)
			for k := range m.K {
				x := float64(m.A[i*m.LDA+k]) * float64(b[k*ldb+j])
				s, t = s+x, t+math.Abs(x)
			}
			if m.Clamp {
				s = min(max(s, float64(m.Lo)), float64(m.Hi))
			}
			out, size = append(out, s), append(size, t)
		}
	}
	return out, size
}

// verify runs the product and compares it with float64, and the rest of C with what it was.
func verify(t *testing.T, l simd.Level, m *Mul, b []float32, ldb int, all []float32) {
	t.Helper()
	exact, size := want(m, m.C, b, ldb)
	before := append([]float32(nil), all...)
	m.Run(l)
	for i := range m.M {
		for j := range m.N {
			got, at := float64(m.C[i*m.LDC+j]), i*m.N+j
			if !(math.Abs(got-exact[at]) <= float64(m.K+2)*0x1p-24*size[at]) {
				t.Fatalf("%v %d×%d×%d packed=%v transposed=%v start=%d clamp=%v: C[%d,%d]: got %v, want %v", l, m.M, m.K, m.N,
					m.Packed, m.Transposed, m.Start, m.Clamp, i, j, got, exact[at])
			}
			m.C[i*m.LDC+j] = sentinel
		}
	}
	for i := range before {
		if !math.IsNaN(float64(all[i])) {
			t.Fatalf("%v %d×%d×%d packed=%v: wrote %v outside of C", l, m.M, m.K, m.N, m.Packed, all[i])
		}
	}
}

func TestMulEqualsFloat64(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var shapes [][3]int
	for m := 1; m <= 27; m++ {
		shapes = append(shapes, [3]int{m, m % 7, 33}, [3]int{m, 5, 32}, [3]int{m, 9, 48}, [3]int{m, 4, 1 + m*5%40})
	}
	for n := 1; n <= 70; n++ {
		shapes = append(shapes, [3]int{1 + n%14, n % 11, n})
	}
	shapes = append(shapes, [3]int{1, 37, 300}, [3]int{2, 37, 300}, [3]int{3, 37, 300}, [3]int{3, 0, 5}, [3]int{0, 3, 5},
		[3]int{4, 3, 0}, [3]int{1, 8, 128}, [3]int{3, 3, 128})
	for _, l := range simd.Levels() {
		for i, s := range shapes {
			for variant := range 12 {
				testMul(t, r, l, s, Start((i+variant)%4), form(variant%3), variant&1 != 0, variant/3&1 != 0)
			}
		}
	}
}

// form is how B is stored.
type form int

const (
	plain form = iota
	packed
	transposed
)

func testMul(t *testing.T, r *rand.Rand, l simd.Level, s [3]int, start Start, f form, clamped, wide bool) {
	m := Mul{M: s[0], K: s[1], N: s[2], Start: start, Clamp: clamped, Lo: -0.5, Hi: 0.25}
	m.LDA, m.LDB, m.LDC = m.K, m.N, m.N
	if wide {
		m.LDA, m.LDB, m.LDC = m.K+3, m.N+5, m.N+1
	}
	_, m.A = noise(r, m.M, m.K, m.LDA)
	_, m.B = noise(r, m.K, m.N, m.LDB)
	all, c := noise(r, m.M, m.N, m.LDC)
	m.C = c
	switch start {
	case FromCols:
		_, m.Bias = noise(r, 1, m.N, m.N)
	case FromRows:
		_, m.Bias = noise(r, 1, m.M, m.M)
	}
	b, ldb := m.B, m.LDB
	switch f {
	case packed:
		_, m.B = noise(r, 1, PackedLen(l, m.K, m.N), 0)
		Pack(l, m.B, b, ldb, m.K, m.N)
		m.LDB, m.Packed = m.K, true
	case transposed:
		m.LDB, m.Transposed = m.LDA, true
		_, m.B = noise(r, m.N, m.K, m.LDB)
		Transpose(l, b, m.B, ldb, m.LDB, m.K, m.N)
	}
	verify(t, l, &m, b, ldb, all)
}

func BenchmarkMul(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range simd.Levels() {
		for _, s := range [][3]int{{12, 256, 32}, {96, 384, 384}, {128, 384, 1536}, {128, 64, 128}, {128, 1024, 256},
			{1, 384, 1536}, {2, 384, 1536}, {4, 384, 1536}, {1, 2048, 8192}} {
			for _, packed := range []bool{false, true} {
				m := Mul{M: s[0], K: s[1], N: s[2], LDA: s[1], LDB: s[2], LDC: s[2]}
				_, m.A = noise(r, m.M, m.K, m.LDA)
				_, m.B = noise(r, m.K, m.N, m.LDB)
				_, m.C = noise(r, m.M, m.N, m.LDC)
				if packed {
					p := make([]float32, PackedLen(l, m.K, m.N))
					Pack(l, p, m.B, m.LDB, m.K, m.N)
					m.B, m.Packed, m.LDB = p, true, m.K
				}
				b.Run(fmt.Sprintf("%v/%dx%dx%d/packed=%v", l, m.M, m.K, m.N, packed), func(b *testing.B) {
					for b.Loop() {
						m.Run(l)
					}
					flops := 2 * float64(m.M*m.K*m.N) * float64(b.N) / b.Elapsed().Seconds()
					b.ReportMetric(flops/1e9, "GFLOP/s")
				})
			}
		}
	}
}
