package conv

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
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
	y, plus        []float32
	// stage is where outputs are before they are in row-major order, stageAt its place in scratch
	// memory; tail is the memory of the program behind the convolution.
	stage, tail []float32
}

// run computes one call.
func (p *plan) run(c *backend.Call) error {
	if p.constW != nil {
		p.once.Do(p.packConst)
	} else {
		c.Par(p.groups*p.blocks, p.packing)
	}
	if p.at.bias >= 0 && p.shift == nil {
		p.packBias(p.biases(c), tensor.Cast[float32](c.In[p.at.bias].Data))
	}
	c.Par(p.batch*p.groups*p.bands*p.parts, p.tasks)
	return nil
}

// packConst packs what is known before the first run.
func (p *plan) packConst() {
	p.packedW = p.consts.Get(p.constW, p.form(), func() any {
		w := tensor.Cast[float32](p.constW.Bytes())
		out := p.consts.Floats(p.groups * p.blocks * p.blockW)
		spare := make([]float32, p.blockW)
		for i := range p.groups * p.blocks {
			p.pack(out[i*p.blockW:], spare, w, i/p.blocks, i%p.blocks)
			p.scaleBlock(out[i*p.blockW:][:p.blockW], i/p.blocks, i%p.blocks)
		}
		return out
	}).([]float32)
	if p.shift != nil {
		p.packedB = make([]float32, p.groups*p.blocks*p.b)
		p.packBias(p.packedB, p.shift)
	}
}

// packTask packs one block of weights that only the call knows.
func (p *plan) packTask(c *backend.Call, i, worker int) {
	spare := tensor.Cast[float32](c.Scratch)[p.atWorker+worker*p.perWorker:]
	p.pack(p.weights(c)[i*p.blockW:], spare, tensor.Cast[float32](c.In[p.at.w].Data), i/p.blocks, i%p.blocks)
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
	case p.shift != nil:
		return p.packedB
	case p.at.bias < 0:
		return nil
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
	p.input(&j, tensor.Cast[float32](c.In[p.at.x].Data), scratch)
	j.w = p.weights(c)[j.group*p.blocks*p.blockW:][:p.blocks*p.blockW]
	if j.bias = p.biases(c); j.bias != nil {
		j.bias = j.bias[j.group*p.blocks*p.b:][:p.blocks*p.b]
	}
	j.y = tensor.Cast[float32](c.Out[0].Data)
	if p.plus >= 0 {
		j.plus = tensor.Cast[float32](c.In[p.plus].Data)
	}
	j.tail = scratch[p.atTail:]
	if p.staged {
		j.stage = scratch[p.atStage:]
	}
	n := len(p.cuts)
	for _, k := range p.cuts[part*n/p.parts : (part+1)*n/p.parts] {
		for i := range p.chunks {
			p.band(c, &j, k, i)
		}
		if p.staged {
			p.unstage(c, &j, k)
		}
	}
}

// band adds one chunk to all outputs of a cut and band, and finishes them if it is the last.
func (p *plan) band(c *backend.Call, j *job, k cut, i int) {
	t, ch := &j.tile, &p.chunks[i]
	t.Blocks, t.BlockW = k.n, p.blockW
	t.Planes, t.Cols, t.Inner, t.Last = ch.planes, ch.cols, ch.inner, ch.last
	t.PixelX, t.RowX, t.PlaneX, t.ColX = p.pixelX, p.rowX, p.planeX, p.colX
	t.More = i > 0
	last := i == len(p.chunks)-1
	t.Lo, t.Hi = p.lo, p.hi
	t.Clamp = last && (!math.IsInf(float64(p.lo), -1) || !math.IsInf(float64(p.hi), 1))
	if j.bias != nil {
		t.Bias = j.bias[k.first*p.b:][:k.n*p.b]
	}
	t.Ahead = p.ahead(j, k, i)
	o := p.output(j, k)
	if last {
		o.plus = j.plus
	}
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
		t.W = j.w[k.first*p.blockW+(ch.taps+first*ch.rowTaps())*p.b:]
		t.X = nil
		if t.Rows > 0 {
			row := r*p.h.stride - p.h.begin + first*p.h.dilation - j.row
			t.X = j.x[ch.plane*p.planeX+row*p.pitch+j.c0*p.pixelX-j.col:]
		}
		o.at, o.rows = o.start+(r-j.r0)*o.pitch, n
		p.rowsOf(c, j, &o, last && p.rest != nil && !p.staged)
		r += n
	}
}

// ahead returns the weights that are read after chunk i of a cut.
func (p *plan) ahead(j *job, k cut, i int) []float32 {
	at, c := k.first, 0
	if i+1 < len(p.chunks) {
		c = i + 1
	} else if at += k.n; at >= p.blocks {
		return nil
	}
	n := p.h.kernel * p.chunks[c].rowTaps() * p.b
	return j.w[at*p.blockW+p.chunks[c].taps*p.b:][:n]
}

// target is where rows of outputs go.
type target struct {
	cut
	y []float32
	// plus, which may be nil, has what is added where y has the outputs.
	plus []float32
	// start is the band's first output, at that of the rows now in hand.
	start, at, pitch, rows, width int
}

// output returns where the band's outputs of a cut go, and sets the tile's step between blocks.
func (p *plan) output(j *job, k cut) target {
	width := j.c1 - j.c0
	if p.staged {
		j.tile.BlockY = (j.r1 - j.r0) * width * p.b
		return target{cut: k, y: j.stage, pitch: width * p.b, width: width}
	}
	pitch := p.w.out * p.b
	j.tile.BlockY = p.h.out * pitch
	block := (j.image*p.groups+j.group)*p.blocks + k.first
	return target{cut: k, y: j.y, start: block*j.tile.BlockY + j.r0*pitch + j.c0*p.b, pitch: pitch, width: width}
}

// grain is how many outputs, in bytes, are finished at a time.
const grain = 24 << 10

// rowsOf computes rows of outputs that read the same rows of the kernel. With finish set it runs the
// program on pieces that are still in the first cache.
func (p *plan) rowsOf(c *backend.Call, j *job, o *target, finish bool) {
	most := inner.MaxPixels(p.level, o.n)
	x := j.tile.X
	if p.flat() || o.rows == 1 {
		total := o.rows * o.width
		step := total
		if finish {
			step = max(1, grain/(4*o.n*p.b*most)) * most
		}
		for at := 0; at < total; at += step {
			n := min(step, total-at)
			p.line(&j.tile, x, o, at, n, most)
			if finish {
				p.finishRun(c, j, o, o.at+at*p.b, n*p.b)
			}
		}
		return
	}
	step := o.rows
	if finish {
		step = max(1, grain/(4*o.n*p.b*o.width))
	}
	for r := 0; r < o.rows; r += step {
		n := min(step, o.rows-r)
		if x != nil {
			j.tile.X = x[r*p.strideX:]
		}
		p.columns(&j.tile, j.tile.X, o, r, n, most)
		for i := 0; finish && i < n; i++ {
			p.finishRun(c, j, o, o.at+(r+i)*o.pitch, o.width*p.b)
		}
	}
}

// line computes n pixels from at on.
func (p *plan) line(t *inner.Tile, x []float32, o *target, at, n, most int) {
	count, wide, narrow := split(n, most)
	t.TileX, t.TileY = t.PixelX*(narrow+1), p.b*(narrow+1)
	p.tiles(t, x, o, o.at, at, wide, narrow+1)
	t.TileX, t.TileY = t.PixelX*narrow, p.b*narrow
	p.tiles(t, x, o, o.at, at+wide*(narrow+1), count-wide, narrow)
}

// columns computes n rows from row r on, tile by tile from the left.
func (p *plan) columns(t *inner.Tile, x []float32, o *target, r, n, most int) {
	count, wide, narrow := split(o.width, most)
	at := 0
	for i := range count {
		pixels := narrow
		if i < wide {
			pixels++
		}
		t.TileX, t.TileY = p.strideX, o.pitch
		p.tiles(t, x, o, o.at+r*o.pitch, at, n, pixels)
		at += pixels
	}
}

// tiles runs count tiles of so many pixels, the first of which is pixel at of a row that starts with
// output y.
func (p *plan) tiles(t *inner.Tile, x []float32, o *target, y, at, count, pixels int) {
	if count == 0 {
		return
	}
	t.Count, t.Pixels = count, pixels
	if t.X = nil; t.Rows > 0 {
		t.X = x[at*t.PixelX:]
	}
	t.Y = o.y[y+at*p.b:]
	if t.Plus = nil; o.plus != nil {
		t.Plus = o.plus[y+at*p.b:]
	}
	inner.Run(p.level, t)
}

// finishRun runs the program on n elements of each of the cut's blocks, the first of which are at at.
func (p *plan) finishRun(c *backend.Call, j *job, o *target, at, n int) {
	for i := range o.n {
		from := at + i*j.tile.BlockY
		t := prog.Tile{Data: o.y[from:][:n], At: from, Channel: j.group*p.outs + (o.first+i)*p.b,
			Mode: prog.Blocked, Block: p.b}
		p.rest.Run(c, &t, j.tail)
	}
}
