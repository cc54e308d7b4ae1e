package conv

import (
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	inner "github.com/stowage-ml/stowage/internal/simd/conv"
	"github.com/stowage-ml/stowage/tensor"
)

// plan is a convolution whose every step is decided. Sizes and steps are in elements.
type plan struct {
	shape
	level simd.Level
	// b is the channels of a block, blocks the blocks of output channels of a group.
	b, blocks int
	// lanes is the channels that lie side by side in the input; staged says that the output is
	// row-major, and comes by way of scratch memory.
	lanes  int
	staged bool
	order  order
	chunks []chunk
	blockW int
	// cuts come with the cycles that they take for a row and tap.
	cuts   []cut
	cycles float64
	// The output is cut into bands of bandH rows and bandW columns; the cuts into parts.
	bandH, bandW, bands, parts int
	source
	// constW is the weights when they are known. Their products with scale are packed, under a name
	// that ends in scaleKey; nil stands for ones. shift is the biases when they are known.
	constW       *tensor.Tensor
	scale, shift []float32
	scaleKey     string
	at           operands
	finish
	consts  *backend.Consts
	once    sync.Once
	packedW []float32
	packedB []float32
	packing func(c *backend.Call, task, worker int)
	tasks   func(c *backend.Call, task, worker int)
	// atBias is where, in scratch memory, the packed biases are; atWorker where the first
	// worker's part is; perWorker its size, with the staged output at atStage and the tail's memory at
	// atTail.
	atBias, atWorker, perWorker, atStage, atTail int
}

// source is where the tiles read: the input itself, or a copy of a band's rows with their padding.
type source struct {
	copied bool
	// pitch is the length of a row, rows the most rows of a band, in the copy.
	pitch, rows                         int
	pixelX, rowX, colX, planeX, strideX int
}

// The budgets of a band, in bytes: of its inputs (half of a second cache of 512 KiB), and of its
// outputs where they are staged.
const (
	inputBudget = 256 << 10
	stageBudget = 48 << 10
)

// newPlan decides on everything but the operands. threads is the number of workers.
func newPlan(l simd.Level, s shape, blockedIn, blockedOut bool, threads int) *plan {
	p := &plan{shape: s, level: l, b: l.Block(), lanes: 1, staged: !blockedOut}
	if blockedIn {
		p.lanes = p.b
	}
	p.blocks = (s.outs + p.b - 1) / p.b
	p.order = s.orderOf(p.lanes)
	p.chunks = s.chunks(p.b, p.lanes)
	p.blockW = s.ins * s.h.kernel * s.w.kernel * p.b
	p.cuts, p.cycles = cuts(l, p.blocks, p.rowPixels())
	p.copied = s.w.padded()
	p.bandH, p.bandW = s.h.out, s.w.out
	p.fitBands()
	p.share(max(1, threads))
	p.bands = ceil(s.h.out, p.bandH) * ceil(s.w.out, p.bandW)
	p.steps()
	return p
}

func ceil(a, b int) int { return (a + b - 1) / b }

// flat reports whether rows follow each other in input and output, so that several are one.
func (p *plan) flat() bool { return p.w.plain() && p.h.stride == 1 }

// rowPixels is the pixels that tiles have in a row.
func (p *plan) rowPixels() int {
	if p.flat() {
		return p.h.out * p.w.out
	}
	return p.w.out
}

// fitBands makes bands small enough for their budgets.
func (p *plan) fitBands() {
	planes := ceil(p.ins, p.lanes) * p.lanes
	for p.bandH > 1 && 4*planes*p.h.reach(p.bandH)*p.w.reach(p.bandW) > inputBudget && p.bandH > 4*p.h.kernel {
		p.bandH = ceil(p.bandH, 2)
	}
	for p.h.out == 1 && p.bandW > 256 && 4*planes*p.w.reach(p.bandW) > inputBudget {
		p.halveW()
	}
	for p.staged && p.bandH > 1 && 4*p.bandH*p.bandW*p.widest() > stageBudget {
		p.bandH = ceil(p.bandH, 2)
	}
	for p.staged && p.bandW > 64 && 4*p.bandH*p.bandW*p.widest() > stageBudget {
		p.halveW()
	}
}

// widest is the most channels of a cut.
func (p *plan) widest() int {
	n := 0
	for _, c := range p.cuts {
		n = max(n, c.n)
	}
	return n * p.b
}

// halveW halves the columns of a band, to a multiple of the largest tile's.
func (p *plan) halveW() {
	t := inner.MaxPixels(p.level, p.cuts[0].n)
	p.bandW = min(p.bandW-1, ceil(ceil(p.bandW, 2), t)*t)
}

// taskFlops is the work below which another task does not pay.
const taskFlops = 1 << 20

// share cuts the work into tasks enough for all workers.
func (p *plan) share(threads int) {
	p.parts = 1
	work := 2 * p.h.kernel * p.w.kernel * p.ins * p.outs * p.h.out * p.w.out * p.batch * p.groups
	want := min(4*threads, work/taskFlops)
	if threads == 1 {
		return
	}
	tasks := func() int {
		return p.batch * p.groups * ceil(p.h.out, p.bandH) * ceil(p.w.out, p.bandW) * p.parts
	}
	// Bands of rows leave each worker with the part of the picture that it has in its caches already;
	// parts of the channels with that of the weights.
	heavy := p.blocks*p.blockW > p.ins*p.h.in*p.w.in+p.outs*p.h.out*p.w.out
	for heavy && tasks() < want && p.parts < len(p.cuts) {
		p.parts++
	}
	for tasks() < want && p.bandH > 1 {
		p.bandH = ceil(p.bandH, 2)
	}
	for tasks() < want && p.h.out == 1 && p.bandW > 32 {
		p.halveW()
	}
	for tasks() < want && p.parts < len(p.cuts) {
		p.parts++
	}
}

// steps sets where tiles find their inputs.
func (p *plan) steps() {
	p.pitch, p.rows = p.w.in, p.h.in
	if p.copied {
		p.pitch, p.rows = p.w.reach(p.bandW), min(p.h.in, p.h.reach(p.bandH))
	}
	p.pitch *= p.lanes
	p.planeX = p.rows * p.pitch
	p.pixelX = p.w.stride * p.lanes
	p.rowX = p.h.dilation * p.pitch
	p.strideX = p.h.stride * p.pitch
	p.colX = p.w.dilation * p.lanes
	if p.order == channelColumns {
		p.colX = p.planeX
	}
}
