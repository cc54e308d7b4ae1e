package elem

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/vec"
	"github.com/stowage-ml/stowage/tensor"
)

// lrnPiece is how many places of a channel are worked on at once.
const lrnPiece = 512

// lrn divides each element by a norm of its neighbours in other channels: x/(bias+alpha·s)^beta,
// where s is the sum of their squares.
type lrn struct {
	fn          *vec.Funcs
	channels, n int
	// before and after are how many channels on either side count.
	before, after     int
	alpha, beta, bias float32
	cut               cut
}

// LRN returns the kernels for LRN of float32.
func LRN(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	if len(o.In) != 1 || !isFloat(&o.In[0], &o.Out[0]) {
		return nil, nil
	}
	x, as := o.In[0].Shape, &o.Node.Attrs
	size := as.Int("size", 1)
	k := &lrn{fn: vec.For(l), channels: int(x[1]), n: count(x[2:]), alpha: as.Float("alpha", 1e-4) / float32(size),
		beta: as.Float("beta", 0.75), bias: as.Float("bias", 1)}
	// A norm of less than nothing has no root; the reference has that case.
	if k.alpha < 0 || !(k.bias > 0) {
		return nil, nil
	}
	size = min(size, 2*x[1]+2)
	k.before, k.after = int(size-1)/2, int(size)/2
	k.cut = newCut(int(x[0]), k.n, k.channels*(int(size)+8), 16, o.Threads)
	c := made(l, "lrn", 0.2, 0.3)
	c.Scratch = 4 * 2 * lrnPiece * int64(max(o.Threads, 1))
	task := k.task
	c.Kernel = func(c *backend.Call) error {
		c.Par(k.cut.tasks, task)
		return nil
	}
	return []backend.Candidate{c}, nil
}

func (k *lrn) task(c *backend.Call, i, worker int) {
	x, y := floats(&c.In[0]), floats(&c.Out[0])
	mem := tensor.Cast[float32](c.Scratch)[worker*2*lrnPiece:][:2*lrnPiece]
	first, last, from, to := k.cut.task(i)
	for image := first; image < last; image++ {
		at := image * k.channels * k.n
		for j := from; j < to; j += lrnPiece {
			for ch := range k.channels {
				k.piece(y[at:], x[at:], mem, ch, j, min(lrnPiece, to-j))
			}
		}
	}
}

// piece computes w places of a channel, from place j on.
func (k *lrn) piece(y, x, mem []float32, ch, j, w int) {
	sum, root := mem[:w], mem[lrnPiece:][:w]
	clear(sum)
	for n := max(ch-k.before, 0); n <= min(ch+k.after, k.channels-1); n++ {
		v := x[n*k.n+j:][:w]
		k.fn.MulAdd(sum, v, v, sum)
	}
	k.fn.Unary[vec.Affine](sum, sum, k.alpha, k.bias)
	to, own := y[ch*k.n+j:][:w], x[ch*k.n+j:][:w]
	if k.beta == 0.75 {
		k.fn.Unary[vec.Sqrt](sum, sum, 0, 0)
		k.fn.Unary[vec.Sqrt](root, sum, 0, 0)
		k.fn.VV[vec.Mul](sum, sum, root)
		k.fn.VV[vec.Div](to, own, sum)
		return
	}
	k.fn.Unary[vec.Log](sum, sum, 0, 0)
	k.fn.Unary[vec.Affine](sum, sum, -k.beta, 0)
	k.fn.Unary[vec.Exp](sum, sum, 0, 0)
	k.fn.VV[vec.Mul](to, own, sum)
}
