package conv

import (
	"fmt"
	"math"
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	inner "github.com/stowage-ml/stowage/internal/simd/conv"
	"github.com/stowage-ml/stowage/internal/simd/move"
	"github.com/stowage-ml/stowage/tensor"
)

const (
	side  = inner.WinogradSide
	reach = inner.WinogradReach
	// elements is how many products a tile takes for each pair of channels.
	elements = reach * reach
)

// winograd is a 3×3 convolution by Winograd's F(4×4, 3×3): a band of tiles is transformed, multiplied with the
// transformed weights by the direct kernel's own tiles, and transformed back. Rounding errors are
// those of numbers some ten times larger than the largest operands; operands for which that
// matters, NaN and infinities among them, take the direct way. Sizes and steps are in elements.
type winograd struct {
	// direct is the same convolution without transforms.
	*plan
	// planes is the blocks of input channels.
	planes int
	// There are tilesH×tilesW tiles; a band has up to bandH×bandW of them.
	tilesH, tilesW, bandH, bandW, bands, parts int
	cuts                                       []cut
	// products is the channels in a part whose weights stay in cache, in blocks.
	products int
	once     sync.Once
	packed   []float32
	bias     []float32
	scanning func(c *backend.Call, task, worker int)
	tasks    func(c *backend.Call, task, worker int)
	// A worker's scratch memory: a plane of inputs, the transformed inputs, the sums, and what a tile
	// at the edge needs.
	atInputs, atSums, atEdge, atTail, perWorker int
}

// transformBudget is the bytes of transformed inputs in a band: half of a second cache of 1 MiB.
const transformBudget = 512 << 10

// scanned is how many inputs a task looks at, about.
const scanned = 1 << 15

// The most bytes of transformed weights, which are four times as large as they were: for each tile
// that uses them, and in all.
const (
	tileBudget   = 64 << 10
	weightBudget = 6 << 20
)

// newWinograd returns the kernel that has p for its direct way, or nil, and whether it pays.
func newWinograd(p *plan, threads int) (w *winograd, pays bool) {
	three := func(a axis) bool { return a.kernel == 3 && a.stride == 1 && a.dilation == 1 }
	if !three(p.h) || !three(p.w) || p.groups != 1 || p.lanes == 1 || p.staged || p.constW == nil ||
		p.at.bias >= 0 && p.shift == nil {
		return nil, false
	}
	w = &winograd{plan: p, planes: ceil(p.ins, p.b), tilesH: ceil(p.h.out, side), tilesW: ceil(p.w.out, side), parts: 1}
	most := max(8, transformBudget/(4*elements*w.planes*p.b))
	w.bandW = ceil(w.tilesW, ceil(w.tilesW, most))
	w.bandH = max(1, min(w.tilesH, most/w.bandW))
	w.bandH = ceil(w.tilesH, ceil(w.tilesH, w.bandH))
	count := func() int { return ceil(w.tilesH, w.bandH) * ceil(w.tilesW, w.bandW) }
	for threads > 1 && p.batch*count() < 2*threads && w.bandH > 1 && (w.bandH*w.bandW > 24 || p.batch*count() < threads) {
		w.bandH = ceil(w.bandH, 2)
	}
	w.bands = count()
	w.cuts, _ = cuts(p.level, p.blocks, w.bandH*w.bandW)
	if threads > 1 && p.batch*w.bands < threads {
		w.parts = min(threads, len(w.cuts))
	}
	w.products = ceil(w.planes, ceil(w.planes*p.b, cacheTaps(p.b)))
	w.layOut()
	w.scanning, w.tasks = w.scan, w.task
	if 4*elements*w.ins*w.blocks*w.b > min(weightBudget, tileBudget*p.batch*w.tilesH*w.tilesW) {
		return w, false
	}
	return w, (p.level == simd.AVX512 || p.level == simd.AVX2) && w.share() > 1.1*p.efficiency()
}

// layOut places the parts of a worker's scratch memory.
func (w *winograd) layOut() {
	tiles := w.bandH * w.bandW
	w.atInputs = round((side*w.bandH + 2) * (side*w.bandW + 2) * w.b)
	w.atSums = w.atInputs + round(elements*w.apart(w.planes, tiles))
	most := 0
	for _, c := range w.cuts {
		most = max(most, c.n)
	}
	w.atEdge = w.atSums + round(elements*w.apart(most, tiles))
	w.atTail = w.atEdge + 2*side*side*w.b
	w.perWorker = w.atTail
	if w.rest != nil {
		w.perWorker += round(w.rest.Scratch())
	}
}

// apart is the step between transformed elements, for so many blocks: one vector more than they
// take, since steps of a power of two compete for the same lines of cache.
func (w *winograd) apart(blocks, tiles int) int { return (blocks*tiles + 1) * w.b }

// scratchBytes is the scratch memory of a call: one element for each task that scans, then the
// workers' parts; or that of the direct way.
func (w *winograd) scratchBytes(threads int) int64 {
	return max(4*int64(round(w.scans())+threads*w.perWorker), 4*int64(w.atWorker+threads*w.plan.perWorker))
}

// scans is the tasks that look at the input, scanRows the rows of an image that one looks at: bands,
// as those of the tasks that come after.
func (w *winograd) scans() int { return w.batch * ceil(w.h.in, w.scanRows()) }

func (w *winograd) scanRows() int { return max(1, scanned/(w.planes*w.b*w.w.in)) }

// The bytes of weights that come, each cycle, from memory and from a cache beyond the second.
const (
	memoryRate = 5
	cacheRate  = 8
)

// The cycles that transforms take for each tile and block of channels, copies among them.
const (
	inCycles  = 190
	outCycles = 150
)

// share estimates the share of the peak rate that the kernel has, if the multiply-adds that it saves
// count as done.
func (w *winograd) share() float64 {
	bandTiles := w.bandH * w.bandW
	_, perTap := cuts(w.level, w.blocks, bandTiles)
	products := float64(elements*w.ins) * perTap
	bytes := float64(4 * elements * w.ins * w.blocks * w.b)
	first := max(products, bytes/memoryRate)
	if bytes > transformBudget {
		products = max(products, bytes/cacheRate)
	}
	turns := float64(bandTiles * (w.planes*inCycles + w.blocks*outCycles) * w.parts)
	n := float64(w.batch * w.bands)
	cycles := first - products + n*(products+turns)
	direct := 2 * 9 * float64(w.batch*w.ins*w.outs) * float64(w.h.out*w.w.out)
	return 0.9 * direct / (cycles * float64(4*w.b))
}

// candidate describes the kernel.
func (w *winograd) candidate(o *backend.Op) backend.Candidate {
	c := w.plan.candidate("conv-winograd", o)
	c.Kernel, c.Flops, c.Extra, c.Scratch = w.run, w.share(), backend.Extra{}, w.scratchBytes(max(1, o.Threads))
	return c
}

// run computes one call.
func (w *winograd) run(c *backend.Call) error {
	w.once.Do(w.packAll)
	if w.packed == nil {
		return w.plan.run(c)
	}
	n := w.scans()
	c.Par(n, w.scanning)
	for _, bad := range tensor.Cast[float32](c.Scratch)[:n] {
		if bad != 0 {
			return w.plan.run(c)
		}
	}
	c.Par(w.batch*w.bands*w.parts, w.tasks)
	return nil
}

// packAll transforms the weights, [element][block][channel][b], unless they are immoderate.
func (w *winograd) packAll() {
	weights := tensor.Cast[float32](w.constW.Bytes())
	if !inner.Moderate(w.level, weights) {
		return
	}
	w.packed = w.consts.Get(w.constW, fmt.Sprintf("winograd %d%s", w.b, w.scaleKey), func() any {
		n := w.ins * w.b
		out, spare := w.consts.Floats(elements*w.blocks*n), make([]float32, 9*n)
		m := move.Matrix{Cols: 9 * w.ins, Fill: w.b, DstStride: w.b, SrcStride: 9 * w.ins}
		for o := range w.blocks {
			m.Rows = min(w.b, w.outs-o*w.b)
			move.Transpose(w.level, words(spare), words(weights[o*9*n:]), m)
			if w.scaleBlock(spare, 0, o); w.scale != nil && !inner.Moderate(w.level, spare) {
				return []float32(nil)
			}
			inner.WinogradWeights(w.level, out[o*n:], w.blocks*n, spare, w.ins)
		}
		return out
	}).([]float32)
	if w.shift != nil {
		w.bias = make([]float32, w.blocks*w.b)
		copy(w.bias, w.shift)
	}
}

// scan looks for inputs that transforms would spread.
func (w *winograd) scan(c *backend.Call, task, _ int) {
	rows, bands := w.scanRows(), w.scans()/w.batch
	image, row := task/bands, task%bands*rows
	x, pitch := tensor.Cast[float32](c.In[w.at.x].Data), w.w.in*w.b
	n := min(rows, w.h.in-row) * pitch
	bad := float32(0)
	for i := range w.planes {
		if !inner.Moderate(w.level, x[((image*w.planes+i)*w.h.in+row)*pitch:][:n]) {
			bad = 1
			break
		}
	}
	tensor.Cast[float32](c.Scratch)[task] = bad
}

// patch is one task: a band of tiles of one image, and some of the cuts.
type patch struct {
	tile inner.Tile
	out  inner.Output
	// The band is tile rows r0 to r1 and tile columns c0 to c1, not included; tiles is their number.
	r0, r1, c0, c1, tiles int
	image                 int
	x, y, plus            []float32
	scratch               []float32
}

// task computes one band for one part of the cuts.
func (w *winograd) task(c *backend.Call, id, worker int) {
	part := id % w.parts
	id /= w.parts
	across := ceil(w.tilesW, w.bandW)
	var p patch
	p.image = id / w.bands
	p.r0, p.c0 = id%w.bands/across*w.bandH, id%w.bands%across*w.bandW
	p.r1, p.c1 = min(p.r0+w.bandH, w.tilesH), min(p.c0+w.bandW, w.tilesW)
	p.tiles = (p.r1 - p.r0) * (p.c1 - p.c0)
	p.scratch = tensor.Cast[float32](c.Scratch)[round(w.scans())+worker*w.perWorker:][:w.perWorker]
	p.x, p.y = tensor.Cast[float32](c.In[w.at.x].Data), tensor.Cast[float32](c.Out[0].Data)
	if w.plan.plus >= 0 {
		p.plus = tensor.Cast[float32](c.In[w.plan.plus].Data)
	}
	for i := range w.planes {
		w.transform(&p, i)
	}
	n := len(w.cuts)
	for _, k := range w.cuts[part*n/w.parts : (part+1)*n/w.parts] {
		w.multiply(&p, k)
		for i := range k.n {
			w.outputs(c, &p, k, i)
		}
	}
}

// transform copies the inputs of the band from one plane, with their padding, and transforms them.
func (w *winograd) transform(p *patch, plane int) {
	rows, cols := side*(p.r1-p.r0)+2, side*(p.c1-p.c0)+2
	top, left := side*p.r0-w.h.begin, side*p.c0-w.w.begin
	lo, hi := min(max(0, -left), cols), max(0, min(cols, w.w.in-left))
	pitch := cols * w.b
	src := p.x[(p.image*w.planes+plane)*w.h.in*w.w.in*w.b:][:w.h.in*w.w.in*w.b]
	for r := range rows {
		row := p.scratch[r*pitch:][:pitch]
		if top+r < 0 || top+r >= w.h.in || lo >= hi {
			clear(row)
			continue
		}
		clear(row[:lo*w.b])
		copy(row[lo*w.b:hi*w.b], src[((top+r)*w.w.in+left+lo)*w.b:])
		clear(row[hi*w.b:])
	}
	across := p.c1 - p.c0
	for r := range p.r1 - p.r0 {
		dst := p.scratch[w.atInputs+(plane*p.tiles+r*across)*w.b:]
		inner.WinogradIn(w.level, dst, w.apart(w.planes, p.tiles), p.scratch[side*r*pitch:], pitch, across)
	}
}

// multiply sums the products of a cut's channels, element by element.
func (w *winograd) multiply(p *patch, k cut) {
	t := &p.tile
	*t = inner.Tile{Blocks: k.n, Rows: 1, Cols: 1, Inner: w.b, PixelX: w.b, PlaneX: p.tiles * w.b, BlockW: w.ins * w.b,
		BlockY: p.tiles * w.b}
	most := inner.MaxPixels(w.level, k.n)
	o := target{cut: k, y: p.scratch[w.atSums:w.atEdge]}
	in, out := w.apart(w.planes, p.tiles), w.apart(k.n, p.tiles)
	for e := range elements {
		weights := w.packed[(e*w.blocks+k.first)*w.ins*w.b:]
		o.at = e * out
		for i := 0; i < w.planes; i += w.products {
			t.Planes = min(w.products, w.planes-i)
			t.Last = min(w.b, w.ins-(i+t.Planes-1)*w.b)
			t.W = weights[i*w.b*w.b:]
			t.More = i > 0
			x := p.scratch[w.atInputs+e*in+i*p.tiles*w.b : w.atSums]
			if next := w.blocks * w.ins * w.b; i+w.products >= w.planes && e+1 < elements {
				t.Ahead = weights[next:][:w.ins*w.b]
			}
			w.line(t, x, &o, 0, p.tiles, most)
		}
	}
}

// outputs transforms the sums of the cut's block i back, tile row by tile row.
func (w *winograd) outputs(c *backend.Call, p *patch, k cut, i int) {
	across := p.c1 - p.c0
	o := &p.out
	*o = inner.Output{Apart: w.apart(k.n, p.tiles), Pitch: w.w.out * w.b, Lo: w.lo, Hi: w.hi,
		Clamp: !math.IsInf(float64(w.lo), -1) || !math.IsInf(float64(w.hi), 1)}
	if w.bias != nil {
		o.Bias = w.bias[(k.first+i)*w.b:]
	}
	plane := (p.image*w.blocks + k.first + i) * w.h.out * w.w.out
	whole := min(across, w.w.out/side-p.c0)
	for r := range p.r1 - p.r0 {
		sums := p.scratch[w.atSums+(i*p.tiles+r*across)*w.b : w.atEdge]
		row := side * (p.r0 + r)
		at := (plane + row*w.w.out + side*p.c0) * w.b
		from := 0
		if row+side <= w.h.out && whole > 0 {
			o.Sums, o.Y, o.Tiles = sums, p.y[at:], whole
			if o.Plus = nil; p.plus != nil {
				o.Plus = p.plus[at:]
			}
			inner.WinogradOut(w.level, o)
			from = whole
		}
		for t := from; t < across; t++ {
			w.edge(p, sums[t*w.b:], at+t*side*w.b, min(side, w.h.out-row), min(side, w.w.out-side*(p.c0+t)))
		}
		if w.rest == nil {
			continue
		}
		width := min(side*across, w.w.out-side*p.c0)
		end := target{cut: cut{k.first + i, 1}, y: p.y}
		for y := range min(side, w.h.out-row) {
			w.finishRun(c, &job{tail: p.scratch[w.atTail:]}, &end, at+y*o.Pitch, width*w.b)
		}
	}
}

// edge computes a tile of which only some rows and columns are in the output, by way of scratch
// memory. at is its first output.
func (w *winograd) edge(p *patch, sums []float32, at, rows, cols int) {
	o := p.out
	y, plus := p.scratch[w.atEdge:][:side*side*w.b], p.scratch[w.atEdge+side*side*w.b:][:side*side*w.b]
	o.Sums, o.Y, o.Tiles, o.Plus, o.Pitch = sums, y, 1, nil, side*w.b
	if p.plus != nil {
		clear(plus)
		for r := range rows {
			copy(plus[r*o.Pitch:][:cols*w.b], p.plus[at+r*p.out.Pitch:])
		}
		o.Plus = plus
	}
	inner.WinogradOut(w.level, &o)
	for r := range rows {
		copy(p.y[at+r*p.out.Pitch:][:cols*w.b], y[r*o.Pitch:])
	}
}
