// Package octet is the inner loops of products of matrices of 8-bit integers, and of turning
// float32 into such integers and back. Results are exact. It knows nothing of tensors, operators
// or threads. Extents and strides are counted in elements.
package octet

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/stowage-ml/stowage/internal/simd"
)

// group returns how many adjacent elements of a row and of a column are multiplied at a time.
func group(l simd.Level) int {
	if simd.Dot(l) {
		return 4
	}
	return 2
}

// Cols returns the width of the level's tiles.
func Cols(l simd.Level) int {
	if simd.Dot(l) {
		return 32
	}
	return 16
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// Matrix is a packed right operand: panels of Cols columns, each holding group after group of rows,
// column by column. Its elements are signed: those of an unsigned matrix less 128.
type Matrix struct {
	K, N int
	data []int8
	// sums are those of the columns, 0 for columns that only fill up the last panel.
	sums     []int32
	unsigned bool
}

// MatrixBytes returns the size of a packed K×N matrix.
func MatrixBytes(l simd.Level, k, n int) int {
	return roundUp(n, Cols(l)) * (roundUp(k, group(l)) + 4)
}

// Pack packs the matrix whose element (k, j) is src[k*ld+j] into buf, of at least MatrixBytes, which
// starts at a multiple of 4 bytes.
func Pack(l simd.Level, buf, src []byte, signed bool, ld, k, n int) Matrix {
	m := Packed(l, buf, signed, k, n)
	w, g := Cols(l), group(l)
	buf = buf[4*len(m.sums):]
	clear(m.sums)
	flip := byte(0)
	if !signed {
		flip = 0x80
	}
	for j := 0; j < n; j += w {
		p := buf[j*roundUp(k, g):][:w*roundUp(k, g)]
		have := min(w, n-j)
		if have < w || k%g != 0 {
			clear(p)
		}
		for i := range k {
			packRow(p[i/g*g*w+i%g:], src[i*ld+j:][:have], m.sums[j:], g, flip)
		}
	}
	return m
}

// Packed returns what Pack has put into buf.
func Packed(l simd.Level, buf []byte, signed bool, k, n int) Matrix {
	cols := roundUp(n, Cols(l))
	m := Matrix{K: k, N: n, unsigned: !signed, sums: words(buf)[:cols]}
	buf = buf[4*cols:][:cols*roundUp(k, group(l))]
	m.data = unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(buf))), len(buf))
	return m
}

// packRow writes a row of a panel, and adds it to the columns' sums.
func packRow(dst, src []byte, sums []int32, g int, flip byte) {
	sums = sums[:len(src)]
	for c, v := range src {
		v ^= flip
		dst[c*g] = v
		sums[c] += int32(int8(v))
	}
}

// words is the memory of bytes that start at a multiple of 4.
func words(b []byte) []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// Rows is a left operand made ready to be multiplied.
type Rows struct {
	// Sums are those of the rows' elements, each less the zero point.
	Sums []int32
	m, k int
	data []byte
	// stride is the bytes between rows, zero what is still to be taken from each element.
	stride int
	zero   int32
	// terms are what is added to the sums of each row.
	terms []int32
}

// RowsBytes returns how much memory Prepare needs for an M×K matrix.
func RowsBytes(l simd.Level, m, k int) int {
	return roundUp(m*8+m*roundUp(k, group(l))*4/group(l), 8)
}

// Prepare makes the matrix whose element (i, k) is a[i*lda+k], less zero, ready to be multiplied with
// b, less zeroB. buf has RowsBytes and starts at a multiple of 4 bytes; the result may also refer to
// a.
func Prepare(l simd.Level, buf, a []byte, signed bool, lda, m int, zero int32, b *Matrix, zeroB int32) Rows {
	k, g := b.K, group(l)
	if m > 0 && k > 0 {
		_ = a[(m-1)*lda+k-1]
	} else {
		lda = 0
	}
	r := Rows{m: m, k: k, Sums: words(buf)[:m], terms: words(buf)[m:][:m], stride: roundUp(k, g) * 4 / g}
	r.data = buf[8*m:][:m*r.stride]
	if g == 2 {
		for i := range m {
			r.Sums[i] = widen(l, r.data[i*r.stride:][:r.stride], a[i*lda:][:k], signed, zero)
		}
	} else {
		r.octets(l, a, signed, lda, zero)
	}
	if b.unsigned {
		zeroB -= 128
	}
	for i, s := range r.Sums {
		r.terms[i] = -zeroB * s
	}
	return r
}

// octets prepares rows of unsigned bytes, whose zero point the product takes off.
func (r *Rows) octets(l simd.Level, a []byte, signed bool, lda int, zero int32) {
	flip := byte(0)
	if r.zero = zero; signed {
		r.zero, flip = zero+128, 0x80
	}
	if alias := !signed && r.k%4 == 0; alias && r.m > 0 && r.k > 0 {
		r.data, r.stride = a[:(r.m-1)*lda+r.k], lda
	} else {
		for i := range r.m {
			flipped(r.data[i*r.stride:][:r.stride], a[i*lda:][:r.k], flip)
		}
	}
	for i := range r.m {
		r.Sums[i] = sum(l, r.data[i*r.stride:][:r.k]) - int32(r.k)*r.zero
	}
}

// widen writes the elements of a less zero as 16-bit integers, and returns their sum.
func widen(l simd.Level, dst, a []byte, signed bool, zero int32) int32 {
	done, sum := widenPart(l, dst, a, signed, zero)
	for i := done; i < len(a); i++ {
		v := a[i]
		x := int32(v)
		if signed {
			x = int32(int8(v))
		}
		x -= zero
		sum += x
		binary.LittleEndian.PutUint16(dst[2*i:], uint16(x))
	}
	clear(dst[2*len(a):])
	return sum
}

// flipped copies bytes, with some of their bits changed, and fills up with zeros.
func flipped(dst, src []byte, flip byte) {
	mask := uint64(flip) * 0x0101010101010101
	i := 0
	for ; i+8 <= len(src); i += 8 {
		binary.LittleEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(src[i:])^mask)
	}
	for ; i < len(src); i++ {
		dst[i] = src[i] ^ flip
	}
	clear(dst[len(src):])
}

// sum adds bytes.
func sum(l simd.Level, b []byte) int32 {
	done, total := sumPart(l, b)
	for _, v := range b[done:] {
		total += int32(v)
	}
	return total
}

// Mul writes columns j to j+n of the product with b, which is the matrix that the rows were prepared
// for, to out: element (i, c) to out[i*ld+c-j]. As float it writes the bits of the nearest
// float32. j is a multiple of Cols.
func (r *Rows) Mul(l simd.Level, b *Matrix, j, n int, out []int32, ld int, float bool) {
	if r.m == 0 || n <= 0 {
		return
	}
	if j%Cols(l) != 0 || j+n > b.N || r.k != b.K || len(out) < (r.m-1)*ld+n {
		panic(fmt.Sprintf("BUG: octet: product: got columns %d to %d of %d×%d, %d results of stride %d", j, j+n, b.K, b.N,
			len(out), ld))
	}
	if r.k == 0 {
		for i := range r.m {
			clear(out[i*ld:][:n])
		}
		return
	}
	if !r.vector(l, b, j, n, out, ld, float) {
		r.plain(l, b, j, n, out, ld, float)
	}
}
