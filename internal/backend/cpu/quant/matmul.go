// Package quant has the CPU's kernels for quantised operands: exact products of 8-bit integers and
// what turns float32 into such integers and back. Constant right operands are packed at the first
// call and shared. Extents are in elements, scratch memory in bytes.
package quant

import (
	"fmt"
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/gemm"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/octet"
	"github.com/stowage-ml/stowage/tensor"
)

// MatMulInteger returns the kernels for MatMulInteger.
func MatMulInteger(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	if len(o.In) < 2 || len(o.Out) != 1 || o.Out[0].DType != tensor.Int32 {
		return nil, nil
	}
	p := newProduct(l, o, operands{0, 1, 2, 3})
	if p == nil {
		return nil, nil
	}
	return p.candidates("matmul", o), nil
}

// QLinearMatMul returns the kernels for QLinearMatMul.
func QLinearMatMul(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	if len(o.In) != 8 || len(o.Out) != 1 {
		return nil, nil
	}
	for _, i := range []int{1, 4, 6} {
		if o.In[i].DType != tensor.Float32 || i != 4 && !single(&o.In[i]) {
			return nil, nil
		}
	}
	p := newProduct(l, o, operands{0, 3, 2, 5})
	if p == nil || !isOctet(o.Out[0].DType) || !single(&o.In[7]) {
		return nil, nil
	}
	p.mode, p.signedOut = toOctets, o.Out[0].DType == tensor.Int8
	return p.candidates("matmul", o), nil
}

// operands says which inputs are A, B and their zero points; −1 for those that there are not.
type operands [4]int

// mode says what becomes of the sums.
type mode int

const (
	toSums mode = iota
	toFloats
	toOctets
)

// product is a series of products of 8-bit matrices.
type product struct {
	gemm.Series
	level            simd.Level
	at               operands
	signedA, signedB bool
	mode             mode
	chain            *prog.Program
	signedOut        bool
	// rows and cols are the extents of one task's part, in rowTasks·colTasks of which each product is
	// cut.
	rows, cols         int
	rowTasks, colTasks int
	// matrices is how many there are in B.
	matrices int
	constant *tensor.Tensor
	consts   *backend.Consts
	once     sync.Once
	packed   []octet.Matrix
	// partB is the scratch bytes for all of B, partA and partC those of a worker for its rows and sums,
	// and partChain those for the chain.
	partB, partA, partC, partChain int
	task, packTask                 func(c *backend.Call, task, worker int)
}

func isOctet(dt tensor.DType) bool { return dt == tensor.Int8 || dt == tensor.Uint8 }

// single reports whether an operand has one element.
func single(a *backend.Arg) bool {
	n, ok := a.Shape.Elements()
	return ok && n == 1
}

// newProduct returns the product that a node computes, or nil when its types or zero points are none
// that this package has.
func newProduct(l simd.Level, o *backend.Op, at operands) *product {
	arg := func(i int) *backend.Arg {
		if at[i] < 0 || at[i] >= len(o.In) {
			return &backend.Arg{}
		}
		return &o.In[at[i]]
	}
	a, b, out := arg(0), arg(1), &o.Out[0]
	if !isOctet(a.DType) || !isOctet(b.DType) || out.Shape == nil {
		return nil
	}
	s, ok := gemm.Products(a.Shape, b.Shape)
	if e, fits := out.Shape.Elements(); !ok || !fits || e != int64(len(s.A)*s.M*s.N) {
		return nil
	}
	for i := 2; i < 4; i++ {
		z := arg(i)
		if !z.Present() {
			at[i] = -1
			continue
		}
		n, ok := z.Shape.Elements()
		if !ok || n != 1 && (i == 2 || n != int64(s.N)) || z.DType != arg(i-2).DType {
			return nil
		}
	}
	p := &product{Series: s, level: l, at: at, signedA: a.DType == tensor.Int8, signedB: b.DType == tensor.Int8,
		constant: b.Const, consts: o.Consts}
	if each := s.K * s.N; each > 0 {
		n, _ := b.Shape.Elements()
		p.matrices = int(n) / each
	}
	return p
}

const (
	// blockRows and blockCols bound a task's part.
	blockRows, blockCols = 144, 1024
	// taskWork is the least number of multiplications that are worth a task of their own.
	taskWork = 1 << 19
)

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// candidates cuts the product into tasks and returns its kernel.
func (p *product) candidates(name string, o *backend.Op) []backend.Candidate {
	threads := max(o.Threads, 1)
	p.rows, p.cols = max(1, min(p.M, blockRows)), max(1, min(p.N, blockCols))
	w := octet.Cols(p.level)
	want := min(3*threads, int(min(float64(p.M)*float64(p.N)*float64(p.K)*float64(len(p.A))/taskWork, 1<<20)))
	for threads > 1 && p.tasks() < want && p.cols > 4*w {
		p.cols = roundUp((p.cols+1)/2, 4*w)
	}
	p.tasks()
	if p.constant == nil {
		p.partB = p.matrices * p.matrixBytes()
	}
	p.partA = roundUp(octet.RowsBytes(p.level, p.rows, p.K), 64)
	if p.mode == toOctets {
		p.partC = roundUp(4*p.rows*p.cols, 64)
	}
	if p.chain != nil {
		p.partChain = roundUp(4*p.chain.Scratch(), 64)
	}
	p.task, p.packTask = p.run, p.packMatrix
	c := backend.Candidate{Name: name, Source: source(p.level), Kernel: p.kernel, Flops: integerShare(p.level),
		Stream: 0.8, Scratch: int64(p.partB + threads*(p.partA+p.partC+p.partChain))}
	c.Extra.Bytes = float64(2 * p.partB)
	return []backend.Candidate{c}
}

func (p *product) matrixBytes() int { return roundUp(octet.MatrixBytes(p.level, p.K, p.N), 64) }

// tasks returns the number of tasks there are when each has p.rows rows and p.cols columns.
func (p *product) tasks() int {
	p.rowTasks, p.colTasks = (p.M+p.rows-1)/p.rows, (p.N+p.cols-1)/p.cols
	return len(p.A) * p.rowTasks * p.colTasks
}

func (p *product) kernel(c *backend.Call) error {
	if p.constant != nil {
		p.once.Do(p.pack)
	} else {
		c.Par(p.matrices, p.packTask)
	}
	c.Par(len(p.A)*p.rowTasks*p.colTasks, p.task)
	return nil
}

// pack packs the constant right operand, or finds it packed.
func (p *product) pack() {
	how := fmt.Sprintf("octet %v %v %d×%d %d", p.level, p.signedB, p.K, p.N, p.matrices)
	p.packed = p.consts.Get(p.constant, how, func() any {
		out := make([]octet.Matrix, p.matrices)
		src := p.constant.Bytes()
		for i := range out {
			buf := p.consts.Bytes(p.matrixBytes())
			out[i] = octet.Pack(p.level, buf, src[i*p.K*p.N:], p.signedB, p.N, p.K, p.N)
		}
		return out
	}).([]octet.Matrix)
}

// packMatrix packs one matrix of a right operand that is not constant.
func (p *product) packMatrix(c *backend.Call, task, _ int) {
	octet.Pack(p.level, c.Scratch[task*p.matrixBytes():], c.In[p.at[1]].Data[task*p.K*p.N:], p.signedB, p.N, p.K, p.N)
}
