package window

import (
	"math/bits"

	"github.com/stowage-ml/stowage/internal/backend"
	loops "github.com/stowage-ml/stowage/internal/simd/window"
	"github.com/stowage-ml/stowage/tensor"
)

// sliding is pools with large windows: first along rows, then along columns, each in a number of
// passes that grows with the logarithm of the window. A window of 2ⁿ⁺¹ elements is one of 2ⁿ joined
// with the next, and a window of any size is some of those.
type sliding struct {
	*grid
	// start is what pads hold: joining it changes nothing.
	start float32
	// pixel is how many floats lie side by side.
	pixel, planes int
	// rowWeight and colWeight are by output row and column what averages divide by.
	rowWeight, colWeight []float32
}

// many is the number of taps from which windows slide, and most that of what single loops go over.
const (
	many = 100
	most = 4096
)

// strip is how many floats of a row are worked on at a time on the way along columns.
const strip = 256

// newSliding returns the candidate for a grid in blocks or of row-major planes; none for small windows.
func newSliding(g *grid, threads int, name string) []backend.Candidate {
	if g == nil || g.y.kernel*g.x.kernel < many {
		return nil
	}
	s := &sliding{grid: g, pixel: g.block, planes: g.images * g.blocks}
	if g.loop == largest {
		s.start = -infinite
	}
	s.rowWeight, s.colWeight = weights(g.rows, g.y.out), weights(g.cols, g.x.out)
	b := backend.Layout(g.block)
	if b == 1 {
		b = backend.RowMajor
	}
	passes := float64(bits.Len(uint(g.y.kernel)) + bits.Len(uint(g.x.kernel)))
	gain := float64(g.y.kernel*g.x.kernel) * float64(g.outPlane) / (4 * passes * float64(s.y.padded()*s.x.padded()))
	return []backend.Candidate{{Name: name, Source: source(g.level), Kernel: s.kernel(),
		Scratch: int64(4 * s.scratch() * max(1, threads)), In: []backend.Layout{b}, Out: []backend.Layout{b},
		Flops: flopsOf(g.level, 0.05*gain*g.width()), Stream: streamOf(g.level, 0.2*g.width())}}
}

// weights returns the number of taps by window along an axis.
func weights(spans []span, n int) []float32 {
	w := make([]float32, 0, n)
	for i := range spans {
		for range spans[i].n {
			w = append(w, float32(max(1, spans[i].count)))
		}
	}
	return w
}

// padded is the extent that all windows together cover.
func (a *axis) padded() int { return a.steps() + (a.kernel-1)*a.dilation }

// steps is the number of places where a window could start, from the first to the last.
func (a *axis) steps() int { return (a.out-1)*a.stride + 1 }

// scratch is the floats of scratch memory of each worker: a plane that is done along rows, and twice
// what the passes work on.
func (s *sliding) scratch() int {
	return s.y.in*s.x.out*s.pixel + 2*max(s.x.padded()*s.pixel, s.y.padded()*strip)
}

func (s *sliding) kernel() backend.Kernel {
	task := func(c *backend.Call, plane, worker int) {
		scratch := tensor.Cast[float32](c.Scratch)[worker*s.scratch():][:s.scratch()]
		dst := tensor.Cast[float32](c.Out[0].Data)[plane*s.outPlane*s.pixel:][:s.outPlane*s.pixel]
		src := tensor.Cast[float32](c.In[0].Data)[plane*s.inPlane*s.pixel:][:s.inPlane*s.pixel]
		n := s.y.in * s.x.out * s.pixel
		s.alongRows(scratch[:n], src, scratch[n:])
		s.alongColumns(dst, scratch[:n], scratch[n:])
		if s.pixel > 1 {
			s.settle(dst, plane)
		}
	}
	return func(c *backend.Call) error { c.Par(s.planes, task); return nil }
}

func (s *sliding) alongRows(dst, src, scratch []float32) {
	n, out := s.x.padded()*s.pixel, s.x.out*s.pixel
	t, sum := scratch[:n], scratch[n:2*n]
	for y := range s.y.in {
		s.load(t, src[y*s.x.in*s.pixel:], s.x.in, s.x.begin, s.pixel, s.pixel)
		s.slide(sum, t, &s.x, s.pixel)
		for i := range s.x.out {
			copy(dst[y*out+i*s.pixel:][:s.pixel], sum[i*s.x.stride*s.pixel:])
		}
	}
}

// alongColumns ends the pool.
func (s *sliding) alongColumns(dst, src, scratch []float32) {
	row := s.x.out * s.pixel
	for at := 0; at < row; at += strip {
		width := min(strip, row-at)
		n := s.y.padded() * width
		t, sum := scratch[:n], scratch[n:2*n]
		s.load(t, src[at:], s.y.in, s.y.begin, width, row)
		s.slide(sum, t, &s.y, width)
		for y := range s.y.out {
			to, from := dst[y*row+at:][:width], sum[y*s.y.stride*width:][:width]
			if s.loop == largest {
				copy(to, from)
				continue
			}
			for i, v := range from {
				to[i] = v / (s.rowWeight[y] * s.colWeight[(at+i)/s.pixel])
			}
		}
	}
}

// load copies n units of width floats, pitch apart, behind begin units of padding, and fills the rest
// of t. In place of NaN there is what joins without a change where the largest is looked for.
func (s *sliding) load(t, src []float32, n, begin, width, pitch int) {
	fill(t[:min(len(t), begin*width)], s.start)
	for i := range n {
		if (begin+i)*width >= len(t) {
			return
		}
		to, from := t[(begin+i)*width:][:width], src[i*pitch:][:width]
		if s.loop != largest {
			copy(to, from)
			continue
		}
		for j, v := range from {
			if !(v > s.start) {
				v = s.start
			}
			to[j] = v
		}
	}
	fill(t[(begin+n)*width:], s.start)
}

// slide joins the windows over t, whose units are some floats, at each place where one could start.
// It uses t up.
func (s *sliding) slide(sum, t []float32, a *axis, unit int) {
	places := a.steps() * unit
	done := 0
	for k := 1; ; k *= 2 {
		if a.kernel&k != 0 {
			part := t[done*a.dilation*unit:]
			if done == 0 {
				copy(sum[:places], part)
			} else {
				s.join(sum[:places], sum, part)
			}
			done += k
		}
		if done == a.kernel {
			return
		}
		ahead := k * a.dilation * unit
		t = t[:len(t)-ahead]
		s.join(t, t, t[:len(t)+ahead][ahead:])
	}
}

func (s *sliding) join(dst, a, b []float32) {
	if s.loop == largest {
		loops.Larger(s.level, dst, a, b)
		return
	}
	loops.Blend(s.level, dst, a, b, 1, 1)
}
