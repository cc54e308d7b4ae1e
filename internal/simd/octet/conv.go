package octet

import (
	"encoding/binary"
	"fmt"

	"github.com/stowage-ml/stowage/internal/simd"
)

// Unit returns how many elements of an image, from as many planes, lie side by side in four bytes
// when the level convolves.
func Unit(l simd.Level) int { return group(l) }

// Number is what an element of an image is turned into: 8-bit elements stay so, with a zero point that
// Base names; 16-bit ones are less their zero point.
type Number struct {
	Signed bool
	Zero   int32
}

// Base returns the zero point that elements still have in an image.
func (x Number) Base(l simd.Level) int32 {
	switch {
	case group(l) == 2:
		return 0
	case x.Signed:
		return x.Zero + 128
	}
	return x.Zero
}

// Put writes element i of unit u of an image.
func (x Number) Put(l simd.Level, image []byte, u, i int, v byte) {
	if group(l) == 4 {
		if x.Signed {
			v ^= 0x80
		}
		image[4*u+i] = v
		return
	}
	n := int32(v)
	if x.Signed {
		n = int32(int8(v))
	}
	binary.LittleEndian.PutUint16(image[4*u+2*i:], uint16(n-x.Zero))
}

// Blank fills units with zero points.
func (x Number) Blank(l simd.Level, image []byte) {
	if len(image) == 0 {
		return
	}
	image[0] = byte(x.Base(l))
	for n := 1; n < len(image); n *= 2 {
		copy(image[n:], image[:n])
	}
}

// Row writes n units of an image from as many rows of n elements as Unit says.
func (x Number) Row(l simd.Level, image []byte, rows *[4][]byte, n int) {
	g := group(l)
	_ = image[:4*n]
	for i := range g {
		_ = rows[i][:n]
	}
	done := x.rowPart(l, image, rows, n)
	for u := done; u < n; u++ {
		for i := range g {
			x.Put(l, image, u, i, rows[i][u])
		}
	}
}

// Taps writes n units of an image that hold neighbours in a row: unit u begins with element u·stride.
// The row reaches as far as the last unit does.
func (x Number) Taps(l simd.Level, image, row []byte, n, stride int) {
	if n <= 0 {
		return
	}
	g := group(l)
	image, row = image[:4*n], row[:(n-1)*stride+g]
	if stride == 1 {
		var rows [4][]byte
		for i := range g {
			rows[i] = row[i:][:n]
		}
		x.Row(l, image, &rows, n)
		return
	}
	flip, signs := uint32(0), int32(0)
	if x.Signed {
		flip, signs = 0x80808080, 0x80
	}
	if g == 4 {
		for u := 0; u < len(image); u += 4 {
			binary.LittleEndian.PutUint32(image[u:u+4], binary.LittleEndian.Uint32(row[u/4*stride:])^flip)
		}
		return
	}
	zero := x.Zero + signs
	for u := range n {
		at := row[u*stride:][:2]
		a, b := int32(at[0])^signs-zero, int32(at[1])^signs-zero
		binary.LittleEndian.PutUint32(image[4*u:], uint32(uint16(a))|uint32(uint16(b))<<16)
	}
}

// PutWeight writes element i of unit u of a row of weights, less its zero point.
func PutWeight(l simd.Level, row []byte, u, i int, v int32) {
	if group(l) == 4 {
		row[4*u+i] = byte(v)
	} else {
		binary.LittleEndian.PutUint16(row[4*u+2*i:], uint16(v))
	}
}

// Conv is products of rows of weights with an image: C[i*LDC+j] = Terms[i] + the sum, over the steps k,
// of the products of the elements of unit k of row i and of the unit Offsets[k]+4·j bytes into
// Image. The image must reach as far as j rounded up to Cols does.
type Conv struct {
	M, N    int
	Weights []byte
	Offsets []int32
	Terms   []int32
	Image   []byte
	C       []int32
	LDC     int
	// Far is the largest offset.
	Far int32
	// Float makes results the bits of the nearest float32.
	Float bool
}

// Run computes the products with the level's instructions.
func (v *Conv) Run(l simd.Level) {
	if v.M <= 0 || v.N <= 0 {
		return
	}
	if k := len(v.Offsets); len(v.Weights) < 4*k*v.M || len(v.Terms) < v.M || len(v.C) < (v.M-1)*v.LDC+v.N ||
		k > 0 && len(v.Image) < int(v.Far)+4*roundUp(v.N, Cols(l)) {
		panic(fmt.Sprintf("BUG: octet: convolution: got %d weights, %d results, an image of %d bytes for %d×%d×%d",
			len(v.Weights), len(v.C), len(v.Image), v.M, k, v.N))
	}
	if len(v.Offsets) == 0 || !v.vector(l) {
		v.plain()
	}
}

// plain computes the products in Go, for units of two.
func (v *Conv) plain() {
	k := len(v.Offsets)
	for i := range v.M {
		row, d := v.Weights[4*k*i:][:4*k], v.C[i*v.LDC:][:v.N]
		for j := range d {
			d[j] = v.Terms[i]
		}
		for u, at := range v.Offsets {
			both := binary.LittleEndian.Uint32(row[4*u:])
			w0, w1 := int32(int16(both)), int32(int16(both>>16))
			image := v.Image[at:][:4*v.N]
			for j := range d {
				x := binary.LittleEndian.Uint32(image[4*j:])
				d[j] += w0*int32(int16(x)) + w1*int32(int16(x>>16))
			}
		}
		if v.Float {
			Floats(d)
		}
	}
}
