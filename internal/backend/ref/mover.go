package ref

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// movable is every type whose elements can be moved: all of them.
var movable = anything | packed

// mover moves elements of one type, whatever they mean. Positions and steps are in elements.
type mover struct {
	bits int
	// run copies n elements: element i from s+i*ss of src to d+i*ds of dst.
	run func(dst, src *backend.View, d, s, n, ds, ss int)
}

func moverOf(dt tensor.DType) mover {
	bits := dt.Bits()
	m := mover{bits: bits, run: moveRuns.of(dt)}
	if bits > 0 && bits < 8 {
		m.run = func(dst, src *backend.View, d, s, n, ds, ss int) {
			for i := range n {
				setPacked(dst.Data, bits, d+i*ds, packedAt(src.Data, bits, s+i*ss))
			}
		}
	}
	return m
}

var moveRuns = bySize[func(dst, src *backend.View, d, s, n, ds, ss int)]{
	B1: moveRun[uint8], B2: moveRun[uint16], B4: moveRun[uint32], B8: moveRun[uint64], B16: moveRun[complex128],
	String: moveRun[string],
}

func moveRun[T tensor.Element](dst, src *backend.View, d, s, n, ds, ss int) {
	to, from := elems[T](dst), elems[T](src)
	if ds == 1 && ss == 1 {
		copy(to[d:d+n], from[s:s+n])
		return
	}
	if ds == 1 && ss == 0 && n > 0 {
		fill(to[d:d+n], from[s])
		return
	}
	for range n {
		to[d] = from[s]
		d += ds
		s += ss
	}
}

// fill sets every element to v.
func fill[T any](dst []T, v T) {
	dst[0] = v
	for n := 1; n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

// begin must be called before the first element is moved to dst: types of less than a byte are
// stored beside their neighbours, in bytes that must not hold rubbish.
func (m *mover) begin(dst *backend.View) {
	if m.bits < 8 {
		clear(dst.Data)
	}
}

// walk copies along a walk over dst (operand 0) and src (operand 1), from the given positions on.
func (m *mover) walk(w *walk, dst, src *backend.View, d, s int) {
	for off := range w.runs {
		m.run(dst, src, d+off[0], s+off[1], w.n, w.inner[0], w.inner[1])
	}
}
