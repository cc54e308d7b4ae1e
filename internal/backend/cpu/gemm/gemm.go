// Package gemm has the CPU's kernels for products of float32 matrices: MatMul, Gemm, and groups of
// nodes that begin with one. Constant operands are packed at the first call and shared; others are
// read where they are, or packed piece by piece. Extents are in elements, scratch memory in bytes.
package gemm

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// MatMul returns the kernels for MatMul.
func MatMul(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	p := ofMatMul(o)
	if p == nil {
		return nil, nil
	}
	return p.candidates(l, o), nil
}

// Gemm returns the kernels for Gemm.
func Gemm(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	p := ofGemm(o)
	if p == nil {
		return nil, nil
	}
	return p.candidates(l, o), nil
}

// floats reports whether operands i of the node are float32, of known shapes.
func floats(args ...*backend.Arg) bool {
	for _, a := range args {
		if a.DType != tensor.Float32 || a.Shape == nil {
			return false
		}
	}
	return true
}

// count returns the number of elements of a shape; ok is false when it is out of all bounds.
func count(s tensor.Shape) (n int, ok bool) {
	e, ok := s.Elements()
	return int(e), ok && e <= math.MaxInt32*64
}

// Series is matrix products of the same extents, whose results lie one after the other.
type Series struct {
	M, K, N int
	// A and B are where the operands of each product start.
	A, B []int
}

// Products returns numpy's product of two shapes: the last two dims are matrices, and those before
// them broadcast. Products that share their right operand become one. ok is false when the shapes
// do not fit, or have more elements than can be.
func Products(a, b tensor.Shape) (s Series, ok bool) {
	if len(a) == 0 || len(b) == 0 {
		return Series{}, false
	}
	if len(a) == 1 {
		a = tensor.Shape{1, a[0]}
	}
	if len(b) == 1 {
		b = tensor.Shape{b[0], 1}
	}
	as, bs := a[:len(a)-2], b[:len(b)-2]
	s = Series{M: int(a[len(as)]), K: int(a[len(as)+1]), N: int(b[len(bs)+1])}
	_, okA := count(a)
	_, okB := count(b)
	return s, okA && okB && int64(s.K) == b[len(bs)] && s.spread(as, bs)
}

// spread sets where the operands of each product of a batch start.
func (s *Series) spread(as, bs tensor.Shape) bool {
	na, _ := count(as)
	nb, _ := count(bs)
	s.A, s.B = []int{0}, []int{0}
	if nb == 1 {
		s.M *= na
		return true
	}
	rank := max(len(as), len(bs))
	stepA, stepB := na*s.M*s.K, nb*s.K*s.N
	for i := range rank {
		da, db := dimAt(as, i-rank+len(as)), dimAt(bs, i-rank+len(bs))
		d := da
		if da == 1 {
			d = db
		}
		if db != d && db != 1 {
			return false
		}
		stepA, stepB = stepA/max(da, 1), stepB/max(db, 1)
		s.A, s.B = times(s.A, d, da, stepA), times(s.B, d, db, stepB)
	}
	return true
}

// dimAt returns a shape's dim i; 1 before the first.
func dimAt(s tensor.Shape, i int) int {
	if i < 0 {
		return 1
	}
	return int(s[i])
}

// times returns d offsets for each of those given, step apart where the operand has more than one.
func times(offs []int, d, have, step int) []int {
	if have == 1 {
		step = 0
	}
	out := make([]int, 0, len(offs)*d)
	for _, o := range offs {
		for i := range d {
			out = append(out, o+i*step)
		}
	}
	return out
}

// ofMatMul returns the product that a MatMul is; nil when it is none of float32.
func ofMatMul(o *backend.Op) *product {
	if len(o.In) != 2 || len(o.Out) != 1 || !floats(&o.In[0], &o.In[1], &o.Out[0]) {
		return nil
	}
	s, ok := Products(o.In[0].Shape, o.In[1].Shape)
	if e, fits := count(o.Out[0].Shape); !ok || !fits || e != len(s.A)*s.M*s.N {
		return nil
	}
	return &product{right: 1, m: s.M, k: s.K, n: s.N, a: s.A, b: s.B, lda: s.K, ldb: s.N, alpha: 1, c: -1}
}

// ofGemm returns the product alpha·A·B + beta·C; nil when it is none of float32.
func ofGemm(o *backend.Op) *product {
	if len(o.In) < 2 || len(o.Out) != 1 || !floats(&o.In[0], &o.In[1], &o.Out[0]) {
		return nil
	}
	a, b, out, as := o.In[0].Shape, o.In[1].Shape, o.Out[0].Shape, &o.Node.Attrs
	if len(a) != 2 || len(b) != 2 || len(out) != 2 {
		return nil
	}
	p := &product{right: 1, m: int(out[0]), n: int(out[1]), k: int(a[1]), alpha: as.Float("alpha", 1), c: -1,
		transA: as.Int("transA", 0) != 0, transB: as.Int("transB", 0) != 0, a: []int{0}, b: []int{0}}
	p.lda, p.ldb = int(a[1]), int(b[1])
	if p.transA {
		p.k = int(a[0])
	}
	if len(o.In) > 2 && o.In[2].Present() && !p.plus(&o.In[2], 2, as.Float("beta", 1)) {
		return nil
	}
	return p
}

// plus adds beta times input i, spread over the result.
func (p *product) plus(c *backend.Arg, i int, beta float32) bool {
	if !floats(c) || len(c.Shape) > 2 {
		return false
	}
	rows, cols := dimAt(c.Shape, len(c.Shape)-2), dimAt(c.Shape, len(c.Shape)-1)
	if rows != p.m && rows != 1 || cols != p.n && cols != 1 {
		return false
	}
	p.c, p.beta = i, beta
	if rows > 1 {
		p.cRow = cols
	}
	if cols > 1 {
		p.cCol = 1
	}
	return true
}
