package rnn

import (
	"github.com/stowage-ml/stowage/internal/simd/gemm"
	"github.com/stowage-ml/stowage/internal/simd/vec"
)

// multiply adds to c, of stride ld, the products of states with the recurrence weights of gates
// from lo to hi.
func (k *task) multiply(state, c []float32, ld, lo, hi int, start gemm.Start, bias []float32) {
	n := k.n
	m := gemm.Mul{M: k.m, N: (hi - lo) * n.hidden, A: state, LDA: n.hidden, C: c, LDC: ld, Start: start, Bias: bias}
	n.r.set(n.level, k.c, &m, k.dir, lo*n.hidden)
	m.Run(n.level)
}

// activate bounds x and applies activation i to it.
func (k *task) activate(i int, x []float32) {
	n := k.n
	if n.clip > 0 {
		n.fn.Unary[vec.Clip](x, x, -n.clip, n.clip)
	}
	a := &n.acts[k.dir][i]
	n.fn.Unary[a.f](x, x, a.a, a.b)
}

func (k *task) stepRNN(gates []float32, ld int) {
	n := k.n
	k.multiply(k.h, gates, ld, 0, 1, gemm.FromC, nil)
	for i := range k.m {
		g := gates[i*ld:][:n.hidden]
		k.activate(0, g)
		copy(k.h[i*n.hidden:], g)
	}
}

// stepGRU has the gates update, reset and hidden, in this order.
func (k *task) stepGRU(gates []float32, ld int) {
	n := k.n
	h := n.hidden
	k.multiply(k.h, gates, ld, 0, 2, gemm.FromC, nil)
	for i := range k.m {
		k.activate(0, gates[i*ld:][:2*h])
	}
	if n.resetAfter {
		start := gemm.FromZero
		if k.bias != nil {
			start = gemm.FromCols
		}
		k.multiply(k.h, k.room, h, 2, 3, start, k.bias)
		for i := range k.m {
			g := gates[i*ld:]
			n.fn.MulAdd(g[2*h:3*h], g[h:2*h], k.room[i*h:][:h], g[2*h:3*h])
		}
	} else {
		for i := range k.m {
			n.fn.VV[vec.Mul](k.room[i*h:][:h], gates[i*ld+h:][:h], k.h[i*h:][:h])
		}
		k.multiply(k.room, gates[2*h:], ld, 2, 3, gemm.FromC, nil)
	}
	for i := range k.m {
		update, fresh, state := gates[i*ld:][:h], gates[i*ld+2*h:][:h], k.h[i*h:][:h]
		k.activate(1, fresh)
		n.fn.VV[vec.Mul](state, update, state)
		n.fn.Unary[vec.Affine](update, update, -1, 1)
		n.fn.MulAdd(state, update, fresh, state)
	}
}

// stepLSTM has the gates input, output, forget and cell, in this order; peepholes look from the
// cell into the first three.
func (k *task) stepLSTM(gates []float32, ld int) {
	n := k.n
	h := n.hidden
	k.multiply(k.h, gates, ld, 0, 4, gemm.FromC, nil)
	for i := range k.m {
		g, cell, state := gates[i*ld:][:4*h], k.cells[i*h:][:h], k.h[i*h:][:h]
		in, out, forget, fresh := g[:h], g[h:2*h], g[2*h:3*h], g[3*h:]
		if k.peep == nil {
			k.activate(0, g[:3*h])
		} else {
			n.fn.MulAdd(in, k.peep[:h], cell, in)
			n.fn.MulAdd(forget, k.peep[2*h:], cell, forget)
			k.activate(0, in)
			k.activate(0, forget)
		}
		if n.coupled {
			n.fn.Unary[vec.Affine](forget, in, -1, 1)
		}
		k.activate(1, fresh)
		n.fn.VV[vec.Mul](fresh, in, fresh)
		n.fn.MulAdd(cell, forget, cell, fresh)
		if k.peep != nil {
			n.fn.MulAdd(out, k.peep[h:2*h], cell, out)
			k.activate(0, out)
		}
		a := &n.acts[k.dir][2]
		n.fn.Unary[a.f](fresh, cell, a.a, a.b)
		n.fn.VV[vec.Mul](state, out, fresh)
	}
}
