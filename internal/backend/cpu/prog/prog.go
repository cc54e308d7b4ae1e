// Package prog runs chains of elementwise operators on runs of float32: what stands behind a
// convolution or a matrix product in a fused group, and groups that are nothing but such a chain.
// A chain becomes a list of instructions whose registers are pieces of memory that stay in the
// first-level cache. It knows nothing of what computed the run before. Lengths are in elements.
package prog

import (
	"math"
	"slices"
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd/vec"
	"github.com/stowage-ml/stowage/tensor"
)

// piece is the length of a register: few enough for several to stay in the first-level cache, many
// enough that calls cost little.
const piece = 1024

// Mode says how the channels of a tile lie.
type Mode uint8

// The modes.
const (
	// OneChannel: all elements have channel Tile.Channel.
	OneChannel Mode = iota
	// Vector: element i has channel Tile.Channel + i.
	Vector
	// Blocked: element i has channel Tile.Channel + i%Tile.Block.
	Blocked
)

// Tile is a run of contiguous elements of the output.
type Tile struct {
	// Data holds the anchor's results, and afterwards those of the program.
	Data []float32
	// At is where operands of the output's shape, which lie in memory as the output does, have the
	// element that belongs to Data[0].
	At      int
	Channel int
	Mode    Mode
	// Block divides 16.
	Block int
}

// MaxInputs is the largest number of inputs of a node for which Runs makes a program.
const MaxInputs = 16

// Operands is where the inputs of a node are for one run: each slice begins with the element that
// belongs to the run's first. A variable of this type that is given to a program is allocated;
// Borrow has some that can be used again.
type Operands [MaxInputs][]float32

var operands = sync.Pool{New: func() any { return new(Operands) }}

// Borrow returns operands that nobody else uses, until Return takes them back.
func Borrow() *Operands { return operands.Get().(*Operands) }

// Return ends the use of borrowed operands.
func Return(in *Operands) {
	clear(in[:])
	operands.Put(in)
}

// Program is a compiled chain. It is immutable.
type Program struct {
	fn *vec.Funcs
	// steps are in terms of registers; register 0 is the tile's data.
	steps  []step
	smalls []small
	// regs counts the registers beside the tile's data.
	regs     int
	channels int
	// runs says that operands are given for each run.
	runs bool
	code code
}

// source says where an operand is.
type source struct {
	from from
	i    int
}

type from uint8

const (
	nowhere from = iota
	// register: a virtual value while compiling, a register afterwards.
	register
	// full: an input with an element for each of the output's.
	full
	// narrow: one of the program's smalls.
	narrow
)

// small is an operand with one element, or one for each channel.
type small struct {
	// input is the node's input, or −1 when data holds the contents.
	input   int
	data    []float32
	channel bool
	// pattern is ready for a constant of one element.
	pattern *vec.Pattern
}

type form uint8

const (
	unary form = iota
	binary
	// mulAdd is x·y+z with narrow y and z.
	mulAdd
	// move copies x, whatever it is.
	move
)

// step is one instruction.
type step struct {
	form    form
	unary   vec.Unary
	binary  vec.Binary
	a, b    float32
	x, y, z source
	dst     int
}

// Scratch returns how many floats of scratch memory each worker needs.
func (p *Program) Scratch() int { return p.regs*piece + (len(p.smalls)+1)*len(vec.Pattern{}) }

// Full lists the node's inputs that are read with the output's shape, in order.
func (p *Program) Full() []int { return p.code.fulls() }

// Empty reports whether the program does nothing.
func (p *Program) Empty() bool { return len(p.steps) == 0 }

// run is one execution on a tile.
type run struct {
	*Program
	c       *backend.Call
	t       Tile
	scratch []float32
	// given are the operands of programs that Runs makes.
	given *Operands
	// at and n are the piece that the steps work on.
	at, n int
}

// Run applies a program that Compile made to a tile. scratch has Scratch elements that nobody else
// uses meanwhile. It allocates nothing. In Blocked mode, places that stand for no channel become 0.
func (p *Program) Run(c *backend.Call, t *Tile, scratch []float32) {
	if len(p.steps) == 0 || len(t.Data) == 0 {
		return
	}
	r := run{Program: p, c: c, t: *t, scratch: scratch}
	r.all()
	if t.Mode == Blocked && t.Channel+t.Block > p.channels {
		r.clearPad()
	}
}

// RunOn applies a program that Runs made to a run of contiguous elements of the output. in had
// better be on the heap: see Operands.
func (p *Program) RunOn(data []float32, in *Operands, scratch []float32) {
	if len(data) > 0 {
		r := run{Program: p, t: Tile{Data: data}, scratch: scratch, given: in}
		r.all()
	}
}

// all executes the steps, piece by piece.
func (r *run) all() {
	for k := range r.smalls {
		r.prepare(k)
	}
	for ; r.at < len(r.t.Data); r.at += piece {
		r.n = min(piece, len(r.t.Data)-r.at)
		for i := range r.steps {
			r.do(&r.steps[i])
		}
	}
}

// slot returns the memory for the pattern of small k.
func (r *run) slot(k int) *vec.Pattern {
	const n = len(vec.Pattern{})
	return (*vec.Pattern)(r.scratch[r.regs*piece+k*n:][:n])
}

// prepare makes the pattern of small k for this tile.
func (r *run) prepare(k int) {
	s := &r.smalls[k]
	if s.pattern != nil || s.channel && r.t.Mode == Vector {
		return
	}
	data, p := r.contents(s), r.slot(k)
	switch {
	case !s.channel:
		vec.Fill(p, data[0])
	case r.t.Mode == OneChannel:
		vec.Fill(p, data[r.t.Channel])
	default:
		n := copy(p[:r.t.Block], data[min(r.t.Channel, r.channels):r.channels])
		clear(p[n:r.t.Block])
		repeat(p, r.t.Block)
	}
}

// repeat makes a pattern of its first n elements.
func repeat(p *vec.Pattern, n int) {
	for ; n < len(p); n *= 2 {
		copy(p[n:], p[:n])
	}
}

func (r *run) contents(s *small) []float32 {
	switch {
	case s.input < 0:
		return s.data
	case r.runs:
		return r.given[s.input]
	}
	return tensor.Cast[float32](r.c.In[s.input].Data)
}

// vector returns the piece of an operand that has an element for each of the tile's; ok is false
// for one that is a pattern.
func (r *run) vector(s source) (v []float32, ok bool) {
	switch s.from {
	case register:
		return r.register(s.i), true
	case full:
		if r.runs {
			return r.given[s.i][r.at:][:r.n], true
		}
		return tensor.Cast[float32](r.c.In[s.i].Data)[r.t.At+r.at:][:r.n], true
	}
	if o := &r.smalls[s.i]; o.channel && r.t.Mode == Vector {
		return r.contents(o)[r.t.Channel+r.at:][:r.n], true
	}
	return nil, false
}

func (r *run) register(i int) []float32 {
	if i == 0 {
		return r.t.Data[r.at:][:r.n]
	}
	return r.scratch[(i-1)*piece:][:r.n]
}

func (r *run) pattern(s source) *vec.Pattern {
	if p := r.smalls[s.i].pattern; p != nil {
		return p
	}
	return r.slot(s.i)
}

// do executes one step on a piece.
func (r *run) do(s *step) {
	dst := r.register(s.dst)
	x, ok := r.vector(s.x)
	switch s.form {
	case unary:
		r.fn.Unary[s.unary](dst, x, s.a, s.b)
	case binary:
		y, yok := r.vector(s.y)
		switch {
		case !ok:
			r.fn.PV[s.binary](dst, r.pattern(s.x), y)
		case yok:
			r.fn.VV[s.binary](dst, x, y)
		default:
			r.fn.VP[s.binary](dst, x, r.pattern(s.y))
		}
	case mulAdd:
		r.mulAdd(dst, x, s)
	case move:
		if ok {
			copy(dst, x)
			return
		}
		p := r.pattern(s.x)
		for i := 0; i < len(dst); i += len(p) {
			copy(dst[i:], p[:])
		}
	}
}

func (r *run) mulAdd(dst, x []float32, s *step) {
	y, yok := r.vector(s.y)
	z, zok := r.vector(s.z)
	switch {
	case yok && zok:
		r.fn.MulAdd(dst, x, y, z)
	case yok:
		r.fn.VV[vec.Mul](dst, x, y)
		r.fn.VP[vec.Add](dst, dst, r.pattern(s.z))
	case zok:
		r.fn.VP[vec.Mul](dst, x, r.pattern(s.y))
		r.fn.VV[vec.Add](dst, dst, z)
	default:
		r.fn.MulAddP(dst, x, r.pattern(s.y), r.pattern(s.z))
	}
}

// clearPad zeroes the places of the last block that stand for no channel.
func (r *run) clearPad() {
	p := r.slot(len(r.smalls))
	for i := range r.t.Block {
		p[i] = 0
		if r.t.Channel+i < r.channels {
			p[i] = math.Float32frombits(math.MaxUint32)
		}
	}
	repeat(p, r.t.Block)
	r.fn.VP[vec.And](r.t.Data, r.t.Data, p)
}

// Channels lists the node's inputs that are read with one element for each channel and are not
// constant, in order.
func (p *Program) Channels() []int {
	var out []int
	for i := range p.smalls {
		if s := &p.smalls[i]; s.channel && s.input >= 0 {
			out = append(out, s.input)
		}
	}
	slices.Sort(out)
	return out
}

// PerChannel reports whether some operand, constant or not, has one element for each channel.
func (p *Program) PerChannel() bool {
	return slices.ContainsFunc(p.smalls, func(s small) bool { return s.channel })
}

// Steps returns how many functions the program calls for each piece of a tile; those that take a
// series count as eight.
func (p *Program) Steps() int {
	n := 0
	for i := range p.steps {
		n++
		if s := &p.steps[i]; s.form == unary && s.unary.Series() || s.form == binary && s.binary == vec.Pow {
			n += 7
		}
	}
	return n
}
