package conv

import (
	"github.com/stowage-ml/stowage/internal/backend"
	inner "github.com/stowage-ml/stowage/internal/simd/conv"
	"github.com/stowage-ml/stowage/tensor"
)

// job is one task of a call: a band of one image and group, and some of the cuts.
type job struct {
	tile inner.Tile
	// x is the image's group, or the copy of the band's rows; row and col are the input row and column,
	// in elements of a row, that x starts with.
	x        []float32
	row, col int
	image    int
	group    int
	// The band is rows r0 to r1 and columns c0 to c1 of the output, not included.
	r0, r1, c0, c1 int
	w, bias        []float32
	y, stage       []float32
}

// run computes one call.
func (p *plan) run(c *backend.Call) error {
	if p.constW != nil {
		p.once.Do(p.packConst)
	} else {
		c.Par(p.groups*p.blocks, p.packing)
	}
	if p.hasBias && p.constB == nil {
		p.packBias(p.biases(c), tensor.Cast[float32](c.In[2].Data))
	}
	c.Par(p.batch*p.groups*p.bands*p.parts, p.tasks)
	return nil
}

// packConst packs what is known before the first run.
func (p *plan) packConst() {
	p.packedW = p.consts.Get(p.constW, p.form(), func() any {
		w := tensor.Cast[float32](p.constW.Bytes())
		out := make([]float32, p.groups*p.blocks*p.blockW)
		for i := range p.groups * p.blocks {
			p.pack(out[i*p.blockW:], w, i/p.blocks, i%p.blocks)
		}
		return out
	}).([]float32)
	if p.constB != nil {
		p.packedB = make([]float32, p.groups*p.blocks*p.b)
		p.packBias(p.packedB, tensor.Cast[float32](p.constB.Bytes()))
	}
}

// packTask packs one block of weights that only the call knows.
func (p *plan) packTask(c *backend.Call, i, _ int) {
	p.pack(p.weights(c)[i*p.blockW:], tensor.Cast[float32](c.In[1].Data), i/p.blocks, i%p.blocks)
}

// packBias gives each group's biases whole blocks.
func (p *plan) packBias(dst, bias []float32) {
	clear(dst)
	for g := range p.groups {
		copy(dst[g*p.blocks*p.b:], bias[g*p.outs:][:p.outs])
	}
}

// weights returns the packed weights.
func (p *plan) weights(c *backend.Call) []float32 {
	if p.constW != nil {
		return p.packedW
	}
	return tensor.Cast[float32](c.Scratch)[:p.groups*p.blocks*p.blockW]
}

// biases returns the packed biases; nil when there are none.
func (p *plan) biases(c *backend.Call) []float32 {
	switch {
	case !p.hasBias:
		return nil
	case p.constB != nil:
		return p.packedB
	}
	return tensor.Cast[float32](c.Scratch)[p.atBias:][:p.groups*p.blocks*p.b]
}

// task computes one band of the output for one part of the cuts.
func (p *plan) task(c *backend.Call, id, worker int) {
	part := id % p.parts
	id /= p.parts
	var j job
	j.image, j.group = id/p.bands/p.groups, id/p.bands%p.groups
	across := ceil(p.w.out, p.bandW)
	j.r0, j.c0 = id%p.bands/across*p.bandH, id%p.bands%across*p.bandW
	j.r1, j.c1 = min(j.r0+p.bandH, p.h.out), min(j.c0+p.bandW, p.w.out)
	scratch := tensor.Cast[float32](c.Scratch)[p.atWorker+worker*p.perWorker:][:p.perWorker]
	p.input(&j, tensor.Cast[float32](c.In[0].Data), scratch)
	j.w = p.weights(c)[j.group*p.blocks*p.blockW:][:p.blocks*p.blockW]
	if j.bias = p.biases(c); j.bias != nil {
		j.bias = j.bias[j.group*p.blocks*p.b:][:p.blocks*p.b]
	}
	j.y = tensor.Cast[float32](c.Out[0].Data)
	if p.staged {
		j.stage = scratch[p.atStage:]
	}
	n := len(p.cuts)
	for _, k := range p.cuts[part*n/p.parts : (part+1)*n/p.parts] {
		for i := range p.chunks {
			p.band(&j, k, i)
		}
		if p.staged {
			p.unstage(&j, k)
		}
	}
}

// band adds one chunk to all outputs of a cut and band.
func (p *plan) band(j *job, k cut, i int) {
	t, c := &j.tile, &p.chunks[i]
	t.Blocks, t.BlockW = k.n, p.blockW
	t.Planes, t.Cols, t.Inner, t.Last = c.planes, c.cols, c.inner, c.last
	t.PixelX, t.RowX, t.PlaneX, t.ColX = p.pixelX, p.rowX, p.planeX, p.colX
	t.More = i > 0
	if j.bias != nil {
		t.Bias = j.bias[k.first*p.b:][:k.n*p.b]
	}
	y, pitch := p.output(j, k)
	for r := j.r0; r < j.r1; {
		first, end := p.h.taps(r)
		n := 1
		for r+n < j.r1 {
			if f, e := p.h.taps(r + n); f != first || e != end {
				break
			}
			n++
		}
		t.Rows = end - first
		t.W = j.w[k.first*p.blockW+(c.taps+first*c.rowTaps())*p.b:]
		t.X = nil
		if t.Rows > 0 {
			row := r*p.h.stride - p.h.begin + first*p.h.dilation - j.row
			t.X = j.x[c.plane*p.planeX+row*p.pitch+j.c0*p.pixelX-j.col:]
		}
		t.Y = y[(r-j.r0)*pitch:]
		p.rowsOf(t, n, j.c1-j.c0, pitch)
		r += n
	}
}

// output returns where the band's outputs of a cut start and how far apart its rows are, and sets
// the tile's step between blocks.
func (p *plan) output(j *job, k cut) (y []float32, pitch int) {
	if p.staged {
		pitch = (j.c1 - j.c0) * p.b
		j.tile.BlockY = (j.r1 - j.r0) * pitch
		return j.stage, pitch
	}
	pitch = p.w.out * p.b
	j.tile.BlockY = p.h.out * pitch
	at := (j.image*p.groups+j.group)*p.blocks + k.first
	return j.y[at*j.tile.BlockY+j.r0*pitch+j.c0*p.b:], pitch
}

// rowsOf computes n rows of outputs, which read the same rows of the kernel.
func (p *plan) rowsOf(t *inner.Tile, n, width, pitch int) {
	most := inner.MaxPixels(p.level, t.Blocks)
	x, y := t.X, t.Y
	if p.flat() || n == 1 {
		count, wide, narrow := split(n*width, most)
		p.tiles(t, x, y, 0, wide, narrow+1, t.PixelX*(narrow+1), p.b*(narrow+1))
		p.tiles(t, x, y, wide*(narrow+1), count-wide, narrow, t.PixelX*narrow, p.b*narrow)
		return
	}
	count, wide, narrow := split(width, most)
	at := 0
	for i := range count {
		pixels := narrow
		if i < wide {
			pixels++
		}
		p.tiles(t, x, y, at, n, pixels, p.strideX, pitch)
		at += pixels
	}
}

// tiles runs count tiles of so many pixels, the first of which is pixel at.
func (p *plan) tiles(t *inner.Tile, x, y []float32, at, count, pixels, stepX, stepY int) {
	if count == 0 {
		return
	}
	t.Count, t.Pixels, t.TileX, t.TileY = count, pixels, stepX, stepY
	if t.X = nil; t.Rows > 0 {
		t.X = x[at*t.PixelX:]
	}
	t.Y = y[at*p.b:]
	inner.Run(p.level, t)
}
