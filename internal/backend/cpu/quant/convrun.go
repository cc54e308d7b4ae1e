package quant

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/internal/simd/octet"
	"github.com/stowage-ml/stowage/tensor"
)

// number says how the input's elements lie in an image.
func (p *conv) number(c *backend.Call) octet.Number {
	return octet.Number{Signed: p.signedX, Zero: zero(c, p.xZero, 0)}
}

// worker returns a worker's scratch memory.
func (p *conv) worker(c *backend.Call, worker int) []byte {
	size := p.partSums + p.partBytes + p.partChain
	return c.Scratch[p.batch*p.groups*p.partImage+worker*size:][:size]
}

// runBuild makes one group's image.
func (p *conv) runBuild(c *backend.Call, task, worker int) {
	x, buf := p.number(c), p.worker(c, worker)
	image := c.Scratch[task*p.partImage:][:p.partImage]
	x.Blank(p.level, image)
	data := c.In[p.data].Data[task*p.ins*p.h.in*p.w.in:][:p.ins*p.h.in*p.w.in]
	unit := octet.Unit(p.level)
	for u := range p.units {
		for iy := range p.h.in {
			at := iy + p.h.begin
			row := at / p.h.stride
			if row >= p.h.length() {
				continue
			}
			phase := at % p.h.stride
			if !p.h.reads(phase) {
				continue
			}
			if p.taps {
				p.buildTaps(&x, image[4*((u*p.h.stride+phase)*p.plane+row*p.pitch):], data[iy*p.w.in:][:p.w.in],
					u*unit, buf)
				continue
			}
			p.buildRow(&x, image, data, u, iy, 4*((u*p.h.stride+phase)*p.w.stride*p.plane+row*p.pitch), buf)
		}
	}
}

// buildTaps writes a row of units that hold the taps from first on.
func (p *conv) buildTaps(x *octet.Number, image, row []byte, first int, buf []byte) {
	unit := octet.Unit(p.level)
	if n := (p.pitch-1)*p.w.stride + unit; p.w.dilation == 1 {
		// The row with its padding, which stands for 0.
		for i := range buf[:n] {
			buf[i] = byte(x.Zero)
		}
		begin := p.w.begin - first
		if begin < 0 {
			row, begin = row[min(-begin, len(row)):], 0
		}
		copy(buf[min(begin, n):n], row)
		x.Taps(p.level, image, buf[:n], p.pitch, p.w.stride)
		return
	}
	for i := range min(unit, p.w.kernel-first) {
		shift := (first+i)*p.w.dilation - p.w.begin
		for ox := range p.pitch {
			if ix := ox*p.w.stride + shift; ix >= 0 && ix < len(row) {
				x.Put(p.level, image, ox, i, row[ix])
			}
		}
	}
}

// buildRow writes row iy of the channels of unit u; at is where the row of the first phase starts.
func (p *conv) buildRow(x *octet.Number, image, data []byte, u, iy, at int, buf []byte) {
	unit := octet.Unit(p.level)
	var rows, part [4][]byte
	for i := range unit {
		// Where there is no channel, weights are 0.
		ch := min(u*unit+i, p.ins-1)
		rows[i] = data[(ch*p.h.in+iy)*p.w.in:][:p.w.in]
	}
	if p.w.stride == 1 {
		if n := min(p.w.in, p.pitch-p.w.begin); n > 0 {
			x.Row(p.level, image[at+4*p.w.begin:], &rows, n)
		}
		return
	}
	for phase := range p.w.stride {
		if !p.w.reads(phase) {
			continue
		}
		// The phase has every stride-th element from first on, which is its element skip.
		skip := max(0, (p.w.begin-phase+p.w.stride-1)/p.w.stride)
		first := skip*p.w.stride + phase - p.w.begin
		n := min((p.w.in-first+p.w.stride-1)/p.w.stride, p.pitch-skip)
		to := at + 4*(phase*p.plane+skip)
		for i := range unit {
			part[i] = buf[i*p.pitch:][:max(n, 0)]
			for k := range part[i] {
				part[i][k] = rows[i][first+k*p.w.stride]
			}
		}
		if n > 0 {
			x.Row(p.level, image[to:], &part, n)
		}
	}
}

// convPart is one task's share: channels of a group, and rows of the result.
type convPart struct {
	image          int
	ch, m, y, rows int
}

func (p *conv) part(task int) convPart {
	each := p.channelTasks * p.rowTasks
	t := convPart{image: task / each}
	task %= each
	t.ch, t.y = task/p.rowTasks*p.channels, task%p.rowTasks*p.rows
	t.m, t.rows = min(p.channels, p.outs-t.ch), min(p.rows, p.h.out-t.y)
	return t
}

// runTask computes one task.
func (p *conv) runTask(c *backend.Call, task, worker int) {
	t := p.part(task)
	scratch := p.worker(c, worker)
	sums := tensor.Cast[int32](scratch[:p.partSums])
	first := t.image%p.groups*p.outs + t.ch
	terms := sums[:t.m]
	base := p.number(c)
	for i := range terms {
		terms[i] = -base.Base(p.level) * p.weights.sums[first+i]
	}
	p.addBias(c, terms, first)
	n := (t.rows-1)*p.pitch + p.w.out
	v := octet.Conv{M: t.m, N: n, Weights: p.weights.data[4*first*p.steps:], Offsets: p.offsets, Far: p.far, Terms: terms,
		Image: c.Scratch[t.image*p.partImage:][:p.partImage][4*t.y*p.pitch:], C: sums[p.channels:], LDC: n,
		Float: p.mode == toFloats}
	direct := p.mode != toOctets && p.pitch == p.w.out
	if direct {
		v.C, v.LDC = tensor.Cast[int32](c.Out[0].Data)[p.resultAt(&t, 0, 0):], p.h.out*p.w.out
	}
	v.Run(p.level)
	switch {
	case p.mode == toOctets:
		p.octets(c, &t, &v, first, scratch[p.partSums:])
	case !direct:
		out := tensor.Cast[int32](c.Out[0].Data)
		for i := range t.m {
			for y := range t.rows {
				copy(out[p.resultAt(&t, i, y):][:p.w.out], v.C[i*n+y*p.pitch:])
			}
		}
	}
	if p.chain != nil {
		p.runChain(c, &t, first, tensor.Cast[float32](scratch[p.partSums+p.partBytes:][:p.partChain]))
	}
}

// resultAt returns where row y of channel i of a part is in the output.
func (p *conv) resultAt(t *convPart, i, y int) int {
	return ((t.image*p.outs+t.ch+i)*p.h.out + t.y + y) * p.w.out
}

// addBias adds a bias of 32-bit integers, or of float32 in units of the scales' product.
func (p *conv) addBias(c *backend.Call, terms []int32, first int) {
	if p.bias < 0 {
		return
	}
	if c.In[p.bias].DType == tensor.Int32 {
		for i, b := range tensor.Cast[int32](c.In[p.bias].Data)[first:][:len(terms)] {
			terms[i] += b
		}
		return
	}
	for i, b := range tensor.Cast[float32](c.In[p.bias].Data)[first:][:len(terms)] {
		steps := math.RoundToEven(float64(b) / (float64(p.requantise.x(c)) * float64(p.requantise.w(c, first+i))))
		terms[i] += int32(max(math.MinInt32, min(math.MaxInt32, steps)))
	}
}

// octets writes a part's sums as 8-bit integers.
func (p *conv) octets(c *backend.Call, t *convPart, v *octet.Conv, first int, scratch []byte) {
	out := c.Out[0].Data
	for i := range t.m {
		s := p.requantise.steps(c, first+i)
		row := v.C[i*v.LDC:][:v.N]
		if p.pitch == p.w.out {
			octet.Requantise(p.level, out[p.resultAt(t, i, 0):][:v.N], row, s)
			continue
		}
		octet.Requantise(p.level, scratch[:v.N], row, s)
		for y := range t.rows {
			copy(out[p.resultAt(t, i, y):][:p.w.out], scratch[y*p.pitch:])
		}
	}
}

// runChain runs what stands behind the convolution on a part.
func (p *conv) runChain(c *backend.Call, t *convPart, first int, scratch []float32) {
	tile := prog.Tile{Mode: prog.OneChannel}
	out := tensor.Cast[float32](c.Out[0].Data)
	for i := range t.m {
		tile.Channel, tile.At = first+i, p.resultAt(t, i, 0)
		tile.Data = out[tile.At:][:t.rows*p.w.out]
		p.chain.Run(c, &tile, scratch)
	}
}

// requantise is the scales between sums and the output's numbers. Each field is an input; a zero
// point is −1 when there is none.
type requantise struct {
	scaleX, scaleW, scaleY, zeroY int
	signed                        bool
	// lo and hi bound the results, in the numbers that they stand for.
	lo, hi float32
}

func (r *requantise) x(c *backend.Call) float32 { return tensor.Cast[float32](c.In[r.scaleX].Data)[0] }

func (r *requantise) w(c *backend.Call, ch int) float32 {
	s := tensor.Cast[float32](c.In[r.scaleW].Data)
	if len(s) == 1 {
		return s[0]
	}
	return s[ch]
}

// steps returns how the sums of a channel become the output's numbers.
func (r *requantise) steps(c *backend.Call, ch int) octet.Steps {
	y := tensor.Cast[float32](c.In[r.scaleY].Data)[0]
	s := octet.StepsOf(r.x(c)*r.w(c, ch)/y, zero(c, r.zeroY, 0), r.signed)
	s.Lo = min(max(s.Lo, r.lo/y), s.Hi)
	s.Hi = max(min(s.Hi, r.hi/y), s.Lo)
	return s
}
