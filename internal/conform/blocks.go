package conform

import (
	"hash/fnv"
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// Blocks is a backend whose kernels also come in blocked layouts: those of another backend, with
// copies around them. Which operands are in blocks, and what kernels are said to cost, is a matter
// of Seed and of the node's name: it is for tests of plans.
type Blocks struct {
	backend.Backend
	Block backend.Layout
	Seed  uint64
}

// junk is what is written where no channel is: a large finite number as a float32.
var junk = [4]byte{0x5a, 0x5a, 0x5a, 0x5a}

// Candidates returns the other backend's kernels, and up to two variants of the first of them.
func (b Blocks) Candidates(o *backend.Op) ([]backend.Candidate, error) {
	cands, err := b.Backend.Candidates(o)
	dynamic := func(a backend.Arg) bool { return a.Present() && a.Shape == nil }
	if err != nil || len(cands) == 0 || slices.ContainsFunc(o.Out, dynamic) {
		return cands, err
	}
	h := b.hash(o.Node.Op + o.Node.Name)
	for i := range cands {
		cands[i].Stream = 0.1 + float64(h%7)/7
		if b.Seed%2 == 0 && (o.Node.Op == "Concat" || o.Node.Op == "Split") {
			// Copies at this price make plans do without.
			cands[i].Extra.Bytes = 1e9
		}
	}
	for i := range 2 {
		h = h*6364136223846793005 + 1442695040888963407
		if c, ok := b.variant(o, &cands[0], h>>20, i == 0); ok {
			cands = append(cands, c)
		}
	}
	return cands, nil
}

func (b Blocks) hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64() ^ b.Seed*0x9e3779b97f4a7c15
}

// variant is a kernel whose operands are in blocks where they can be: all of them, or some.
func (b Blocks) variant(o *backend.Op, of *backend.Candidate, h uint64, all bool) (backend.Candidate, bool) {
	v := *of
	v.Name, v.Stream = of.Name+".blocks", 0.1+float64(h%5)/3
	pick := func(args []backend.Arg) []backend.Layout {
		ls := make([]backend.Layout, len(args))
		for i := range args {
			h /= 2
			if a := &args[i]; a.Present() && a.Const == nil && b.Block.Fits(a.DType, a.Shape) && (all || h%2 == 0) {
				ls[i] = b.Block
			}
		}
		return ls
	}
	v.In, v.Out = pick(o.In), pick(o.Out)
	kernel := of.Kernel
	v.Kernel = func(c *backend.Call) error {
		plain := backend.Call{In: make([]backend.View, len(c.In)), Out: make([]backend.View, len(c.Out)), Place: c.Place,
			Team: c.Team, Scratch: c.Scratch}
		for i := range c.In {
			plain.In[i] = unblocked(c.In[i], v.In[i])
		}
		for i := range c.Out {
			plain.Out[i] = c.Out[i]
			if v.Out[i] != backend.RowMajor {
				plain.Out[i].Data = make([]byte, backend.RowMajor.Bytes(c.Out[i].DType, c.Out[i].Shape))
			}
		}
		if err := kernel(&plain); err != nil {
			return err
		}
		for i := range c.Out {
			if v.Out[i] != backend.RowMajor {
				pack(c.Out[i].Data, plain.Out[i].Data, &c.Out[i], v.Out[i])
			}
		}
		return nil
	}
	return v, !v.RowMajor()
}

func unblocked(v backend.View, l backend.Layout) backend.View {
	if l == backend.RowMajor {
		return v
	}
	data := make([]byte, backend.RowMajor.Bytes(v.DType, v.Shape))
	unpack(data, v.Data, &v, l)
	v.Data = data
	return v
}

// Reorder implements backend.Reorderer.
func (b Blocks) Reorder(dt tensor.DType, s tensor.Shape, from, to backend.Layout, _ int) (backend.Candidate, bool) {
	if !max(from, to).Fits(dt, s) {
		return backend.Candidate{}, false
	}
	return backend.Candidate{Name: "reorder", Source: "go", Stream: 0.5, Kernel: func(c *backend.Call) error {
		if to == backend.RowMajor {
			unpack(c.Out[0].Data, c.In[0].Data, &c.In[0], from)
		} else {
			pack(c.Out[0].Data, c.In[0].Data, &c.In[0], to)
		}
		return nil
	}}, true
}

// pack writes a row-major tensor in blocks, with junk where no channel is.
func pack(dst, src []byte, v *backend.View, l backend.Layout) {
	for i := range dst {
		dst[i] = junk[i%len(junk)]
	}
	walk(v, l, func(row, blk, n int64) { copy(dst[blk:blk+n], src[row:row+n]) })
}

func unpack(dst, src []byte, v *backend.View, l backend.Layout) {
	walk(v, l, func(row, blk, n int64) { copy(dst[row:row+n], src[blk:blk+n]) })
}

// walk calls f with the byte offsets of each element in both orders.
func walk(v *backend.View, l backend.Layout, f func(row, blk, n int64)) {
	size := int64(v.DType.Bits() / 8)
	inner, _ := v.Shape[2:].Elements()
	channels, block := v.Shape[1], int64(l)
	for n := range v.Shape[0] {
		for ch := range channels {
			for x := range inner {
				row := (n*channels+ch)*inner + x
				blk := ((n*((channels+block-1)/block)+ch/block)*inner+x)*block + ch%block
				f(row*size, blk*size, size)
			}
		}
	}
}
