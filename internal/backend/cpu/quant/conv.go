package quant

import (
	"fmt"
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/octet"
	"github.com/stowage-ml/stowage/tensor"
)

// conv is a convolution of 8-bit integers with constant weights. Each group's input becomes an image
// of units: a unit holds what several channels have at one place or, when the group has one channel,
// what several taps of a row read. Windows that move on by one place read one unit further, so that a
// row of results, and all rows below it, are products of weights with runs of units.
type conv struct {
	window
	level simd.Level
	// data, xZero and bias are inputs; −1 for those that there are not.
	data, xZero, bias int
	signedX           bool
	mode              mode
	chain             *prog.Program
	// requantise says how sums become the output's numbers.
	requantise *requantise

	// taps says what a unit holds.
	taps bool
	// units is how many units lie behind each other for one place, steps how many a window has; plane is the
	// units of one phase, whose rows are pitch apart.
	units, steps, pitch, plane int
	offsets                    []int32
	far                        int32
	// channels and rows are the extents of a task's part of a group's results.
	channels, rows         int
	channelTasks, rowTasks int
	// partImage is the scratch bytes of one group's image, partSums those of a worker's sums, partBytes for
	// what they become, and partChain for the chain.
	partImage, partSums, partBytes, partChain int

	constant *tensor.Tensor
	zeros    *tensor.Tensor
	consts   *backend.Consts
	once     sync.Once
	weights  *filter
	build    func(c *backend.Call, task, worker int)
	task     func(c *backend.Call, task, worker int)
}

// filter is packed weights: a row of units for each output channel, and the sums of the rows.
type filter struct {
	data []byte
	sums []int32
}

// newConv prepares a convolution whose operands are the given inputs; nil when its weights or their
// zero points are not known beforehand, or are none that this package has.
func newConv(l simd.Level, o *backend.Op, v window, x, w, xZero, wZero int) *conv {
	p := &conv{window: v, level: l, data: x, xZero: -1, bias: -1, signedX: o.In[x].DType == tensor.Int8,
		constant: o.In[w].Const, consts: o.Consts}
	if !isOctet(o.In[x].DType) || !isOctet(o.In[w].DType) || p.constant == nil {
		return nil
	}
	if xZero >= 0 && xZero < len(o.In) && o.In[xZero].Present() {
		if p.xZero = xZero; !single(&o.In[xZero]) || o.In[xZero].DType != o.In[x].DType {
			return nil
		}
	}
	if wZero >= 0 && wZero < len(o.In) && o.In[wZero].Present() {
		z := &o.In[wZero]
		if p.zeros = z.Const; p.zeros == nil || z.DType != o.In[w].DType ||
			z.Const.Len() != 1 && z.Const.Len() != v.groups*v.outs {
			return nil
		}
	}
	if simd.Dot(l) && !p.narrow() {
		// 16 bits have room for whatever weights and zero points differ by.
		p.level = simd.AVX2
	}
	p.arrange()
	return p
}

// weight returns weight i of output channel ch, less its zero point.
func (p *conv) weight(ch, i int) int32 {
	at := func(t *tensor.Tensor, i int) int32 {
		if t.DType() == tensor.Int8 {
			return int32(int8(t.Bytes()[i]))
		}
		return int32(t.Bytes()[i])
	}
	n := at(p.constant, ch*p.ins*p.h.kernel*p.w.kernel+i)
	switch {
	case p.zeros == nil:
		return n
	case p.zeros.Len() == 1:
		return n - at(p.zeros, 0)
	}
	return n - at(p.zeros, ch)
}

// narrow reports whether all weights, less their zero points, fit in 8 bits.
func (p *conv) narrow() bool {
	if p.zeros == nil && p.constant.DType() == tensor.Int8 {
		return true
	}
	each := p.ins * p.h.kernel * p.w.kernel
	for ch := range p.groups * p.outs {
		for i := range each {
			if n := p.weight(ch, i); n < -128 || n > 127 {
				return false
			}
		}
	}
	return true
}

// arrange chooses how an image lies in memory, and lists where each step of a window reads it.
func (p *conv) arrange() {
	unit := octet.Unit(p.level)
	p.taps = p.ins == 1 && p.w.kernel > 1
	p.units, p.pitch = (p.ins+unit-1)/unit, p.w.length()
	phases, across := p.h.stride*p.w.stride, p.w.kernel
	if p.taps {
		p.units, p.pitch = (p.w.kernel+unit-1)/unit, p.w.out
		phases, across = p.h.stride, 1
	}
	p.plane = p.h.length() * p.pitch
	for u := range p.units {
		for ky := range p.h.kernel {
			for kx := range across {
				at := (u*phases+p.h.phase(ky))*p.plane + p.h.offset(ky)*p.pitch
				if !p.taps {
					at = (u*phases+p.h.phase(ky)*p.w.stride+p.w.phase(kx))*p.plane + p.h.offset(ky)*p.pitch + p.w.offset(kx)
				}
				p.offsets = append(p.offsets, int32(4*at))
				p.far = max(p.far, int32(4*at))
			}
		}
	}
	p.steps = len(p.offsets)
	p.partImage = roundUp(4*(p.units*phases*p.plane+p.pitch+octet.Cols(p.level)), 64)
}

// candidates cuts the work into tasks and returns the kernel.
func (p *conv) candidates(o *backend.Op) (backend.Kernel, int64) {
	threads := max(o.Threads, 1)
	p.channels = min(p.outs, 48)
	p.rows = max(1, min(p.h.out, (1<<15)/(p.channels*p.pitch)))
	for threads > 1 && p.tasks() < 3*threads && p.rows > 4 {
		p.rows = (p.rows + 1) / 2
	}
	p.tasks()
	sums := p.channels * ((p.rows-1)*p.pitch + p.w.out)
	// What an image is made of row by row has its room there too.
	p.partSums = roundUp(max(4*(sums+p.channels), 4*p.pitch, p.pitch*p.w.stride+4), 64)
	if p.mode == toOctets {
		p.partBytes = roundUp(p.rows*p.pitch+p.w.out, 64)
	}
	if p.chain != nil {
		p.partChain = roundUp(4*p.chain.Scratch(), 64)
	}
	p.build, p.task = p.runBuild, p.runTask
	return p.kernel, int64(p.batch*p.groups*p.partImage + threads*(p.partSums+p.partBytes+p.partChain))
}

// tasks returns how many tasks there are.
func (p *conv) tasks() int {
	p.channelTasks, p.rowTasks = (p.outs+p.channels-1)/p.channels, (p.h.out+p.rows-1)/p.rows
	return p.batch * p.groups * p.channelTasks * p.rowTasks
}

func (p *conv) kernel(c *backend.Call) error {
	p.once.Do(p.pack)
	c.Par(p.batch*p.groups, p.build)
	c.Par(p.tasks(), p.task)
	return nil
}

// pack packs the weights, or finds them packed.
func (p *conv) pack() {
	how := fmt.Sprintf("octet filter %d %t %p", octet.Unit(p.level), p.taps, p.zeros)
	p.weights = p.consts.Get(p.constant, how, func() any {
		rows := p.groups * p.outs
		f := &filter{data: make([]byte, 4*rows*p.steps), sums: make([]int32, rows)}
		for ch := range rows {
			row := f.data[4*ch*p.steps:][:4*p.steps]
			for s := range p.steps {
				for i := range octet.Unit(p.level) {
					if at := p.tap(s, i); at >= 0 {
						n := p.weight(ch, at)
						octet.PutWeight(p.level, row, s, i, n)
						f.sums[ch] += n
					}
				}
			}
		}
		return f
	}).(*filter)
}

// tap returns which weight of a channel multiplies element i of the unit of a step; −1 for none.
func (p *conv) tap(step, i int) int {
	unit, size := octet.Unit(p.level), p.h.kernel*p.w.kernel
	if p.taps {
		kx := step/p.h.kernel*unit + i
		if kx >= p.w.kernel {
			return -1
		}
		return step%p.h.kernel*p.w.kernel + kx
	}
	channel := step/size*unit + i
	if channel >= p.ins {
		return -1
	}
	return channel*size + step%size
}
