package attention

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// heads is a query, key or value tensor, seen as [batch, heads, length, size].
type heads struct {
	batch, heads, length, size int
	// per batch, head and place: how far apart neighbours are.
	perBatch, perHead, perPlace int
}

// headsOf reads a shape of four dimensions, [batch, heads, length, size], or of three, [batch,
// length, heads·size].
func headsOf(s tensor.Shape, n int64) (h heads, ok bool) {
	switch {
	case len(s) == 4:
		h = heads{batch: int(s[0]), heads: int(s[1]), length: int(s[2]), size: int(s[3])}
		h.perPlace, h.perHead = h.size, h.size*h.length
		h.perBatch = h.perHead * h.heads
		return h, true
	case len(s) == 3 && n > 0 && s[2]%n == 0:
		h = heads{batch: int(s[0]), heads: int(n), length: int(s[1]), size: int(s[2] / n)}
		h.perHead, h.perPlace = h.size, h.size*h.heads
		h.perBatch = h.perPlace * h.length
		return h, true
	}
	return h, false
}

// matrix returns the tensor's matrices for leading dimensions batch, key's head and query's head
// among those that share the key's.
func (h *heads) matrix(input, kvHeads int) matrix {
	group := h.heads / kvHeads
	m := matrix{input: input, row: h.perPlace, col: 1, lead: steps{h.perBatch, h.perHead * group, h.perHead}}
	if group == 1 {
		m.lead[2] = 0
	}
	return m
}

// Attention returns the kernels for Attention on float32 that does not have to give its scores.
func Attention(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	for _, i := range []int{0, 1, 2, 4, 5} {
		if a := o.Arg(i); (i < 3 || a.Present()) && (a.DType != tensor.Float32 || a.Shape == nil) {
			return nil, nil
		}
	}
	if len(o.Out) > 3 && o.Out[3].Present() || o.Out[0].Shape == nil {
		return nil, nil
	}
	a, ok := attentionOf(o)
	if !ok || !a.readMask(o) {
		return nil, nil
	}
	c := a.candidate(l, o)
	c.Kernel = withPresent(c.Kernel, o, a)
	return []backend.Candidate{c}, nil
}

func attentionOf(o *backend.Op) (*attention, bool) {
	attrs := &o.Node.Attrs
	qHeads, kvHeads := attrs.Int("q_num_heads", 0), attrs.Int("kv_num_heads", 0)
	q, ok := headsOf(o.In[0].Shape, qHeads)
	k, kok := headsOf(o.In[1].Shape, kvHeads)
	v, vok := headsOf(o.In[2].Shape, kvHeads)
	y, yok := headsOf(o.Out[0].Shape, qHeads)
	if !ok || !kok || !vok || !yok || k.heads == 0 || q.heads%k.heads != 0 || v.heads != k.heads || k.batch != q.batch ||
		v.batch != q.batch || v.length != k.length || k.size != q.size || q.size == 0 {
		return nil, false
	}
	a := &attention{rows: q.length, keys: k.length, size: q.size, width: v.size, valid: -1, zeros: true,
		causal: attrs.Int("is_causal", 0) != 0, limit: attrs.Float("softcap", 0)}
	a.dims = steps{q.batch, k.heads, q.heads / k.heads, 1}
	a.units = q.batch * q.heads
	a.q, a.y = q.matrix(0, k.heads), y.matrix(0, k.heads)
	a.segments[1] = segment{n: k.length, k: k.matrix(1, k.heads), v: v.matrix(2, k.heads)}
	if pk, pv := o.Arg(4), o.Arg(5); pk.Present() || pv.Present() {
		pastK, _ := headsOf(pk.Shape, 0)
		pastV, _ := headsOf(pv.Shape, 0)
		if len(pk.Shape) != 4 || len(pv.Shape) != 4 || pastK.length != pastV.length || pastK.heads != k.heads ||
			pastV.heads != k.heads || pastK.size != k.size || pastV.size != v.size {
			return nil, false
		}
		a.past, a.cached = pastK.length, true
		a.keys += a.past
		a.segments[0] = segment{n: a.past, k: pastK.matrix(4, k.heads), v: pastV.matrix(5, k.heads)}
	}
	a.scale = attrs.Float("scale", float32(1/math.Sqrt(float64(q.size))))
	if o.Arg(6).Present() {
		a.valid = 6
	}
	return a, true
}

// readMask finds where the mask is; false when it is of another kind.
func (a *attention) readMask(o *backend.Op) bool {
	a.mask.input = -1
	m := o.Arg(3)
	if !m.Present() {
		return true
	}
	a.mask.bools = m.DType == tensor.Bool
	if !a.mask.bools && m.DType != tensor.Float32 || m.Shape == nil {
		return false
	}
	qHeads := a.dims[1] * a.dims[2]
	full := tensor.Shape{int64(a.dims[0]), int64(qHeads), int64(a.rows), int64(a.keys)}
	a.mask.keys = a.keys
	if n := len(m.Shape); n > 0 && m.Shape[n-1] < full[3] && (o.Node.Version >= 24 || m.Shape[n-1] != 1) {
		a.mask.keys = int(m.Shape[n-1])
		full[3] = m.Shape[n-1]
	}
	s, ok := spread(m.Shape, full)
	if !ok {
		return false
	}
	a.mask.matrix = matrix{input: 3, row: s[2], col: s[3], lead: steps{s[0], s[1] * a.dims[2], s[1]}}
	return true
}

// spread returns the steps with which a dense tensor is read when it is broadcast to a shape.
func spread(from, to tensor.Shape) (s []int, ok bool) {
	base := len(to) - len(from)
	if base < 0 {
		return nil, false
	}
	s = make([]int, len(to))
	step := 1
	for i := len(from) - 1; i >= 0; i-- {
		switch from[i] {
		case to[base+i]:
			if from[i] != 1 {
				s[base+i] = step
			}
		case 1:
		default:
			return nil, false
		}
		step *= int(from[i])
	}
	return s, true
}

// withPresent runs a kernel after writing the past and the new keys and values, one behind the
// other, to the outputs that the node has for them.
func withPresent(k backend.Kernel, o *backend.Op, a *attention) backend.Kernel {
	if len(o.Out) < 2 {
		return k
	}
	pairs := a.dims[0] * a.dims[1]
	task := func(c *backend.Call, i, _ int) {
		for out := 1; out <= 2; out++ {
			if out < len(c.Out) && len(c.Out[out].Data) > 0 {
				a.present(c, out, i)
			}
		}
	}
	return func(c *backend.Call) error {
		c.Par(pairs, task)
		return k(c)
	}
}

// present writes the keys (out 1) or values (out 2) of one batch and head.
func (a *attention) present(c *backend.Call, out, i int) {
	width := a.size
	if out == 2 {
		width = a.width
	}
	y := floats(&c.Out[out])[i*a.keys*width:]
	for s := range a.segments {
		m := &a.segments[s].k
		if out == 2 {
			m = &a.segments[s].v
		}
		n := a.segments[s].n
		if n == 0 {
			continue
		}
		from := floats(&c.In[m.input])[i/a.dims[1]*m.lead[0]+i%a.dims[1]*m.lead[1]:]
		for j := range n {
			copy(y[j*width:][:width], from[j*m.row:])
		}
		y = y[n*width:]
	}
}
