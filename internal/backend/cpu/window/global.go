package window

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	loops "github.com/stowage-ml/stowage/internal/simd/window"
	"github.com/stowage-ml/stowage/tensor"
)

// global reduces each channel's plane to one number. In blocks, a unit is a block of one image,
// whose channels are reduced side by side; row-major, it is one channel's plane.
type global struct {
	level                   simd.Level
	what                    loop
	block, channels, blocks int
	units, area, tasks      int
	// in and out say whether that side lies in blocks.
	in, out bool
}

// GlobalAveragePool returns the kernels for means of whole planes.
func GlobalAveragePool(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	return globalPool(l, o, "globalaveragepool", average)
}

// GlobalMaxPool returns the kernels for maxima of whole planes, which are NaN where there is one.
func GlobalMaxPool(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	return globalPool(l, o, "globalmaxpool", largest)
}

func globalPool(l simd.Level, o *backend.Op, name string, what loop) ([]backend.Candidate, error) {
	x := o.In[0]
	if x.DType != tensor.Float32 || len(x.Shape) < 3 {
		return nil, nil
	}
	area := 1
	for _, d := range x.Shape[2:] {
		area *= int(d)
	}
	b := l.Block()
	g := global{level: l, what: what, block: b, channels: int(x.Shape[1]), area: area}
	g.blocks = (g.channels + b - 1) / b
	if int(x.Shape[0])*g.channels*area == 0 {
		return nil, nil
	}
	var out []backend.Candidate
	for _, way := range [][2]backend.Layout{{backend.Layout(b), 0}, {backend.Layout(b), backend.Layout(b)}, {0, 0}} {
		k := g
		k.in, k.out = way[0] > 0, way[1] > 0
		k.units = int(x.Shape[0]) * g.blocks
		if !k.in {
			k.units = int(x.Shape[0]) * g.channels
		}
		k.tasks = min(k.units, taskCount(way[0].Bytes(x.DType, x.Shape), o.Threads))
		out = append(out, backend.Candidate{Name: name, Source: source(l), Kernel: k.kernel(), In: way[:1:1], Out: way[1:],
			Flops: flopsOf(l, 0.1), Stream: streamOf(l, 0.5)})
	}
	return out, nil
}

func (g *global) kernel() backend.Kernel {
	task := func(c *backend.Call, i, _ int) {
		dst, src := tensor.Cast[float32](c.Out[0].Data), tensor.Cast[float32](c.In[0].Data)
		lo, hi := part(g.units, i, g.tasks)
		for u := lo; u < hi; u++ {
			if g.in {
				g.channelsOf(dst, src[u*g.area*g.block:][:g.area*g.block], u)
			} else {
				dst[u] = g.planeOf(src[u*g.area:][:g.area])
			}
		}
	}
	return func(c *backend.Call) error { c.Par(g.tasks, task); return nil }
}

// widest is more than a block has channels.
const widest = 16

// channelsOf reduces one block of channels.
func (g *global) channelsOf(dst, src []float32, unit int) {
	var acc [widest]float64
	g.reduce(acc[:g.block], src)
	ch := unit % g.blocks * g.block
	used := min(g.block, g.channels-ch)
	to := unit / g.blocks * g.channels
	if g.out {
		to = unit / g.blocks * g.blocks * g.block
		clear(dst[to+ch:][:g.block])
	}
	for i, v := range acc[:used] {
		dst[to+ch+i] = g.last(v)
	}
}

// planeOf reduces one row-major plane, whose elements it takes for those of a block as far as they
// go.
func (g *global) planeOf(src []float32) float32 {
	if len(src) < abreast*g.block {
		sum := g.start()
		for _, v := range src {
			sum = g.join(sum, float64(v))
		}
		return g.last(sum)
	}
	var acc [widest]float64
	whole := len(src) / g.block * g.block
	g.reduce(acc[:g.block], src[:whole])
	sum := g.start()
	for _, v := range acc[:g.block] {
		sum = g.join(sum, v)
	}
	for _, v := range src[whole:] {
		sum = g.join(sum, float64(v))
	}
	return g.last(sum)
}

func (g *global) start() float64 {
	if g.what == largest {
		return math.Inf(-1)
	}
	return 0
}

func (g *global) join(a, b float64) float64 {
	if g.what == largest {
		return max(a, b)
	}
	return a + b
}

func (g *global) last(v float64) float32 {
	if g.what == largest {
		return float32(v)
	}
	return float32(v / float64(g.area))
}

const (
	// abreast is how many sums a loop keeps at a time, and stretch how many pixels it adds to each
	// before they are added up in float64.
	abreast = 12
	stretch = 32
)

// reduce joins the pixels of src channel by channel.
func (g *global) reduce(acc []float64, src []float32) {
	for i := range acc {
		acc[i] = g.start()
	}
	for len(src) > 0 {
		n := min(len(src), abreast*stretch*g.block)
		if n >= abreast*g.block {
			n -= n % (abreast * g.block)
		}
		g.piece(acc, src[:n])
		src = src[n:]
	}
}

// piece joins pixels that are a multiple of abreast, or less than abreast, in number: first into
// abreast sums, then those into one.
func (g *global) piece(acc []float64, src []float32) {
	var tmp [(abreast + 1) * widest]float32
	pixel := 4 * g.block
	n := len(src) / g.block
	s := loops.Strip{Dst: &tmp[0], Src: &src[0], N: abreast, DstStep: pixel, SrcStep: pixel, KH: 1, KW: n / abreast,
		Times: 1, SrcCol: abreast * pixel, Scale: 1}
	if n < abreast {
		s.N, s.KW = n, 1
	}
	total := tmp[abreast*g.block:][:g.block]
	last := loops.Strip{Dst: &total[0], Src: &tmp[0], N: 1, Times: 1, KH: 1, KW: s.N, SrcCol: pixel, Scale: 1}
	again, most := s, last
	loops.Sum(g.level, &s)
	loops.Sum(g.level, &last)
	if g.what == average {
		for i, v := range total {
			acc[i] += float64(v)
		}
		return
	}
	if anyNaN(total) {
		g.slowly(acc, src)
		return
	}
	loops.Max(g.level, &again)
	loops.Max(g.level, &most)
	for i, v := range total {
		acc[i] = max(acc[i], float64(v))
	}
}

// anyNaN reports whether a sum is NaN, as it is when one of its terms is, or when both infinities are
// among them.
func anyNaN(sums []float32) bool {
	for _, v := range sums {
		if v != v {
			return true
		}
	}
	return false
}

func (g *global) slowly(acc []float64, src []float32) {
	for i, v := range src {
		acc[i%g.block] = g.join(acc[i%g.block], float64(v))
	}
}
