package ref

import (
	"math"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// TestAttentionSeesWhatItMay asks with zero queries, which take the mean of the values they see.
func TestAttentionSeesWhatItMay(t *testing.T) {
	q, k := ten[float32](sh(1, 1, 2, 1), 0, 0), ten[float32](sh(1, 1, 3, 1), 1, 2, 3)
	v := ten[float32](sh(1, 1, 3, 1), 3, 6, 12)
	rows := func(a, b float32) *tensor.Tensor { return ten(sh(1, 1, 2, 1), a, b) }
	past := ten[float32](sh(1, 1, 1, 1), 9)
	causal := attrInt("is_causal", 1)
	ninf := -inf
	for _, c := range []struct {
		name string
		n    *graph.Node
		in   []*tensor.Tensor
		want *tensor.Tensor
	}{
		{"everything", node("Attention"), nil, rows(7, 7)},
		{"the past", node("Attention", causal), nil, rows(3, 4.5)},
		{"a cache before it", node("Attention", causal), []*tensor.Tensor{nil, past, past}, rows(6, 6)},
		{"what a mask leaves", node("Attention"), []*tensor.Tensor{ten(sh(2, 3), true, false, true, false, false, false)},
			rows(7.5, 0)},
		{"what is not infinitely far", node("Attention"), []*tensor.Tensor{ten(sh(1, 3), 0, ninf, ninf)}, rows(3, 3)},
		{"one mask for all keys, before 24", at(23, node("Attention")), []*tensor.Tensor{ten(sh(2, 1), true, false)},
			rows(7, 0)},
		{"keys beyond a short mask", node("Attention"), []*tensor.Tensor{ten(sh(1, 2), true, true)}, rows(4.5, 4.5)},
		{"keys that are no padding", node("Attention"), []*tensor.Tensor{nil, nil, nil, tensor.Of[int64](1)}, rows(3, 3)},
		{"the end of a cache in place", node("Attention", causal), []*tensor.Tensor{nil, nil, nil, tensor.Of[int64](3)},
			rows(4.5, 7)},
		{"no key at all", node("Attention"), []*tensor.Tensor{nil, nil, nil, tensor.Of[int64](-4)}, rows(0, 0)},
		{"no more keys than there are", node("Attention"), []*tensor.Tensor{nil, nil, nil, tensor.Of[int64](400)},
			rows(7, 7)},
	} {
		t.Run(c.name, func(t *testing.T) {
			same(t, runNode(t, c.n, append([]*tensor.Tensor{q, k, v}, c.in...)...)[0], c.want, 1e-6)
		})
	}
}

func TestAttentionKeepsScoresAndCache(t *testing.T) {
	q, k := ten[float32](sh(1, 1, 4), 2, 0, 0, 2), ten[float32](sh(1, 2, 2), 1, 0, 0, 1)
	v := ten[float32](sh(1, 2, 1), 10, 20)
	past := ten[float32](sh(1, 1, 1, 2), 0, 0)
	pastV := ten[float32](sh(1, 1, 1, 1), 5)
	mask := ten[float32](sh(1, 3), 0, 1, -inf)
	scores := func(mode int64) *tensor.Tensor {
		n := node("Attention", attrInt("q_num_heads", 2), attrInt("kv_num_heads", 1), attrFloat("scale", 0.5),
			attrFloat("softcap", 2), attrInt("qk_matmul_output_mode", mode))
		got := runNode(t, outs(4, n), q, k, v, mask, past, pastV)
		same(t, got[1], ten[float32](sh(1, 1, 3, 2), 0, 0, 1, 0, 0, 1), 0)
		same(t, got[2], ten[float32](sh(1, 1, 3, 1), 5, 10, 20), 0)
		return got[3]
	}
	capped := float32(2 * math.Tanh(0.5))
	same(t, scores(0), ten[float32](sh(1, 2, 1, 3), 0, 1, 0, 0, 0, 1), 1e-6)
	same(t, scores(1), ten(sh(1, 2, 1, 3), 0, capped, 0, 0, 0, capped), 1e-6)
	same(t, scores(2), ten(sh(1, 2, 1, 3), 0, capped+1, -inf, 0, 1, -inf), 1e-6)
	e, f := float32(math.Exp(float64(capped+1))), float32(math.E)
	same(t, scores(3), ten(sh(1, 2, 1, 3), 1/(1+e), e/(1+e), 0, 1/(1+f), f/(1+f), 0), 1e-6)
}

func TestAttentionLayoutsAgree(t *testing.T) {
	h := tensor.HalfOf
	q3 := ten(sh(1, 2, 2), h(1), h(2), h(3), h(4))
	q4 := ten(sh(1, 2, 2, 1), h(1), h(3), h(2), h(4))
	n3 := node("Attention", attrInt("q_num_heads", 2), attrInt("kv_num_heads", 2))
	got3 := tensor.Cast[tensor.Half](runNode(t, n3, q3, q3, q3)[0].Bytes())
	got4 := tensor.Cast[tensor.Half](runNode(t, node("Attention"), q4, q4, q4)[0].Bytes())
	same(t, tensor.Of(got3...), tensor.Of(got4[0], got4[2], got4[1], got4[3]), 0)
}

func TestAttentionRefusesWhatDoesNotFit(t *testing.T) {
	x := ten(sh(1, 2, 2, 2), make([]float32, 8)...)
	three := ten(sh(1, 3, 2, 2), make([]float32, 12)...)
	for name, in := range map[string][]*tensor.Tensor{
		"heads that do not divide": {three, x, x},
		"another length":           {x, x, ten(sh(1, 2, 1, 2), make([]float32, 4)...)},
		"another batch":            {x, ten(sh(2, 1, 2, 2), make([]float32, 8)...), ten(sh(2, 1, 2, 2), make([]float32, 8)...)},
		"no heads given":           {ten(sh(1, 2, 2), make([]float32, 4)...), x, x},
		"another type":             {x, x, ten(sh(1, 2, 2, 2), make([]float64, 8)...)},
		"half a past":              {x, x, x, nil, x},
		"a mask too wide":          {x, x, x, ten(sh(2, 3), make([]float32, 6)...)},
		"lengths for another":      {x, x, x, nil, nil, nil, tensor.Of[int64](1, 1)},
	} {
		if out, err := attempt(t, node("Attention"), in...); err == nil {
			t.Errorf("%s: got %v, want an error", name, out[0])
		}
	}
}

func TestRotaryEmbedding(t *testing.T) {
	x := ten[float32](sh(1, 1, 1, 4), 1, 2, 3, 4)
	cos, sin := ten[float32](sh(2, 2), 1, 1, 0, 0), ten[float32](sh(2, 2), 0, 0, 1, 1)
	second := ten[int64](sh(1, 1), 1)
	same(t, runNode(t, node("RotaryEmbedding"), x, cos, sin, second)[0], ten[float32](sh(1, 1, 1, 4), -3, -4, 1, 2), 0)
	same(t, runNode(t, node("RotaryEmbedding", attrInt("interleaved", 1)), x, cos, sin, second)[0],
		ten[float32](sh(1, 1, 1, 4), -2, 1, -4, 3), 0)
	same(t, runNode(t, node("RotaryEmbedding", attrInt("rotary_embedding_dim", 2)), x, cos, sin, second)[0],
		ten[float32](sh(1, 1, 1, 4), -2, 1, 3, 4), 0)
	same(t, runNode(t, node("RotaryEmbedding", attrInt("num_heads", 2)), ten[float32](sh(1, 1, 4), 1, 2, 3, 4),
		ten[float32](sh(1, 1, 1), 0), ten[float32](sh(1, 1, 1), 1))[0], ten[float32](sh(1, 1, 4), -2, 1, -4, 3), 0)
	for name, in := range map[string][]*tensor.Tensor{
		"a position outside": {x, cos, sin, ten[int64](sh(1, 1), 2)},
		"before the first":   {x, cos, sin, ten[int64](sh(1, 1), -1)},
		"no positions":       {x, cos, sin},
		"too few angles":     {x, ten[float32](sh(2, 1), 1, 1), ten[float32](sh(2, 1), 1, 1), second},
		"another sine":       {x, cos, ten[float32](sh(1, 2), 0, 0), second},
	} {
		if out, err := attempt(t, node("RotaryEmbedding"), in...); err == nil {
			t.Errorf("%s: got %s, want an error", name, show(out[0]))
		}
	}
}
