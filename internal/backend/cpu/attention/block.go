package attention

import (
	"math"

	"github.com/stowage-ml/stowage/internal/simd/gemm"
	"github.com/stowage-ml/stowage/internal/simd/vec"
)

// block is n keys of a segment.
type block struct {
	*work
	s       *segment
	from, n int
}

// pack packs the block's keys and values.
func (b *block) pack() {
	if !b.packed {
		return
	}
	k, v := &b.s.k, &b.s.v
	keys, values := b.at(k, &b.c.In[k.input], b.from, 0), b.at(v, &b.c.In[v.input], b.from, 0)
	if k.col == 1 {
		gemm.PackTransposed(b.level, b.packK, keys, k.row, b.size, b.n)
	} else {
		gemm.Pack(b.level, b.packK, keys, k.col, b.size, b.n)
	}
	if v.col == 1 {
		gemm.Pack(b.level, b.packV, values, v.row, b.n, b.width)
	} else {
		gemm.PackTransposed(b.level, b.packV, values, v.col, b.n, b.width)
	}
}

// rows adds the block's keys to the results of m queries from the task's query row on.
func (b *block) rows(row, m int) {
	if b.before+b.from >= b.sees(b.first+row+m-1) {
		return
	}
	scores := b.scores[:m*blockKeys]
	b.product(row, m, scores)
	y := b.at(&b.y, &b.c.Out[0], b.first+row, 0)
	for i := range m {
		b.row(row+i, scores[i*blockKeys:][:b.n], y[i*b.y.row:][:b.width])
	}
	p := gemm.Mul{M: m, N: b.width, K: b.n, A: scores, LDA: blockKeys, C: y, LDC: b.y.row, Start: gemm.FromC}
	if v := &b.s.v; b.packed {
		p.B, p.LDB, p.Packed = b.packV, b.n, true
	} else {
		p.B, p.LDB = b.at(v, &b.c.In[v.input], b.from, 0), v.row
		if v.col != 1 {
			p.LDB, p.Transposed = v.col, true
		}
	}
	p.Run(b.level)
}

// product computes the scores of m queries.
func (b *block) product(row, m int, scores []float32) {
	p := gemm.Mul{M: m, N: b.n, K: b.size, A: b.at(&b.q, &b.c.In[b.q.input], b.first+row, 0), LDA: b.q.row, C: scores,
		LDC: blockKeys}
	if k := &b.s.k; b.packed {
		p.B, p.LDB, p.Packed = b.packK, b.size, true
	} else {
		p.B = b.at(k, &b.c.In[k.input], b.from, 0)
		p.LDB, p.Transposed = k.row, true
		if k.col != 1 {
			p.LDB, p.Transposed = k.col, false
		}
	}
	p.Run(b.level)
}

// row turns a query's scores into exponentials, and brings what it has summed up so far to their
// scale.
func (b *block) row(i int, s, y []float32) {
	n := min(max(b.sees(b.first+i)-b.before-b.from, 0), b.n)
	clear(s[n:])
	top := b.top[i]
	if n > 0 {
		b.adjust(b.first+i, s[:n])
		top = max(top, b.fn.MaxOf(s[:n]))
	}
	if math.IsInf(float64(top), -1) {
		clear(s)
		clear(y)
		return
	}
	sum := b.fn.ExpSum(s[:n], s[:n], top)
	switch {
	case math.IsInf(float64(b.top[i]), -1):
		b.sum[i] = sum
		clear(y)
	case b.top[i] == top:
		b.sum[i] += sum
	default:
		old := float32(math.Exp(float64(b.top[i] - top)))
		b.sum[i] = b.sum[i]*old + sum
		b.fn.Unary[vec.Affine](y, y, old, 0)
	}
	b.top[i] = top
}

// adjust scales, limits and masks the scores of a query.
func (b *block) adjust(i int, s []float32) {
	if b.limit > 0 {
		b.fn.Unary[vec.Affine](s, s, b.scale/b.limit, 0)
		b.fn.Unary[vec.Tanh](s, s, 0, 0)
		b.fn.Unary[vec.Affine](s, s, b.limit, 0)
	} else if b.scale != 1 {
		b.fn.Unary[vec.Affine](s, s, b.scale, 0)
	}
	m := &b.mask
	if m.input < 0 {
		return
	}
	if m.bools {
		b.hide(i, s)
		return
	}
	add := b.at(&m.matrix, &b.c.In[m.input], i, b.before+b.from)
	if m.col == 0 {
		b.fn.Unary[vec.Affine](s, s, 1, add[0])
		return
	}
	b.fn.VV[vec.Add](s, s, add)
}

// hide makes the scores of keys that a query may not see those of none.
func (b *block) hide(i int, s []float32) {
	m := &b.mask
	see := b.c.In[m.input].Data[m.place(&b.index, i, b.before+b.from):]
	for j := range s {
		if see[j*m.col] == 0 {
			s[j] = float32(math.Inf(-1))
		}
	}
}
