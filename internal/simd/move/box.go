package move

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/simd"
)

// Dim is one dimension of a Box: how many elements it has, and how far apart they are on both sides.
// On the source's side that may be 0 or negative.
type Dim struct{ N, Dst, Src int }

// Box copies a box of elements: element (i, j, …) from SrcAt + i·Src₀ + j·Src₁ + … to DstAt + i·Dst₀ +
// …. Its work is cut into units that can be done in any order, and at the same time.
type Box struct {
	dstAt, srcAt int
	outer        []Dim
	kind         kind
	// a and b are what the kind works on at a time; units go along a and the outer dimensions.
	a, b  Dim
	units int
}

type kind uint8

const (
	// flat is one run; units are elements.
	flat kind = iota
	// rows are runs along b, one for each of a.
	rows
	// turned is a transpose: a runs along the source's rows, b along the result's; in turnedBack it
	// is the other way round.
	turned
	turnedBack
	// filled repeats one element along b, strided steps along it.
	filled
	strided
)

// NewBox returns the box of some dimensions, whose order does not matter. No two elements are written
// to the same place.
func NewBox(dims []Dim, dstAt, srcAt int) *Box {
	b := &Box{dstAt: dstAt, srcAt: srcAt, a: Dim{N: 1}, b: Dim{N: 1, Dst: 1, Src: 1}}
	dims = merged(dims)
	for _, d := range dims {
		if d.N == 0 {
			return b
		}
	}
	dims = b.choose(dims)
	b.outer = dims
	b.units = b.a.N
	if b.kind == flat {
		b.units = b.b.N
	}
	for _, d := range dims {
		b.units *= d.N
	}
	return b
}

// merged returns the dimensions in order of the result's memory, the last one running quickest,
// without those of one element, and with those that follow each other on both sides as one.
func merged(dims []Dim) []Dim {
	dims = slices.Clone(dims)
	for _, d := range dims {
		if d.N == 0 {
			return []Dim{d}
		}
	}
	dims = slices.DeleteFunc(dims, func(d Dim) bool { return d.N == 1 })
	slices.SortStableFunc(dims, func(x, y Dim) int { return y.Dst - x.Dst })
	out := dims[:0]
	for _, d := range dims {
		if n := len(out) - 1; n >= 0 && out[n].Dst == d.N*d.Dst && out[n].Src == d.N*d.Src {
			out[n] = Dim{out[n].N * d.N, d.Dst, d.Src}
			continue
		}
		out = append(out, d)
	}
	return out
}

// choose decides how the inner loops go, and returns the other dimensions.
func (b *Box) choose(dims []Dim) []Dim {
	n := len(dims)
	if n == 0 {
		return nil
	}
	last := dims[n-1]
	switch across := slices.IndexFunc(dims, func(d Dim) bool { return d.Src == 1 }); {
	case last.Dst == 1 && last.Src == 1:
		b.kind, b.b = rows, last
		if n == 1 {
			b.kind = flat
			return nil
		}
		b.a = dims[n-2]
		return dims[:n-2]
	case last.Dst == 1 && last.Src > 1 && across >= 0:
		b.kind, b.a, b.b = turned, dims[across], last
		if b.a.N < b.b.N {
			b.kind, b.a, b.b = turnedBack, b.b, b.a
		}
		return slices.Delete(dims[:n-1], across, across+1)
	case last.Dst == 1 && last.Src == 0:
		b.kind, b.b = filled, last
	default:
		b.kind, b.b = strided, last
	}
	if n > 1 {
		b.a = dims[n-2]
	}
	return dims[:max(0, n-2)]
}

// Units returns how many units of work there are.
func (b *Box) Units() int { return b.units }

// Copy does units lo to hi−1 of a box.
func Copy[T Word](l simd.Level, b *Box, dst, src []T, lo, hi int) {
	if b.kind == flat {
		if lo < hi {
			copy(dst[b.dstAt+lo:b.dstAt+hi], src[b.srcAt+lo:])
		}
		return
	}
	for lo < hi {
		at, n := lo%b.a.N, min(b.a.N-lo%b.a.N, hi-lo)
		to, from := b.start(lo / b.a.N)
		to, from = to+at*b.a.Dst, from+at*b.a.Src
		switch b.kind {
		case rows:
			if b.a.Src < 0 {
				backwards(b, dst, src, to, from, n)
				break
			}
			Rows(l, dst[to:], src[from:], n, b.b.N, b.a.Dst, b.a.Src)
		case turned:
			Transpose(l, dst[to:], src[from:],
				Matrix{Rows: b.b.N, Cols: n, Fill: b.b.N, DstStride: b.a.Dst, SrcStride: b.b.Src})
		case turnedBack:
			Transpose(l, dst[to:], src[from:],
				Matrix{Rows: n, Cols: b.b.N, Fill: n, DstStride: b.b.Dst, SrcStride: b.a.Src})
		case filled:
			fillRows(b, dst, src, to, from, n)
		default:
			step(b, dst, src, to, from, n)
		}
		lo += n
	}
}

// start returns where step i of the outer dimensions begins on both sides.
func (b *Box) start(i int) (to, from int) {
	to, from = b.dstAt, b.srcAt
	for j := len(b.outer) - 1; j >= 0; j-- {
		d := &b.outer[j]
		to += i % d.N * d.Dst
		from += i % d.N * d.Src
		i /= d.N
	}
	return to, from
}

func backwards[T Word](b *Box, dst, src []T, to, from, n int) {
	for range n {
		copy(dst[to:to+b.b.N], src[from:])
		to += b.a.Dst
		from += b.a.Src
	}
}

func fillRows[T Word](b *Box, dst, src []T, to, from, n int) {
	for range n {
		v, row := src[from], dst[to:to+b.b.N]
		for i := range row {
			row[i] = v
		}
		to += b.a.Dst
		from += b.a.Src
	}
}

func step[T Word](b *Box, dst, src []T, to, from, n int) {
	for range n {
		p, q := to, from
		for range b.b.N {
			dst[p] = src[q]
			p += b.b.Dst
			q += b.b.Src
		}
		to += b.a.Dst
		from += b.a.Src
	}
}

// Speed returns the share of a plain copy's speed that the box is expected to reach with elements of
// some bytes: a rough figure.
func (b *Box) Speed(l simd.Level, size int) float64 {
	run := b.b.N * size
	assembly := l == simd.AVX2 || l == simd.AVX512
	switch {
	case b.kind == flat || b.kind == rows && run >= 512:
		return 1
	case (b.kind == rows || b.kind == filled) && run >= 64:
		return 0.8
	case (b.kind == turned || b.kind == turnedBack) && size == 4 && assembly:
		return 0.8
	case b.kind == rows && assembly:
		return 0.8 * float64(run) / 64
	case b.kind == rows && run >= 16:
		return 0.15
	}
	return 0.06
}

// Elements returns how many elements the box copies.
func (b *Box) Elements() int {
	if b.kind == flat {
		return b.units
	}
	return b.units * b.b.N
}
