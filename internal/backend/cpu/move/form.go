package move

import (
	"github.com/stowage-ml/stowage/internal/backend"
	inner "github.com/stowage-ml/stowage/internal/simd/move"
	"github.com/stowage-ml/stowage/tensor"
)

// form says where the elements of an operand are.
type form struct {
	shape tensor.Shape
	// strides are by axis; that of the channels does not count in blocks.
	strides []int
	// block is 0 in row-major order, else blocks of that many channels are apart from each other.
	block, apart int
}

// formOf returns the form of an operand in a layout; ok is false when it cannot have it.
func formOf(a *backend.Arg, l backend.Layout) (f form, ok bool) {
	s := a.Shape
	f = form{shape: s, strides: make([]int, len(s)), block: int(l)}
	if !l.Fits(a.DType, s) {
		return f, false
	}
	stride := max(1, int(l))
	for i := len(s) - 1; i >= 0; i-- {
		f.strides[i] = stride
		if i == 1 && l > 0 {
			f.apart = stride
			stride *= (int(s[1]) + int(l) - 1) / int(l)
			continue
		}
		stride *= int(s[i])
	}
	return f, true
}

// at returns where an index of a side lies, and how far steps along it go.
func (f *form) at(s side) (at, step int) {
	if s.axis < 0 {
		return 0, 0
	}
	return s.off * f.strides[s.axis], s.step * f.strides[s.axis]
}

// splits reports whether a side runs along channels in blocks.
func (f *form) splits(s side) bool { return f.block > 0 && s.axis == 1 }

// channel returns where channel i of a side is, and how far the next one of its block is.
func (f *form) channel(s side, i int) (at, step int) {
	if !f.splits(s) {
		at, step = f.at(s)
		return at + i*step, step
	}
	c := s.off + i
	return c/f.block*f.apart + c%f.block, 1
}

// left returns how many channels there are from channel i of a side to the end of its block; n where
// there are no blocks.
func (f *form) left(s side, i, n int) int {
	if !f.splits(s) {
		return n
	}
	return f.block - (s.off+i)%f.block
}

// padding returns the box of the places that stand for no channel, to be filled; nil for none.
func (f *form) padding() *inner.Box {
	if f.block == 0 || int(f.shape[1])%f.block == 0 {
		return nil
	}
	used := int(f.shape[1]) % f.block
	dims := []inner.Dim{{N: f.block - used, Dst: 1}}
	for i, n := range f.shape {
		if i != 1 {
			dims = append(dims, inner.Dim{N: int(n), Dst: f.strides[i]})
		}
	}
	return inner.NewBox(dims, int(f.shape[1])/f.block*f.apart+used, 0)
}

// boxesOf returns the boxes of a move; ok is false when it goes along channels in blocks in a way
// that boxes cannot.
func boxesOf(dims []dim, dst, src form) (out []*inner.Box, ok bool) {
	var rest []inner.Dim
	dstAt, srcAt, channels := 0, 0, -1
	for i, d := range dims {
		if dst.splits(d.dst) || src.splits(d.src) {
			if channels >= 0 || dst.splits(d.dst) && d.dst.step != 1 || src.splits(d.src) && d.src.step != 1 {
				return nil, false
			}
			channels = i
			continue
		}
		to, dstStep := dst.at(d.dst)
		from, srcStep := src.at(d.src)
		dstAt += to
		srcAt += from
		rest = append(rest, inner.Dim{N: d.n, Dst: dstStep, Src: srcStep})
	}
	if channels < 0 {
		return []*inner.Box{inner.NewBox(rest, dstAt, srcAt)}, true
	}
	for _, p := range pieces(dims[channels], &dst, &src) {
		box := append(rest[:len(rest):len(rest)], inner.Dim{N: p.n, Dst: p.dstStep, Src: p.srcStep},
			inner.Dim{N: p.times, Dst: p.dstNext, Src: p.srcNext})
		out = append(out, inner.NewBox(box, dstAt+p.dst, srcAt+p.src))
	}
	return out, true
}

// piece is n channels that lie within one block on either side, and recur.
type piece struct {
	n, dst, src, dstStep, srcStep int
	times, dstNext, srcNext       int
}

// pieces cuts a run along channels at the borders of blocks, and puts what recurs together.
func pieces(d dim, dst, src *form) []piece {
	var out []piece
	for i := 0; i < d.n; {
		p := piece{n: min(d.n-i, dst.left(d.dst, i, d.n), src.left(d.src, i, d.n)), times: 1}
		p.dst, p.dstStep = dst.channel(d.dst, i)
		p.src, p.srcStep = src.channel(d.src, i)
		if !recurs(out, &p) {
			out = append(out, p)
		}
		i += p.n
	}
	return out
}

// recurs counts p as one more of one of the last two pieces, if it goes on where they recur.
func recurs(out []piece, p *piece) bool {
	for i := max(0, len(out)-2); i < len(out); i++ {
		q := &out[i]
		to, from := p.dst-q.dst, p.src-q.src
		if q.n != p.n || q.times > 1 && (to != q.times*q.dstNext || from != q.times*q.srcNext) {
			continue
		}
		if q.times == 1 {
			q.dstNext, q.srcNext = to, from
		}
		q.times++
		return true
	}
	return false
}
