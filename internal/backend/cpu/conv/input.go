package conv

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

// unstage writes the outputs of a cut and band in row-major order.
func (p *plan) unstage(j *job, k cut) {
	width := j.c1 - j.c0
	size := (j.r1 - j.r0) * width
	plane := p.h.out * p.w.out
	first := k.first * p.b
	y := j.y[((j.image*p.groups+j.group)*p.outs+first)*plane:]
	for o := range min(k.n*p.b, p.outs-first) {
		src := j.stage[o/p.b*size*p.b+o%p.b:]
		for r := j.r0; r < j.r1; r++ {
			dst := y[o*plane+r*p.w.out+j.c0:][:width]
			from := src[(r-j.r0)*width*p.b:]
			for i := range dst {
				dst[i] = from[i*p.b]
			}
		}
	}
}
