package rnn

import (
	"fmt"
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/gemm"
	"github.com/stowage-ml/stowage/tensor"
)

// weights is a matrix of rows×cols for each direction, whose rows are multiplied with.
type weights struct {
	input, rows, cols int
	constant          *tensor.Tensor
	consts            *backend.Consts
	form              form
	once              sync.Once
	made              []float32
}

// form is a way to read weights.
type form int

const (
	// asStored reads them where they are, row by row.
	asStored form = iota
	// transposed reads a transposed copy.
	transposed
	// packed reads a copy that is packed for large products.
	packed
)

// fewRows is up to how many rows dot products with the weights as they are stored are as fast as
// any other.
const fewRows = 4

// choose decides how the weights are read by products of so many rows; 0 stands for many products
// of few rows each.
func (w *weights) choose(rows int) {
	switch {
	case w.constant == nil || rows > 0 && rows <= fewRows:
		w.form = asStored
	case rows == 0:
		w.form = transposed
	default:
		w.form = packed
	}
}

// size returns the number of elements of one direction's matrix as it is read.
func (w *weights) size(l simd.Level) int {
	if w.form == packed {
		return gemm.PackedLen(l, w.cols, w.rows)
	}
	return w.rows * w.cols
}

// ready makes the copy, or finds it made.
func (w *weights) ready(l simd.Level, dirs int) {
	if w.form == asStored {
		return
	}
	w.once.Do(func() {
		how := fmt.Sprintf("rnn %v %d %d×%d", l, w.form, w.rows, w.cols)
		w.made = w.consts.Get(w.constant, how, func() any {
			src, size := tensor.Cast[float32](w.constant.Bytes()), w.size(l)
			dst := w.consts.Floats(dirs * size)
			for d := range dirs {
				from := src[d*w.rows*w.cols:]
				if w.form == packed {
					gemm.PackTransposed(l, dst[d*size:], from, w.cols, w.cols, w.rows)
				} else {
					gemm.Transpose(l, dst[d*size:], from, w.rows, w.cols, w.cols, w.rows)
				}
			}
			return dst
		}).([]float32)
	})
}

// set gives a product rows lo on of one direction's weights as its right operand. lo is 0 when they
// are packed.
func (w *weights) set(l simd.Level, c *backend.Call, m *gemm.Mul, dir, lo int) {
	m.K = w.cols
	if w.cols == 0 {
		return
	}
	switch w.form {
	case asStored:
		m.B, m.LDB, m.Transposed = tensor.Cast[float32](c.In[w.input].Data)[(dir*w.rows+lo)*w.cols:], w.cols, true
	case transposed:
		m.B, m.LDB = w.made[dir*w.size(l)+lo:], w.rows
	case packed:
		m.B, m.LDB, m.Packed = w.made[dir*w.size(l):], w.cols, true
	}
}
