package conv

import (
	"unsafe"

	"github.com/stowage-ml/stowage/internal/simd/move"
)

// chunk is the part of the input channels whose weights, for a few blocks, stay in the first cache while
// outputs pass by. Its taps are those of a tile: rows of planes of columns of places.
type chunk struct {
	// first is the first channel, plane that channel's plane of the input; taps is where the
	// chunk's weights start, in taps.
	first, plane, taps        int
	planes, cols, inner, last int
}

// cacheTaps is how many taps of two blocks of weights are half of a first cache of 48 KiB.
func cacheTaps(b int) int { return 24 << 10 / (2 * b * 4) }

// order says what the loops of a tile run over: in a blocked input the places are channels; in a
// row-major one they are the kernel's columns where those lie side by side.
type order int

const (
	blockedOrder order = iota
	// columnPlaces: planes are channels, places columns.
	columnPlaces
	// spreadColumns: planes are channels, columns the kernel's.
	spreadColumns
	// channelColumns: columns are channels, for kernels of one column.
	channelColumns
)

// orderOf returns the order for an input whose blocks have lanes channels, 1 when it is row-major.
func (s *shape) orderOf(lanes int) order {
	switch {
	case lanes > 1:
		return blockedOrder
	case s.w.kernel == 1:
		return channelColumns
	case s.w.dilation == 1:
		return columnPlaces
	}
	return spreadColumns
}

// chunks cuts the input channels into parts of about the same size.
func (s *shape) chunks(b, lanes int) []chunk {
	o := s.orderOf(lanes)
	planes := (s.ins + lanes - 1) / lanes
	most := max(1, cacheTaps(b)/(s.h.kernel*s.w.kernel*lanes))
	n := (planes + most - 1) / most
	per := (planes + n - 1) / n
	out := make([]chunk, 0, n)
	for p := 0; p < planes; p += per {
		c := chunk{first: p * lanes, plane: p, taps: p * lanes * s.h.kernel * s.w.kernel, planes: min(per, planes-p), cols: 1}
		switch o {
		case blockedOrder:
			c.cols, c.inner = s.w.kernel, lanes
			c.last = min(lanes, s.ins-(p+c.planes-1)*lanes)
		case columnPlaces:
			c.inner, c.last = s.w.kernel, s.w.kernel
		case spreadColumns:
			c.cols, c.inner, c.last = s.w.kernel, 1, 1
		case channelColumns:
			c.cols, c.planes, c.inner, c.last = c.planes, 1, 1, 1
		}
		out = append(out, c)
	}
	return out
}

// at returns the channel and the kernel's column of a tap.
func (o order) at(c *chunk, plane, col, place int) (channel, column int) {
	switch o {
	case blockedOrder:
		return c.first + plane*c.inner + place, col
	case columnPlaces:
		return c.first + plane, place
	case spreadColumns:
		return c.first + plane, col
	}
	return c.first + col, 0
}

// rowTaps is the taps in one of the kernel's rows.
func (c *chunk) rowTaps() int { return c.cols * (c.inner*(c.planes-1) + c.last) }

// pack writes block o of the weights of group g, [outs, ins, rows, columns], in the order of the
// chunks' taps; the places of channels that there are not are zero. spare is memory for one block.
func (p *plan) pack(dst, spare, w []float32, g, o int) {
	s := &p.shape
	kernel := s.h.kernel * s.w.kernel
	first := o * p.b
	m := move.Matrix{Rows: min(p.b, s.outs-first), Cols: s.ins * kernel, Fill: p.b, DstStride: p.b,
		SrcStride: s.ins * kernel}
	src := w[(g*s.outs+first)*s.ins*kernel:]
	if kernel == 1 {
		move.Transpose(p.level, words(dst), words(src), m)
		return
	}
	move.Transpose(p.level, words(spare), words(src), m)
	for i := range p.chunks {
		c := &p.chunks[i]
		at := c.taps * p.b
		for row := range s.h.kernel {
			for plane := range c.planes {
				inner := c.inner
				if plane == c.planes-1 {
					inner = c.last
				}
				for col := range c.cols {
					for place := range inner {
						channel, column := p.order.at(c, plane, col, place)
						copy(dst[at:at+p.b], spare[(channel*kernel+row*s.w.kernel+column)*p.b:])
						at += p.b
					}
				}
			}
		}
	}
}

// words views elements as words to move.
func words(v []float32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}
