package gemm

import "github.com/stowage-ml/stowage/internal/simd"

// plain computes the product in Go, a panel of columns after the other. A packed B is one of Generic.
func (m *Mul) plain() {
	w := Cols(simd.Generic)
	for j := 0; j < m.N; j += w {
		b, ldb := m.B, m.LDB
		if m.Packed {
			b, ldb = tail(m.B, j*m.LDB), w
		} else {
			b = tail(m.B, j)
		}
		n := min(w, m.N-j)
		i := 0
		for ; n == w && i+2 <= m.M; i += 2 {
			m.pair(i, j, b, ldb)
		}
		for ; i < m.M; i++ {
			m.single(i, j, n, b, ldb)
		}
	}
}

// tail is s[i:], or nothing when s ends before.
func tail(s []float32, i int) []float32 { return s[min(i, len(s)):] }

// single computes n ≤ Cols elements of row i from column j on; b holds the columns from j on.
func (m *Mul) single(i, j, n int, b []float32, ldb int) {
	var sum [8]float32
	m.begin(sum[:n], i, j)
	a := tail(m.A, i*m.LDA)[:m.K]
	for k, x := range a {
		row := b[k*ldb:][:n]
		for c, y := range row {
			sum[c] += x * y
		}
	}
	m.end(sum[:n], i, j)
}

// pair computes eight elements of rows i and i+1 from column j on, in two halves, so that the sums
// stay in registers.
func (m *Mul) pair(i, j int, b []float32, ldb int) {
	var s, t [8]float32
	m.begin(s[:], i, j)
	m.begin(t[:], i+1, j)
	a0, a1 := tail(m.A, i*m.LDA)[:m.K], tail(m.A, (i+1)*m.LDA)[:m.K]
	for h := 0; h < 8; h += 4 {
		s0, s1, s2, s3 := s[h], s[h+1], s[h+2], s[h+3]
		t0, t1, t2, t3 := t[h], t[h+1], t[h+2], t[h+3]
		for k, x := range a0 {
			y, q := a1[k], b[k*ldb+h:][:4]
			s0 += x * q[0]
			s1 += x * q[1]
			s2 += x * q[2]
			s3 += x * q[3]
			t0 += y * q[0]
			t1 += y * q[1]
			t2 += y * q[2]
			t3 += y * q[3]
		}
		s[h], s[h+1], s[h+2], s[h+3] = s0, s1, s2, s3
		t[h], t[h+1], t[h+2], t[h+3] = t0, t1, t2, t3
	}
	m.end(s[:], i, j)
	m.end(t[:], i+1, j)
}

// begin sets the sums of row i from column j on to what the product is added to.
func (m *Mul) begin(sum []float32, i, j int) {
	switch m.Start {
	case FromZero:
		clear(sum)
	case FromC:
		copy(sum, m.C[i*m.LDC+j:])
	case FromCols:
		copy(sum, m.Bias[j:])
	case FromRows:
		for c := range sum {
			sum[c] = m.Bias[i]
		}
	}
}

// end writes the sums to row i of the result.
func (m *Mul) end(sum []float32, i, j int) {
	if m.Clamp {
		for c, v := range sum {
			if v < m.Lo {
				v = m.Lo
			}
			if v > m.Hi {
				v = m.Hi
			}
			sum[c] = v
		}
	}
	copy(m.C[i*m.LDC+j:][:len(sum)], sum)
}

// plainDots computes a product with a transposed right operand.
func (m *Mul) plainDots() {
	for i := range m.M {
		a := tail(m.A, i*m.LDA)[:m.K]
		for j := range m.N {
			b := tail(m.B, j*m.LDB)[:m.K]
			var start [1]float32
			m.begin(start[:], i, j)
			var s [4]float32
			k := 0
			for ; k+4 <= len(a); k += 4 {
				x, y := a[k:][:4], b[k:][:4]
				s[0] += x[0] * y[0]
				s[1] += x[1] * y[1]
				s[2] += x[2] * y[2]
				s[3] += x[3] * y[3]
			}
			for ; k < len(a); k++ {
				s[k%4] += a[k] * b[k]
			}
			start[0] += s[0] + s[1] + s[2] + s[3]
			m.end(start[:], i, j)
		}
	}
}
