package ref

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// foldBlock is how many elements a fold takes through all operands before it writes them.
const foldBlock = 512

// folded is the make of an operator that combines any number of operands from the left, and
// divides by their number when mean is set. Elements are collected in scratch memory, a block at
// a time, so that an operand may be the output's own memory; types of two bytes are rounded
// once, at the end.
func folded(op binary, mean bool) func(*backend.Op) (prepared, error) {
	return func(o *backend.Op) (prepared, error) {
		out := o.Out[0].Shape
		reads := make([]reader, len(o.In))
		for i := range o.In {
			if err := checkSpread(o.In[i].Shape, out); err != nil {
				return prepared{}, err
			}
			reads[i] = newReader(o.In[i].Shape, out)
		}
		k := folds.of(o.In[0].DType)(foldPlan{op: op, mean: mean, reads: reads, n: count(out)})
		return prepared{run: k, scratch: 2 * foldBlock * 8}, nil
	}
}

type foldPlan struct {
	op    binary
	mean  bool
	reads []reader
	n     int
}

var folds = perType[func(foldPlan) backend.Kernel]{
	F32: foldFloat[float32], F64: foldFloat[float64],
	F16:  func(p foldPlan) backend.Kernel { return foldHalf(p, tensor.HalfOf) },
	BF16: func(p foldPlan) backend.Kernel { return foldHalf(p, tensor.BrainOf) },
	I8:   foldSigned[int8], I16: foldSigned[int16], I32: foldSigned[int32], I64: foldSigned[int64],
	U8: foldUnsigned[uint8], U16: foldUnsigned[uint16], U32: foldUnsigned[uint32], U64: foldUnsigned[uint64],
}

func foldFloat[T wholeFloat](p foldPlan) backend.Kernel {
	step := func(acc, x T) T { return T(p.op.f(float64(acc), float64(x))) }
	last := func(acc T) T { return acc }
	if p.mean {
		n := T(len(p.reads))
		last = func(acc T) T { return acc / n }
	}
	return foldBlocks(p, func(x T) T { return x }, step, last)
}

func foldHalf[T halfFloat](p foldPlan, round func(float32) T) backend.Kernel {
	step := func(acc float32, x T) float32 { return float32(p.op.f(float64(acc), float64(x.Float32()))) }
	last := round
	if p.mean {
		n := float32(len(p.reads))
		last = func(acc float32) T { return round(acc / n) }
	}
	return foldBlocks(p, func(x T) float32 { return x.Float32() }, step, last)
}

func foldSigned[T signedInt](p foldPlan) backend.Kernel {
	step := func(acc, x T) T { return T(p.op.i(int64(acc), int64(x))) }
	return foldBlocks(p, func(x T) T { return x }, step, func(acc T) T { return acc })
}

func foldUnsigned[T unsignedInt](p foldPlan) backend.Kernel {
	step := func(acc, x T) T { return T(p.op.u(uint64(acc), uint64(x))) }
	return foldBlocks(p, func(x T) T { return x }, step, func(acc T) T { return acc })
}

// foldBlocks runs a fold with an accumulator of type A over elements of type T.
func foldBlocks[A, T tensor.Element](p foldPlan, first func(T) A, step func(A, T) A, last func(A) T) backend.Kernel {
	return func(c *backend.Call) error {
		acc := tensor.Cast[A](c.Scratch[:foldBlock*8])
		buf := tensor.Cast[T](c.Scratch[foldBlock*8:])
		dst := elems[T](&c.Out[0])
		for at := 0; at < p.n; at += foldBlock {
			n := min(foldBlock, p.n-at)
			readBlock(&p.reads[0], buf[:n], elems[T](&c.In[0]), at)
			for i, x := range buf[:n] {
				acc[i] = first(x)
			}
			for k := 1; k < len(p.reads); k++ {
				readBlock(&p.reads[k], buf[:n], elems[T](&c.In[k]), at)
				for i, x := range buf[:n] {
					acc[i] = step(acc[i], x)
				}
			}
			for i, a := range acc[:n] {
				dst[at+i] = last(a)
			}
		}
		return nil
	}
}

// reader reads a tensor that is broadcast to a shape, in the row-major order of that shape.
type reader struct {
	dense bool
	walk  walk
}

func newReader(from, to tensor.Shape) reader {
	return reader{dense: count(from) == count(to), walk: newWalk(to, spread(from, to))}
}

// readBlock reads len(dst) elements that start at element at of the broadcast tensor.
func readBlock[T any](r *reader, dst, src []T, at int) {
	if r.dense {
		copy(dst, src[at:])
		return
	}
	w := &r.walk
	for i := range dst {
		pos, off := (at+i)/w.n, (at+i)%w.n*w.inner[0]
		for d := w.depth - 1; d >= 0; d-- {
			l := w.level(d)
			off += pos % l.dim * l.step[0]
			pos /= l.dim
		}
		dst[i] = src[off]
	}
}
