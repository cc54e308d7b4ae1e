package octet

import (
	"math"

	"github.com/stowage-ml/stowage/internal/simd"
)

// plain is Mul in Go, for groups of two.
func (r *Rows) plain(l simd.Level, b *Matrix, j, n int, out []int32, ld int, float bool) {
	w := Cols(l)
	rows := roundUp(r.k, 2)
	for c := 0; c < n; c += w {
		p := b.data[(j+c)*rows:][:w*rows]
		have := min(w, n-c)
		for i := range r.m {
			var acc [16]int32
			a := r.data[i*r.stride:][:r.stride]
			for k := 0; k+4 <= len(a); k += 4 {
				x, y := int32(int16(uint16(a[k])|uint16(a[k+1])<<8)), int32(int16(uint16(a[k+2])|uint16(a[k+3])<<8))
				q := p[k/4*2*w:][:32]
				for v := range acc {
					acc[v] += x*int32(q[2*v]) + y*int32(q[2*v+1])
				}
			}
			d := out[i*ld+c:][:have]
			for v := range d {
				d[v] = acc[v] + r.terms[i]
				if float {
					d[v] = int32(math.Float32bits(float32(d[v])))
				}
			}
		}
	}
}
