package ref

import (
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

var attentionKernels = []entry{
	{op: "Attention", types: []types{floats, floats, floats, floats | bools, floats, floats, setOf(tensor.Int64)},
		make: makeAttention},
	{op: "RotaryEmbedding", types: []types{floats, floats, floats, setOf(tensor.Int64)}, make: asFloat32(makeRotary)},
}

// layout is where the vectors of a query, key or value tensor lie: the one of a batch entry, a
// head and a position begins at their sum of products with the steps.
type layout struct {
	batch, heads, length, size     int
	stepBatch, stepHead, stepPlace int
}

func (l *layout) at(b, h, i int) int { return b*l.stepBatch + h*l.stepHead + i*l.stepPlace }

// layoutOf reads a shape of four dimensions, [batch, heads, length, size], or of three, [batch,
// length, heads·size].
func layoutOf(name string, s tensor.Shape, heads int64) (layout, error) {
	switch {
	case len(s) == 4:
		l := layout{batch: int(s[0]), heads: int(s[1]), length: int(s[2]), size: int(s[3])}
		l.stepPlace, l.stepHead = l.size, l.size*l.length
		l.stepBatch = l.stepHead * l.heads
		return l, nil
	case len(s) == 3 && heads > 0 && s[2]%heads == 0:
		l := layout{batch: int(s[0]), heads: int(heads), length: int(s[1]), size: int(s[2] / heads)}
		l.stepHead, l.stepPlace = l.size, l.size*l.heads
		l.stepBatch = l.stepPlace * l.length
		return l, nil
	}
	return layout{}, fmt.Errorf("%s: got shape %v, want [batch,heads,length,size] or [batch,length,%d·size]",
		name, s, heads)
}

// attention is a prepared Attention.
type attention struct {
	q, k, v, y layout
	// past keys come before the new ones; total counts both.
	past, total int
	scale, cap  float64
	causal      bool
	mode        int64
	mask        steps
	// maskLen is how many keys the mask speaks of; the others are masked. bools says that the
	// mask has truth values, not numbers to add.
	maskLen int
	bools   bool
}

func makeAttention(o *backend.Op) (prepared, error) {
	if err := sameType(o, 0, 1, 2, 4, 5); err != nil {
		return prepared{}, err
	}
	a, err := attentionOf(o)
	if err != nil {
		return prepared{}, err
	}
	if err := a.readMask(o); err != nil {
		return prepared{}, err
	}
	return asFloat32(func(o *backend.Op) (prepared, error) {
		p := prepared{run: attend[float32](a), scratch: int64(a.total+a.v.size) * 8}
		if o.In[0].DType == tensor.Float64 {
			p.run = attend[float64](a)
		}
		return p, nil
	})(o)
}

func attentionOf(o *backend.Op) (*attention, error) {
	attrs := o.Node.Attrs
	qHeads, kvHeads := attrs.Int("q_num_heads", 0), attrs.Int("kv_num_heads", 0)
	a := &attention{causal: attrs.Int("is_causal", 0) != 0, mode: attrs.Int("qk_matmul_output_mode", 0),
		cap: float64(attrs.Float("softcap", 0))}
	for i, at := range []*layout{&a.q, &a.k, &a.v} {
		n := kvHeads
		if i == 0 {
			n = qHeads
		}
		l, err := layoutOf([]string{"Q", "K", "V"}[i], o.In[i].Shape, n)
		if err != nil {
			return nil, err
		}
		*at = l
	}
	if a.k.batch != a.q.batch || a.v.batch != a.q.batch || a.k.size != a.q.size || a.v.length != a.k.length ||
		a.k.heads != a.v.heads || a.k.heads == 0 || a.q.heads%a.k.heads != 0 {
		return nil, fmt.Errorf("Q, K and V: got shapes %v, %v and %v, want ones that fit each other",
			o.In[0].Shape, o.In[1].Shape, o.In[2].Shape)
	}
	a.total = a.k.length
	if pk, pv := o.Arg(4), o.Arg(5); pk.Present() || pv.Present() {
		if len(pk.Shape) != 4 || len(pv.Shape) != 4 {
			return nil, fmt.Errorf("past_key and past_value: got shapes %v and %v, want 4 dimensions", pk.Shape, pv.Shape)
		}
		a.past = int(pk.Shape[2])
		a.total += a.past
		wantK := tensor.Shape{int64(a.k.batch), int64(a.k.heads), int64(a.past), int64(a.k.size)}
		wantV := tensor.Shape{int64(a.v.batch), int64(a.v.heads), int64(a.past), int64(a.v.size)}
		if !pk.Shape.Equal(wantK) || !pv.Shape.Equal(wantV) {
			return nil, fmt.Errorf("past_key and past_value: got shapes %v and %v, want %v and %v",
				pk.Shape, pv.Shape, wantK, wantV)
		}
	}
	a.scale = float64(attrs.Float("scale", 0))
	if attrs.Get("scale") == nil {
		a.scale = 1 / math.Sqrt(float64(a.q.size))
	}
	var err error
	a.y, err = layoutOf("Y", o.Out[0].Shape, qHeads)
	return a, err
}

// readMask checks the mask and the lengths. A mask speaks of the first keys, all or (from
// version 24 on) fewer; its outer dimensions are spread over batch, heads and queries.
func (a *attention) readMask(o *backend.Op) error {
	if n := o.Arg(6); n.Present() && count(n.Shape) != a.q.batch {
		return fmt.Errorf("nonpad_kv_seqlen: got shape %v, want [%d]", n.Shape, a.q.batch)
	}
	m := o.Arg(3)
	if !m.Present() {
		return nil
	}
	full := tensor.Shape{int64(a.q.batch), int64(a.q.heads), int64(a.q.length), int64(a.total)}
	a.maskLen, a.bools = a.total, m.DType == tensor.Bool
	if n := len(m.Shape); n > 0 && m.Shape[n-1] < full[3] && (o.Node.Version >= 24 || m.Shape[n-1] != 1) {
		a.maskLen = int(m.Shape[n-1])
		full[3] = m.Shape[n-1]
	}
	if err := checkSpread(m.Shape, full); err != nil {
		return fmt.Errorf("attn_mask: %w", err)
	}
	a.mask = spread(m.Shape, full)
	return nil
}

func attend[T wholeFloat](a *attention) backend.Kernel {
	return func(c *backend.Call) error {
		keepPresent[T](c, 1, 4, &a.k, a.past)
		keepPresent[T](c, 2, 5, &a.v, a.past)
		q, y, raw := elems[T](&c.In[0]), elems[T](&c.Out[0]), tensor.Cast[T](outData(c, 3))
		scratch := tensor.Cast[float64](c.Scratch)
		scores, sum := scratch[:a.total], scratch[a.total:a.total+a.v.size]
		for b := range a.q.batch {
			for h := range a.q.heads {
				for i := range a.q.length {
					var keep []T
					if len(raw) > 0 {
						at := ((b*a.q.heads+h)*a.q.length + i) * a.total
						keep = raw[at : at+a.total]
					}
					from := a.q.at(b, h, i)
					attendKeys(a, c, q[from:from+a.q.size], scores, keep, b, h, i)
					attendValues[T](a, c, sum, scores, b, h)
					to := a.y.at(b, h, i)
					round(y[to:to+a.v.size], sum, true)
				}
			}
		}
		return nil
	}
}

// keepPresent writes the past and the new keys or values, one behind the other, if the node has
// an output for them.
func keepPresent[T wholeFloat](c *backend.Call, output, past int, l *layout, n int) {
	y := tensor.Cast[T](outData(c, output))
	if len(y) == 0 {
		return
	}
	for k := range l.batch * l.heads * (n + l.length) {
		bh, i := k/(n+l.length), k%(n+l.length)
		copy(y[k*l.size:(k+1)*l.size], vectorAt[T](c, output, past, l, n, bh/l.heads, bh%l.heads, i))
	}
}

// vectorAt returns key or value i, counted from the past on.
func vectorAt[T wholeFloat](c *backend.Call, input, past int, l *layout, n, b, h, i int) []T {
	if i < n {
		at := ((b*l.heads+h)*n + i) * l.size
		return elems[T](&c.In[past])[at : at+l.size]
	}
	at := l.at(b, h, i-n)
	return elems[T](&c.In[input])[at : at+l.size]
}

// attendKeys turns a query into how much of each value it takes. keep, unless it is nil, gets
// the scores of the stage that the node asks for: 0 as computed, 1 capped, 2 masked, 3 normalised.
func attendKeys[T wholeFloat](a *attention, c *backend.Call, q []T, scores []float64, keep []T, b, h, i int) {
	kv := h / (a.q.heads / a.k.heads)
	for j := range scores {
		sum := 0.0
		for d, k := range vectorAt[T](c, 1, 4, &a.k, a.past, b, kv, j) {
			sum += float64(q[d]) * float64(k)
		}
		scores[j] = sum * a.scale
	}
	round(keep, scores, a.mode == 0)
	if a.cap > 0 {
		for j, s := range scores {
			scores[j] = a.cap * math.Tanh(s/a.cap)
		}
	}
	round(keep, scores, a.mode == 1)
	a.addMask(c, scores, b, h, i)
	round(keep, scores, a.mode == 2)
	normalise(scores)
	round(keep, scores, a.mode == 3)
}

func round[T wholeFloat](dst []T, src []float64, now bool) {
	if !now || dst == nil {
		return
	}
	for i, v := range src {
		dst[i] = T(v)
	}
}

// addMask adds the mask and takes out what lies in the future or in the padding. With causal
// order, the last query is at the position of the last key: of those that count, when their
// number is given and there is no past.
func (a *attention) addMask(c *backend.Call, scores []float64, b, h, i int) {
	last, valid := a.total, a.total
	if fed(c, 6) {
		n := min(max(intAt(&c.In[6], b), 0), int64(a.total))
		valid = int(n)
	}
	if a.causal {
		last = i + a.past + 1
		if fed(c, 6) && !fed(c, 4) {
			last = i + valid - a.q.length + 1
		}
	}
	base := b*a.mask[0] + h*a.mask[1] + i*a.mask[2]
	for j := range scores {
		switch {
		case j >= last || j >= valid:
			scores[j] = math.Inf(-1)
		case len(c.In) < 4 || c.In[3].DType == tensor.Undefined:
		case j >= a.maskLen:
			scores[j] = math.Inf(-1)
		case a.bools:
			if c.In[3].Data[base+j*a.mask[3]] == 0 {
				scores[j] = math.Inf(-1)
			}
		default:
			scores[j] += floatAt(c.In[3].DType, c.In[3].Data, base+j*a.mask[3])
		}
	}
}

// normalise is softmax; what is masked altogether gives zeros.
func normalise(scores []float64) {
	m := math.Inf(-1)
	for _, s := range scores {
		m = max(m, s)
	}
	if math.IsInf(m, -1) {
		clear(scores)
		return
	}
	sum := 0.0
	for j, s := range scores {
		scores[j] = math.Exp(s - m)
		sum += scores[j]
	}
	for j := range scores {
		scores[j] /= sum
	}
}

// attendValues sums the values, each times its score.
func attendValues[T wholeFloat](a *attention, c *backend.Call, sum, scores []float64, b, h int) {
	kv := h / (a.q.heads / a.k.heads)
	clear(sum)
	for j, s := range scores {
		if s == 0 {
			continue
		}
		for d, v := range vectorAt[T](c, 2, 5, &a.v, a.past, b, kv, j) {
			sum[d] += s * float64(v)
		}
	}
}

// rotary is a prepared RotaryEmbedding: the first 2·half elements of each vector are pairs that
// are turned by an angle whose cosine and sine lie in rows of width elements.
type rotary struct {
	layout
	half, width, rows int
	interleaved       bool
}

func makeRotary(o *backend.Op) (prepared, error) {
	l, err := layoutOf("X", o.In[0].Shape, o.Node.Attrs.Int("num_heads", 0))
	if err != nil {
		return prepared{}, err
	}
	if err := sameType(o, 0, 1, 2); err != nil {
		return prepared{}, err
	}
	n := o.Node.Attrs.Int("rotary_embedding_dim", 0)
	if n == 0 {
		n = int64(l.size)
	}
	cos, ids := o.In[1].Shape, o.Arg(3)
	r := &rotary{layout: l, half: int(n / 2), interleaved: o.Node.Attrs.Int("interleaved", 0) != 0}
	wantRank := 3
	if ids.Present() {
		wantRank = 2
	}
	if n < 0 || n > int64(l.size) || n%2 != 0 || len(cos) != wantRank || !cos.Equal(o.In[2].Shape) ||
		cos[len(cos)-1] < n/2 || ids.Present() && count(ids.Shape) != l.batch*l.length ||
		!ids.Present() && count(cos[:2]) != l.batch*l.length {
		return prepared{}, fmt.Errorf("cos_cache and sin_cache: got shapes %v and %v for %d of %d elements of X %v",
			cos, o.In[2].Shape, n, l.size, o.In[0].Shape)
	}
	r.width, r.rows = int(cos[len(cos)-1]), count(cos[:len(cos)-1])
	if o.In[0].DType == tensor.Float64 {
		return run(rotate[float64](r))
	}
	return run(rotate[float32](r))
}

func rotate[T wholeFloat](r *rotary) backend.Kernel {
	return func(c *backend.Call) error {
		x, y := elems[T](&c.In[0]), elems[T](&c.Out[0])
		cos, sin := elems[T](&c.In[1]), elems[T](&c.In[2])
		copy(y, x)
		for k := range r.batch * r.length {
			row := k
			if fed(c, 3) {
				id := intAt(&c.In[3], k)
				if id < 0 || id >= int64(r.rows) {
					return fmt.Errorf("position_ids: element %d: got %d, want one in [0, %d]", k, id, r.rows-1)
				}
				row = int(id)
			}
			for h := range r.heads {
				at := r.at(k/r.length, h, k%r.length)
				for i := range r.half {
					p, q := at+i, at+r.half+i
					if r.interleaved {
						p, q = at+2*i, at+2*i+1
					}
					a, b := float64(y[p]), float64(y[q])
					co, si := float64(cos[row*r.width+i]), float64(sin[row*r.width+i])
					y[p], y[q] = T(co*a-si*b), T(si*a+co*b)
				}
			}
		}
		return nil
	}
}
