package gemm

import (
	"fmt"
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/gemm"
	"github.com/stowage-ml/stowage/tensor"
)

// product is a series of matrix products of the same extents, whose results lie one after the
// other: alpha·A·B + beta·C.
type product struct {
	m, k, n int
	// left and right are the inputs that are A and B.
	left, right int
	// a and b are where the operands of each product start; lda and ldb are between their rows as
	// they are stored, which is transposed if so said.
	a, b           []int
	lda, ldb       int
	transA, transB bool
	alpha          float32
	// c is the input that is added, beta times, or −1; element (i, j) is at i·cRow+j·cCol.
	c          int
	beta       float32
	cRow, cCol int
	// lo and hi bound the result when clamp is set; then comes chain, if there is one.
	clamp  bool
	lo, hi float32
	chain  *prog.Program
	// swapped says that the result's rows and columns have changed places.
	swapped bool

	// octets says where B comes from when it is quantised.
	octets *octets

	level simd.Level
	// form says how B is read.
	form form
	// kc is how many columns of A one step takes, and rows and cols are the extents of one task's part
	// of the result, in rowTasks·colTasks of which each product is cut. A task computes sub columns
	// at a time.
	kc, rows, cols     int
	sub                int
	rowTasks, colTasks int
	// scratch is the floats of one worker: partB for B, partA for A and the rest for the chain.
	scratch, partB, partA int
	constant              *tensor.Tensor
	consts                *backend.Consts
	once                  sync.Once
	packed                []float32
	task                  func(c *backend.Call, task, worker int)
}

// form is a way to read the right operand.
type form int

const (
	// asIs reads it where it is.
	asIs form = iota
	// packedOnce reads a packed copy of a constant.
	packedOnce
	// packedInTask packs what a task needs, step by step.
	packedInTask
	// dots reads a transposed operand where it is.
	dots
	// dequantised makes what a task needs of a quantised operand, step by step.
	dequantised
)

const (
	// blockRows is how many rows of A stay in the second-level cache.
	blockRows = 144
	// taskCols bounds the columns of a task whose B it packs itself, packSteps the columns of A then.
	taskCols, packSteps = 256, 512
	// chainCols bounds the columns of a task whose results a chain takes from the cache.
	chainCols = 1024
	// steps bounds the columns of A that are taken at once.
	steps = 1024
	// dotRows is up to which height a transposed B is not packed, and wideRows any other.
	dotRows, wideRows = 4, 3
	// fewRows is up to which height packing B is not worth its time, if its rows are at most farRow
	// long; otherwise half as many rows as a register has lanes.
	fewRows, farRow = 40, 1024
	// smallB is the size, in elements, up to which B is read as it is if its rows are at most
	// shortRow long.
	smallB, shortRow = 1 << 16, 512
	// taskWork is the least number of multiply-adds that are worth a task of their own.
	taskWork = 1 << 17
)

// candidates prepares the product and returns its kernel.
func (p *product) candidates(l simd.Level, o *backend.Op) []backend.Candidate {
	p.level, p.consts = l, o.Consts
	p.swap()
	p.choose(&o.In[p.right])
	p.cut(max(o.Threads, 1))
	p.task = p.run
	c := backend.Candidate{Name: "gemm", Source: source(l), Scratch: int64(4 * p.scratch * max(o.Threads, 1)),
		Flops: share(l), Stream: 0.8, Kernel: p.kernel}
	if p.form == packedInTask {
		c.Extra.Bytes = 8 * float64(p.k) * float64(p.n) * float64(len(p.b))
	}
	if p.m <= wideRows && p.form == asIs || p.form == dots {
		c.Name = "gemv"
	}
	return []backend.Candidate{c}
}

// swap makes a product of a matrix and a vector one of the vector and the matrix, whose rows, or
// columns, are then read one after the other.
func (p *product) swap() {
	if p.n != 1 || p.m == 1 || p.octets != nil {
		return
	}
	ldb := p.lda
	p.m, p.n = 1, p.m
	p.a, p.b, p.left, p.right = p.b, p.a, p.right, p.left
	p.transA, p.transB, p.lda, p.ldb = false, !p.transA, p.k, ldb
	p.cRow, p.cCol, p.swapped = p.cCol, p.cRow, true
}

// source names the kind of code of a level.
func source(l simd.Level) string {
	if l == simd.Generic {
		return "go"
	}
	return l.String()
}

// share is the part of the level's peak that large products reach.
func share(l simd.Level) float64 {
	if l == simd.Generic {
		return 0.04
	}
	return 0.9
}

// choose decides how B is read.
func (p *product) choose(b *backend.Arg) {
	switch {
	case p.octets != nil:
		p.form = dequantised
	case p.m <= dotRows && p.transB:
		p.form = dots
	case p.m <= wideRows && !p.transB:
		p.form = asIs
	case b.Const != nil:
		p.form, p.constant = packedOnce, b.Const
	case p.transB:
		p.form = packedInTask
	case p.m <= fewRows && p.ldb <= farRow, p.k*p.n <= smallB && p.ldb <= shortRow, p.m <= p.level.Lanes()/2:
		p.form = asIs
	default:
		p.form = packedInTask
	}
}

// cut divides the result into tasks.
func (p *product) cut(threads int) {
	w := gemm.Cols(p.level)
	p.kc, p.rows, p.cols = max(1, min(p.k, steps)), p.m, p.n
	if p.chain != nil {
		p.rows, p.cols = min(p.rows, blockRows), min(p.cols, chainCols)
	}
	p.sub = max(p.n, 1)
	if p.form == dequantised {
		p.rows = p.m
		p.cutOctets()
	}
	if p.form == packedInTask {
		p.rows = p.m
		p.kc = min(p.kc, packSteps)
		p.cols = min(p.cols, taskCols)
	}
	work := float64(p.m) * float64(p.n) * float64(p.k) * float64(len(p.a))
	if want := min(3*threads, int(min(work/taskWork, 1<<20))); threads > 1 {
		// Narrow parts first: each reads its part of B alone.
		for p.tasks() < want && p.cols > 2*w {
			p.cols = roundUp((p.cols+1)/2, w)
		}
		for p.tasks() < want && p.rows > blockRows {
			p.rows = roundUp((p.rows+1)/2, gemm.TileRows(p.level))
		}
	}
	p.tasks()
	switch p.form {
	case dequantised:
		p.partB = p.octetFloats()
	case packedInTask:
		p.partB = roundUp(gemm.PackedLen(p.level, p.kc, min(p.cols, p.n)), 16)
	}
	if p.transA {
		p.partA = roundUp(min(p.rows, blockRows)*p.kc, 16)
	}
	p.scratch = p.partA + p.partB
	if p.chain != nil {
		p.scratch += roundUp(p.chain.Scratch(), 16)
	}
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// tasks returns the number of tasks there are when each has p.rows rows and p.cols columns.
func (p *product) tasks() int {
	p.rowTasks, p.colTasks = 0, 0
	if p.m > 0 && p.n > 0 {
		p.rowTasks, p.colTasks = (p.m+p.rows-1)/p.rows, (p.n+p.cols-1)/p.cols
	}
	return len(p.a) * p.rowTasks * p.colTasks
}

func (p *product) kernel(c *backend.Call) error {
	if p.form == packedOnce {
		p.once.Do(p.pack)
	}
	c.Par(len(p.a)*p.rowTasks*p.colTasks, p.task)
	return nil
}

// pack packs the constant right operand, or finds it packed.
func (p *product) pack() {
	how := fmt.Sprintf("gemm %v %d×%d %v %d", p.level, p.k, p.n, p.transB, len(p.b))
	p.packed = p.consts.Get(p.constant, how, func() any {
		size := gemm.PackedLen(p.level, p.k, p.n)
		src := tensor.Cast[float32](p.constant.Bytes())
		dst := p.consts.Floats(size * p.matrices())
		for i := range p.matrices() {
			from := src[i*p.k*p.n:]
			if p.transB {
				gemm.PackTransposed(p.level, dst[i*size:], from, p.ldb, p.k, p.n)
			} else {
				gemm.Pack(p.level, dst[i*size:], from, p.ldb, p.k, p.n)
			}
		}
		return dst
	}).([]float32)
}

// matrices returns how many matrices B has.
func (p *product) matrices() int {
	if p.k*p.n == 0 {
		return 0
	}
	n, _ := count(p.constant.Shape())
	return n / (p.k * p.n)
}

// part is one task's share of the result: rows i to i+m and columns j to j+n of one product.
type part struct {
	batch, i, j, m, n int
}

func (p *product) part(task int) part {
	t := part{batch: task / (p.rowTasks * p.colTasks)}
	task %= p.rowTasks * p.colTasks
	t.i, t.j = task/p.colTasks*p.rows, task%p.colTasks*p.cols
	t.m, t.n = min(p.rows, p.m-t.i), min(p.cols, p.n-t.j)
	return t
}

// run computes one task.
func (p *product) run(c *backend.Call, task, worker int) {
	t := p.part(task)
	scratch := tensor.Cast[float32](c.Scratch)[worker*p.scratch:][:p.scratch]
	for j := 0; j < t.n; j += p.sub {
		s := t
		s.j, s.n = t.j+j, min(p.sub, t.n-j)
		p.compute(c, &s, scratch)
	}
}

// compute computes a part, step by step along the columns of A.
func (p *product) compute(c *backend.Call, t *part, scratch []float32) {
	mul := gemm.Mul{N: t.n, LDC: p.n, Lo: p.lo, Hi: p.hi}
	p.begin(c, t, &mul)
	start := mul.Start
	for k := 0; k == 0 || k < p.k; k += p.kc {
		mul.K = min(p.kc, p.k-k)
		p.setRight(c, t, &mul, k, scratch[:p.partB])
		mul.Clamp = p.clamp && p.alpha == 1 && k+mul.K == p.k
		if k > 0 {
			start = gemm.FromC
		}
		for i := 0; i < t.m; i += blockRows {
			mul.M, mul.Start = min(blockRows, t.m-i), start
			p.setLeft(c, t, &mul, i, k, scratch[p.partB:])
			mul.C = p.result(c, t, i)
			p.setBias(c, t, &mul, i)
			mul.Run(p.level)
			if k+mul.K == p.k {
				p.end(c, t, i, mul.M, scratch[p.partA+p.partB:])
			}
		}
	}
}

// result returns the part's result from row i on.
func (p *product) result(c *backend.Call, t *part, i int) []float32 {
	return tensor.Cast[float32](c.Out[0].Data)[(t.batch*p.m+t.i+i)*p.n+t.j:]
}

// setRight gives the product its right operand from row k on.
func (p *product) setRight(c *backend.Call, t *part, mul *gemm.Mul, k int, scratch []float32) {
	b := p.b[t.batch]
	switch p.form {
	case packedOnce:
		if p.k > 0 {
			each := gemm.PackedLen(p.level, p.k, p.n)
			mul.B = p.packed[b/(p.k*p.n)*each+t.j*p.k+k*gemm.Cols(p.level):]
		}
		mul.Packed, mul.LDB = true, p.k
	case packedInTask:
		src := tensor.Cast[float32](c.In[p.right].Data)
		if mul.K > 0 && p.transB {
			gemm.PackTransposed(p.level, scratch, src[b+t.j*p.ldb+k:], p.ldb, mul.K, t.n)
		} else if mul.K > 0 {
			gemm.Pack(p.level, scratch, src[b+k*p.ldb+t.j:], p.ldb, mul.K, t.n)
		}
		mul.B, mul.Packed, mul.LDB = scratch, true, mul.K
	case dequantised:
		p.dequantise(c, t, mul, k, scratch)
	case dots:
		if mul.K > 0 {
			mul.B = tensor.Cast[float32](c.In[p.right].Data)[b+t.j*p.ldb+k:]
		}
		mul.Transposed, mul.LDB = true, p.ldb
	default:
		if mul.K > 0 {
			mul.B = tensor.Cast[float32](c.In[p.right].Data)[b+k*p.ldb+t.j:]
		}
		mul.LDB = p.ldb
	}
}

// setLeft gives the product its left operand from the part's row i and column k on.
func (p *product) setLeft(c *backend.Call, t *part, mul *gemm.Mul, i, k int, scratch []float32) {
	if mul.K == 0 {
		return
	}
	a := tensor.Cast[float32](c.In[p.left].Data)[p.a[t.batch]:]
	if p.transA {
		gemm.Transpose(p.level, scratch, a[k*p.lda+t.i+i:], mul.K, p.lda, mul.M, mul.K)
		mul.A, mul.LDA = scratch, mul.K
		return
	}
	mul.A, mul.LDA = a[(t.i+i)*p.lda+k:], p.lda
}

// begin decides what the part is added to, and puts C there when it is none of the vectors that
// the inner loop reads itself.
func (p *product) begin(c *backend.Call, t *part, mul *gemm.Mul) {
	switch {
	case p.c < 0 || p.alpha != 1:
		return
	case p.beta == 1 && p.cRow == 0 && p.cCol == 1:
		mul.Start = gemm.FromCols
		return
	case p.beta == 1 && p.cRow == 1 && p.cCol == 0:
		mul.Start = gemm.FromRows
		return
	}
	mul.Start = gemm.FromC
	add := tensor.Cast[float32](c.In[p.c].Data)
	for i := range t.m {
		for j, d := 0, p.result(c, t, i)[:t.n]; j < len(d); j++ {
			d[j] = p.beta * add[(t.i+i)*p.cRow+(t.j+j)*p.cCol]
		}
	}
}

// setBias gives the product the vector that it is added to.
func (p *product) setBias(c *backend.Call, t *part, mul *gemm.Mul, i int) {
	switch mul.Start {
	case gemm.FromCols:
		mul.Bias = tensor.Cast[float32](c.In[p.c].Data)[t.j:]
	case gemm.FromRows:
		mul.Bias = tensor.Cast[float32](c.In[p.c].Data)[t.i+i:]
	}
}
