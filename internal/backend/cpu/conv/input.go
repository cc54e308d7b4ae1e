package conv

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/internal/simd/move"
)

// input sets where the band's tiles read: the image's group itself, or a copy, in scratch memory, of the
// rows that the band reads with their padding.
func (p *plan) input(j *job, x, scratch []float32) {
	size := ceil(p.ins, p.lanes) * p.lanes * p.h.in * p.w.in
	x = x[(j.image*p.groups+j.group)*size:][:size]
	if !p.copied {
		j.x = x
		return
	}
	first := j.r0*p.h.stride - p.h.begin
	j.row = max(0, first)
	end := min(p.h.in, first+p.h.reach(j.r1-j.r0))
	j.col = j.c0 * p.pixelX
	j.x = scratch
	left := j.c0*p.w.stride - p.w.begin
	// Columns lo to hi of the copy are in the input.
	width := p.w.reach(j.c1 - j.c0)
	lo, hi := min(max(0, -left), width), max(0, min(width, p.w.in-left))
	if hi < lo {
		lo, hi = width, width
	}
	for plane := range ceil(p.ins, p.lanes) {
		src := x[plane*p.h.in*p.w.in*p.lanes:]
		dst := scratch[plane*p.planeX:]
		for r := j.row; r < end; r++ {
			row := dst[(r-j.row)*p.pitch:][:width*p.lanes]
			clear(row[:lo*p.lanes])
			copy(row[lo*p.lanes:hi*p.lanes], src[(r*p.w.in+left+lo)*p.lanes:])
			clear(row[hi*p.lanes:])
		}
	}
}

// unstage writes the outputs of a cut and band in row-major order, and runs the program on them.
func (p *plan) unstage(c *backend.Call, j *job, k cut) {
	width, rows := j.c1-j.c0, j.r1-j.r0
	size := rows * width
	plane := p.h.out * p.w.out
	if width == p.w.out {
		width, rows = size, 1
	}
	y, stage := words(j.y), words(j.stage)
	for i := range k.n {
		first := (k.first + i) * p.b
		n := min(p.b, p.outs-first)
		to := ((j.image*p.groups+j.group)*p.outs+first)*plane + j.r0*p.w.out + j.c0
		m := move.Matrix{Rows: width, Cols: n, Fill: width, DstStride: plane, SrcStride: p.b}
		for r := range rows {
			at := to + r*p.w.out
			move.Transpose(p.level, y[at:], stage[(i*size+r*width)*p.b:], m)
			if p.rest != nil {
				p.finishRows(c, j, at, width, first, n)
			}
		}
	}
}

// finishRows runs the program on width outputs of each of n channels of the group, the first of
// which is at at: on all at once where they follow each other and channels make no difference.
func (p *plan) finishRows(c *backend.Call, j *job, at, width, first, n int) {
	plane := p.h.out * p.w.out
	if width == plane && !p.rest.PerChannel() {
		width, n = n*plane, 1
	}
	for o := range n {
		from := at + o*plane
		t := prog.Tile{Data: j.y[from:][:width], At: from, Channel: j.group*p.outs + first + o}
		p.rest.Run(c, &t, j.tail)
	}
}
