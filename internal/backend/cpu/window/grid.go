package window

import (
	"unsafe"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	loops "github.com/stowage-ml/stowage/internal/simd/window"
	"github.com/stowage-ml/stowage/tensor"
)

// span is a run of windows along one axis that have the same taps inside the image.
type span struct {
	// The windows are from to from+n−1; taps first to first+taps−1 are inside.
	from, n, first, taps int
	// at is what the first of the taps of window from reads.
	at int
	// count is the number of taps that an average divides by.
	count int
}

// axis is how windows lie along one spatial axis, in pixels.
type axis struct {
	in, out, kernel, stride, dilation, begin, end int
}

func axisOf(a *op.Axis) axis {
	n := func(d graph.Dim) int { v, _ := d.Int(); return int(v) }
	return axis{in: n(a.In), out: n(a.Out), kernel: n(a.Kernel), stride: int(a.Stride), dilation: int(a.Dilation),
		begin: n(a.Begin), end: n(a.End)}
}

// inside returns the taps of window i that are at or after low and before high.
func (a *axis) inside(i, low, high int) (first, n int) {
	at := i*a.stride - a.begin
	if at < low {
		first = (low - at + a.dilation - 1) / a.dilation
	}
	if high <= at {
		return 0, 0
	}
	last := min(a.kernel, (high-at+a.dilation-1)/a.dilation)
	if last <= first {
		return 0, 0
	}
	return first, last - first
}

// spans cuts the windows into runs of the same taps; padding says that averages count it.
func (a *axis) spans(padding bool) []span {
	var out []span
	for i := range a.out {
		first, taps := a.inside(i, 0, a.in)
		count := taps
		if padding {
			_, count = a.inside(i, -a.begin, a.in+a.end)
		}
		if n := len(out) - 1; n >= 0 && out[n].first == first && out[n].taps == taps && out[n].count == count {
			out[n].n++
			continue
		}
		at := 0
		if taps > 0 {
			at = i*a.stride - a.begin + first*a.dilation
		}
		out = append(out, span{from: i, n: 1, first: first, taps: taps, at: at, count: count})
	}
	return out
}

// grid is windows over the planes of a tensor of [images, channels, height, width] whose channels lie
// in blocks. A tensor with one spatial axis has height 1.
type grid struct {
	level             simd.Level
	loop              loop
	block             int
	images, channels  int
	blocks            int
	y, x              axis
	rows, cols        []span
	inPlane, outPlane int
	// tile is how many output rows are computed at a time.
	tile, tasks int
	// rowParts is how many tasks share a plane's rows.
	rowParts int
}

// loop is what is done with the taps of a window.
type loop uint8

const (
	convolve loop = iota
	largest
	average
)

// tileBytes is how much of the output is computed before anything else is done with it: it stays in
// the first-level cache.
const tileBytes = 16 << 10

// newGrid lays the windows that a node's attributes say over an input of shape x, in blocks or, if
// block is 1, row-major; nil when this package has no loops for them.
func newGrid(l simd.Level, block int, n *graph.Node, x, kernel tensor.Shape, what loop, threads int) *grid {
	if len(x) < 3 || len(x) > 4 || len(kernel) != len(x)-2 {
		return nil
	}
	axes, err := op.Windows(n.Attrs, graph.Of(x[2:]...), graph.Of(kernel...))
	if err != nil {
		return nil
	}
	g := &grid{level: l, loop: what, block: block, images: int(x[0]), channels: int(x[1]),
		y: axis{in: 1, out: 1, kernel: 1, stride: 1, dilation: 1}, x: axisOf(&axes[len(axes)-1])}
	if len(axes) == 2 {
		g.y = axisOf(&axes[0])
	}
	g.inPlane, g.outPlane = g.y.in*g.x.in, g.y.out*g.x.out
	if g.images*g.channels*g.inPlane*g.outPlane == 0 {
		return nil
	}
	padding := n.Attrs.Int("count_include_pad", 0) != 0
	g.blocks = (g.channels + g.block - 1) / g.block
	g.rows, g.cols = g.y.spans(padding), g.x.spans(padding)
	g.tile = max(1, tileBytes/(4*g.block*g.x.out))
	taps := int64(g.y.kernel) * int64(g.x.kernel)
	work := int64(g.images*g.blocks*g.block) * (int64(g.inPlane) + int64(g.outPlane)*(1+taps/2)) * 4
	g.tasks = min(taskCount(work, threads), g.images*g.blocks*g.y.out)
	g.rowParts = 1
	if g.images == 1 && g.block > 1 && g.outPlane >= spreadPlane && g.y.out >= threads && g.tasks >= threads {
		g.rowParts = threads
		g.tasks = threads * min(g.blocks, g.tasks/threads)
	}
	return g
}

// compute writes rows y0 to y1 of one plane. w and bias are the plane's weights; lo and hi bound the
// result.
func (g *grid) compute(dst, src []float32, w, bias *float32, y0, y1 int, lo, hi float32) {
	pixel := 4 * g.block
	s := loops.Strip{Bias: bias, Lo: lo, Hi: hi, WRow: pixel * g.x.kernel,
		SrcRow: pixel * g.x.in * g.y.dilation, SrcCol: pixel * g.x.dilation}
	for i := range g.rows {
		r := g.rows[i]
		from, to := max(y0, r.from), min(y1, r.from+r.n)
		if from >= to {
			continue
		}
		r.at += (from - r.from) * g.y.stride
		r.from, r.n = from, to-from
		for j := range g.cols {
			g.rectangle(&s, dst, src, w, &r, &g.cols[j], y0)
		}
	}
}

// rectangle computes the windows of some rows and columns: along the longer side.
func (g *grid) rectangle(s *loops.Strip, dst, src []float32, w *float32, r, c *span, y0 int) {
	pixel := 4 * g.block
	s.KH, s.KW = r.taps, c.taps
	s.Scale = 1 / float32(max(1, r.count*c.count))
	to, from := g.block*((r.from-y0)*g.x.out+c.from), g.block*(r.at*g.x.in+c.at)
	toRow, toCol, fromRow, fromCol := g.x.out, 1, g.x.in*g.y.stride, g.x.stride
	if r.taps == 0 || c.taps == 0 {
		from, fromRow, fromCol = 0, 0, 0
	}
	n, times := c.n, r.n
	if n < times {
		n, times = times, n
		toRow, toCol, fromRow, fromCol = toCol, toRow, fromCol, fromRow
	}
	s.DstStep, s.SrcStep = pixel*toCol, pixel*fromCol
	if w != nil {
		s.W = (*float32)(unsafe.Add(unsafe.Pointer(w), pixel*(r.first*g.x.kernel+c.first)))
	}
	s.Dst, s.Src, s.N = &dst[to], &src[from], n
	s.Times, s.DstNext, s.SrcNext = times, pixel*toRow, pixel*fromRow
	g.strip(s)
}

func (g *grid) strip(s *loops.Strip) {
	switch g.loop {
	case convolve:
		loops.Conv(g.level, s)
	case largest:
		loops.Max(g.level, s)
	default:
		loops.Sum(g.level, s)
	}
}

// spreadPlane is the pixels of a plane from which one is shared by its rows, as convolutions and
// elementwise operators do: a worker then finds in its own caches what it computed a step before.
const spreadPlane = 128

// each calls f for the tiles of a task: rows y0 to y1 of a plane, which is one block of one image.
func (g *grid) each(task int, f func(plane, y0, y1 int)) {
	if g.rowParts > 1 {
		groups := g.tasks / g.rowParts
		lo, hi := part(g.y.out, task/groups, g.rowParts)
		for plane, end := part(g.blocks, task%groups, groups); plane < end; plane++ {
			for y := lo; y < hi; y += g.tile {
				f(plane, y, min(y+g.tile, hi))
			}
		}
		return
	}
	tiles(g.images*g.blocks, g.y.out, g.tile, g.tasks, task, f)
}

// tiles cuts planes of some rows into equal parts for tasks, and calls f for one task's rows, at most
// tile at a time.
func tiles(planes, rows, tile, tasks, task int, f func(plane, y0, y1 int)) {
	lo, hi := part(planes*rows, task, tasks)
	for lo < hi {
		plane, y := lo/rows, lo%rows
		n := min(tile, rows-y, hi-lo)
		f(plane, y, y+n)
		lo += n
	}
}

// settle makes the places of a plane's pixels that stand for no channel 0, whatever became of them.
func (g *grid) settle(pixels []float32, plane int) {
	used := g.channels - plane%g.blocks*g.block
	if used >= g.block {
		return
	}
	for i := 0; i < len(pixels); i += g.block {
		clear(pixels[i+used : i+g.block])
	}
}

// width is which part of the places in blocks stand for channels.
func (g *grid) width() float64 { return float64(g.channels) / float64(g.blocks*g.block) }
