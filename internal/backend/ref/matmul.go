package ref

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

var matmulKernels = []entry{
	{op: "MatMul", types: []types{factors}, make: checked(asFloat32(makeMatMul))},
	{op: "Gemm", types: []types{factors}, make: checked(asFloat32(makeGemm))},
	{op: "MatMulInteger", types: []types{octets}, make: checked(makeMatMulInteger)},
	{op: "QLinearMatMul", types: qlinearTypes, make: checked(makeQLinearMatMul)},
}

var factors = floats | setOf(tensor.Int32, tensor.Int64, tensor.Uint32, tensor.Uint64)

// product is a series of matrix products of the same extents, whose results lie one after the
// other.
type product struct {
	m, k, n int
	// a and b are where the operands of each product start.
	a, b []int
}

// newProduct returns numpy's product of two shapes that fit: the last two dims are matrices, and
// those before them broadcast. Products that share their right operand become one.
func newProduct(a, b tensor.Shape) *product {
	if len(a) == 1 {
		a = tensor.Shape{1, a[0]}
	}
	if len(b) == 1 {
		b = tensor.Shape{b[0], 1}
	}
	as, bs := a[:len(a)-2], b[:len(b)-2]
	p := &product{m: int(a[len(as)]), k: int(a[len(as)+1]), n: int(b[len(bs)+1])}
	if count(bs) == 1 {
		p.m *= count(as)
		p.a, p.b = []int{0}, []int{0}
		return p
	}
	batch := make(tensor.Shape, max(len(as), len(bs)))
	for i := range batch {
		batch[i] = 1
		for _, s := range []tensor.Shape{as, bs} {
			if j := i - len(batch) + len(s); j >= 0 && s[j] != 1 {
				batch[i] = s[j]
			}
		}
	}
	w := newWalk(batch, spread(as, batch), spread(bs, batch))
	for off := range w.runs {
		for i := range w.n {
			p.a = append(p.a, (off[0]+i*w.inner[0])*p.m*p.k)
			p.b = append(p.b, (off[1]+i*w.inner[1])*p.k*p.n)
		}
	}
	return p
}

func makeMatMul(o *backend.Op) (prepared, error) {
	p := newProduct(o.In[0].Shape, o.In[1].Shape)
	kernels := perType[func(*product) backend.Kernel]{F32: matmulKernel[float32], F64: matmulKernel[float64],
		I32: matmulKernel[int32], I64: matmulKernel[int64], U32: matmulKernel[uint32], U64: matmulKernel[uint64]}
	return run(kernels.of(o.In[0].DType)(p))
}

func matmulKernel[T factor](p *product) backend.Kernel {
	return func(c *backend.Call) error {
		dst, a, b := elems[T](&c.Out[0]), elems[T](&c.In[0]), elems[T](&c.In[1])
		clear(dst)
		for i := range p.a {
			if p.m*p.k*p.n > 0 {
				mulAdd(matrix[T]{dst[i*p.m*p.n:], p.n, 1}, matrix[T]{a[p.a[i]:], p.k, 1},
					matrix[T]{b[p.b[i]:], p.n, 1}, p.m, p.k, p.n)
			}
		}
		return nil
	}
}

// gemm is alpha·A·B + beta·C; A and B may be stored transposed.
type gemm struct {
	m, k, n     int
	transA      bool
	transB      bool
	alpha, beta float32
	// c is the steps of C spread over the result.
	c steps
}

func makeGemm(o *backend.Op) (prepared, error) {
	as := &o.Node.Attrs
	g := &gemm{m: int(o.Out[0].Shape[0]), k: int(o.In[0].Shape[1]), n: int(o.Out[0].Shape[1]),
		transA: as.Int("transA", 0) != 0, transB: as.Int("transB", 0) != 0,
		alpha: as.Float("alpha", 1), beta: as.Float("beta", 1)}
	if g.transA {
		g.k = int(o.In[0].Shape[0])
	}
	if c := o.Arg(2); c.Present() {
		g.c = spread(c.Shape, o.Out[0].Shape)
	}
	kernels := perType[func(*gemm) backend.Kernel]{F32: gemmKernel[float32], F64: gemmKernel[float64],
		I32: gemmKernel[int32], I64: gemmKernel[int64], U32: gemmKernel[uint32], U64: gemmKernel[uint64]}
	return run(kernels.of(o.In[0].DType)(g))
}

func gemmKernel[T factor](g *gemm) backend.Kernel {
	a, b := matrix[T]{row: g.k, col: 1}, matrix[T]{row: g.n, col: 1}
	if g.transA {
		a.row, a.col = 1, g.m
	}
	if g.transB {
		b.row, b.col = 1, g.k
	}
	return func(c *backend.Call) error {
		dst, a, b := elems[T](&c.Out[0]), a, b
		a.at, b.at = elems[T](&c.In[0]), elems[T](&c.In[1])
		clear(dst)
		mulAdd(matrix[T]{dst, g.n, 1}, a, b, g.m, g.k, g.n)
		if g.alpha != 1 {
			for i, v := range dst {
				dst[i] = T(float64(g.alpha) * float64(v))
			}
		}
		if len(c.In) > 2 {
			addScaled(g, dst, elems[T](&c.In[2]))
		}
		return nil
	}
}

// addScaled adds beta·C to the result.
func addScaled[T factor](g *gemm, dst, c []T) {
	if len(c) == 0 {
		return
	}
	for i := range g.m {
		for j, v := range dst[i*g.n:][:g.n] {
			add := c[i*g.c[0]+j*g.c[1]]
			if g.beta != 1 {
				add = T(float64(g.beta) * float64(add))
			}
			dst[i*g.n+j] = v + add
		}
	}
}
