// Package attention has the CPU's kernels for scaled dot-product attention on float32: the
// operator Attention, and groups of nodes that spell it out. Scores exist for a block of queries
// and a block of keys at a time; the softmax over all keys is kept up from block to block (Milakov
// and Gimelshein, Online normalizer calculation for softmax, 2018). Extents and steps are in
// elements, scratch memory in bytes.
package attention

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/gemm"
	"github.com/stowage-ml/stowage/internal/simd/vec"
	"github.com/stowage-ml/stowage/tensor"
)

const (
	// blockRows and blockKeys are the queries and the keys of a block of scores.
	blockRows, blockKeys = 48, 256
	// fewRows is up to how many queries keys and values are read where they are.
	fewRows = 6
	// leads is how many dimensions may lie around the matrices: batches, heads, groups of heads.
	leads = 4
)

// steps is how far apart neighbours along each of the leading dimensions are.
type steps = [leads]int

// matrix is where one operand's matrices are: element (i, j) of the one at leading indices n is
// at Σ n·lead + i·row + j·col.
type matrix struct {
	// input is the operand's number.
	input    int
	lead     steps
	row, col int
}

// segment is some of the keys, with their values.
type segment struct {
	n    int
	k, v matrix
}

// attention is softmax(cap(q·kᵀ·scale) + mask)·v for a number of matrices.
type attention struct {
	level simd.Level
	fn    *vec.Funcs
	// dims are the leading extents, units their product.
	dims  steps
	units int
	// rows counts queries, keys keys; size is the length of both, width that of values.
	rows, keys, size, width int
	q, y                    matrix
	// segments are the past keys and the new ones; there may be no past.
	segments [2]segment
	scale    float32
	// limit is what scores are softly limited to, 0 for no limit.
	limit float32
	mask  mask
	// causal says that query i sees no key behind its own position, which is past + i.
	causal bool
	past   int
	// cached says that there is a past, if perhaps of no keys.
	cached bool
	// valid is the input that says how many keys of each batch count, or −1.
	valid int
	// zeros says that a query that sees no key has the result 0; otherwise it is NaN.
	zeros bool

	// chunk is how many queries a task takes, chunks how many tasks share a unit.
	chunk, chunks int
	// packed says that keys and values are packed.
	packed       bool
	scratch      int
	packK, packV int
}

// mask is what is added to scores.
type mask struct {
	matrix
	// bools says that it has truth values: where it is false, a key is not seen.
	bools bool
	// keys is how many keys it speaks of; those behind are not seen.
	keys int
}

// candidate prepares the kernel.
func (a *attention) candidate(l simd.Level, o *backend.Op) backend.Candidate {
	a.level, a.fn = l, vec.For(l)
	threads := max(o.Threads, 1)
	a.chunk, a.chunks = a.rows, 1
	if want := 2 * threads; threads > 1 && a.units < want && a.rows > 0 && a.units > 0 {
		a.chunks = min((want+a.units-1)/a.units, (a.rows+blockRows-1)/blockRows)
		a.chunk = (a.rows + a.chunks - 1) / a.chunks
	}
	a.packed = a.chunk > fewRows
	if a.packed {
		a.packK = roundUp(gemm.PackedLen(l, a.size, blockKeys))
		a.packV = roundUp(gemm.PackedLen(l, blockKeys, a.width))
	}
	a.scratch = a.packK + a.packV + blockRows*blockKeys + 2*roundUp(a.chunk)
	task := a.task
	tasks := a.units * a.chunks
	if a.rows == 0 || a.width == 0 {
		tasks = 0
	}
	c := backend.Candidate{Name: "attention", Source: l.String(), Flops: 0.4, Stream: 0.5,
		Scratch: 4 * int64(a.scratch) * int64(threads)}
	if l == simd.Generic {
		c.Source, c.Flops, c.Stream = "go", 0.02, 0.1
	}
	c.Kernel = func(c *backend.Call) error {
		c.Par(tasks, task)
		return nil
	}
	return c
}

func roundUp(n int) int { return (n + 15) &^ 15 }

func floats(v *backend.View) []float32 { return tensor.Cast[float32](v.Data) }

// work is one task on its way: some queries of one unit.
type work struct {
	*attention
	c *backend.Call
	// index is the unit's leading indices.
	index steps
	// first is the first query, n their number.
	first, n int
	// top and sum are, for each query, the largest score so far and the sum of exponentials.
	top, sum     []float32
	packK, packV []float32
	scores       []float32
	// before is how many keys segments before this one have; seen is how many keys count at all.
	before, seen int
}

func (a *attention) task(c *backend.Call, i, worker int) {
	w := work{attention: a, c: c}
	unit := i / a.chunks
	for k := leads - 1; k >= 0; k-- {
		w.index[k] = unit % a.dims[k]
		unit /= a.dims[k]
	}
	w.first = i % a.chunks * a.chunk
	w.n = min(a.chunk, a.rows-w.first)
	mem := tensor.Cast[float32](c.Scratch)[worker*a.scratch:][:a.scratch]
	cut := func(n int) []float32 {
		part := mem[:n]
		mem = mem[n:]
		return part
	}
	w.packK, w.packV, w.scores = cut(a.packK), cut(a.packV), cut(blockRows*blockKeys)
	w.top, w.sum = cut(roundUp(a.chunk))[:w.n], cut(roundUp(a.chunk))[:w.n]
	for j := range w.top {
		w.top[j], w.sum[j] = float32(math.Inf(-1)), 0
	}
	w.seen = w.visible()
	for k := range a.segments {
		w.segment(&a.segments[k])
		w.before += a.segments[k].n
	}
	w.finish()
}

// at returns the operand's matrix for the unit's indices, from element (i, j) on.
func (w *work) at(m *matrix, v *backend.View, i, j int) []float32 {
	return floats(v)[m.place(&w.index, i, j):]
}

// place returns where element (i, j) of the matrix at the leading indices is.
func (m *matrix) place(index *steps, i, j int) int {
	at := i*m.row + j*m.col
	for k, n := range index {
		at += n * m.lead[k]
	}
	return at
}

// visible returns how many keys count in this unit.
func (w *work) visible() int {
	n := w.keys
	if w.mask.input >= 0 {
		n = min(n, w.mask.keys)
	}
	if w.valid >= 0 && w.c.In[w.valid].DType == tensor.Int64 {
		given := tensor.Cast[int64](w.c.In[w.valid].Data)[w.index[0]]
		n = int(min(max(given, 0), int64(n)))
	}
	return n
}

// sees returns how many keys a query sees.
func (w *work) sees(row int) int {
	if !w.causal {
		return w.seen
	}
	last := row + w.past + 1
	if w.valid >= 0 && !w.cached && w.c.In[w.valid].DType == tensor.Int64 {
		valid := tensor.Cast[int64](w.c.In[w.valid].Data)[w.index[0]]
		last = row + int(min(max(valid, 0), int64(w.keys))) - w.rows + 1
	}
	return min(max(last, 0), w.seen)
}

// segment goes through a segment's keys.
func (w *work) segment(s *segment) {
	keys := min(s.n, w.sees(w.first+w.n-1)-w.before)
	for from := 0; from < keys; from += blockKeys {
		b := block{work: w, s: s, from: from, n: min(blockKeys, keys-from)}
		b.pack()
		for row := 0; row < w.n; row += blockRows {
			b.rows(row, min(blockRows, w.n-row))
		}
	}
}

// finish divides by the sums of exponentials.
func (w *work) finish() {
	y := w.at(&w.y, &w.c.Out[0], w.first, 0)
	for i, sum := range w.sum {
		row := y[i*w.y.row:][:w.width]
		switch {
		case !math.IsInf(float64(w.top[i]), -1):
			w.fn.Unary[vec.Affine](row, row, 1/sum, 0)
			if w.zeros {
				w.mend(w.first+i, row)
			}
		case w.zeros:
			clear(row)
		default:
			for j := range row {
				row[j] = float32(math.NaN())
			}
		}
	}
}
