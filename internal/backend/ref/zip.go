package ref

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// run2 computes a run of dst from two operands, which move on by sa and sb elements for each
// element of dst.
type run2[D, T any] = func(dst []D, a, b []T, sa, sb int)

// binary is what an operator with two operands does to a pair of elements: f to floating-point
// numbers of every width, i to signed and u to unsigned integers, b to booleans. What is narrower
// than the arguments is widened before and cut off after. run32 and run64, when they are set,
// serve whole runs of float32 and int64.
type binary struct {
	f     func(a, b float64) float64
	i     func(a, b int64) int64
	u     func(a, b uint64) uint64
	b     func(a, b bool) bool
	run32 run2[float32, float32]
	run64 run2[int64, int64]
}

// kernel returns the kernel for operands of type dt that broadcast to the output's shape.
func (op binary) kernel(dt tensor.DType, a, b, out tensor.Shape) (backend.Kernel, error) {
	w, err := pairWalk(a, b, out)
	switch {
	case err != nil:
		return nil, err
	case dt == tensor.Float32 && op.run32 != nil:
		return zip(w, op.run32), nil
	case dt == tensor.Int64 && op.run64 != nil:
		return zip(w, op.run64), nil
	case floats.has(dt) && op.f != nil:
		return floatZips.of(dt)(w, op.f), nil
	case signed.has(dt) && op.i != nil:
		return signedZips.of(dt)(w, op.i), nil
	case unsigned.has(dt) && op.u != nil:
		return unsignedZips.of(dt)(w, op.u), nil
	case dt == tensor.Bool && op.b != nil:
		return zip(w, boolRun(op.b)), nil
	}
	return nil, fmt.Errorf("ref: element type: got %v, want another", dt)
}

// pairWalk plans a walk over out (operand 0) and two tensors that are broadcast to it.
func pairWalk(a, b, out tensor.Shape) (walk, error) {
	if err := checkSpread(a, out); err != nil {
		return walk{}, err
	}
	if err := checkSpread(b, out); err != nil {
		return walk{}, err
	}
	return newWalk(out, stepsOf(out), spread(a, out), spread(b, out)), nil
}

// zipped is the make of a binary operator.
func zipped(op binary) func(*backend.Op) (prepared, error) {
	return func(o *backend.Op) (prepared, error) {
		k, err := op.kernel(o.In[0].DType, o.In[0].Shape, o.In[1].Shape, o.Out[0].Shape)
		return prepared{run: k}, err
	}
}

// zip applies a run function all along a walk.
func zip[D, T tensor.Element](w walk, f run2[D, T]) backend.Kernel {
	return func(c *backend.Call) error {
		dst, a, b := elems[D](&c.Out[0]), elems[T](&c.In[0]), elems[T](&c.In[1])
		for off := range w.runs {
			f(dst[off[0]:off[0]+w.n], a[off[1]:], b[off[2]:], w.inner[1], w.inner[2])
		}
		return nil
	}
}

var floatZips = perType[func(walk, func(a, b float64) float64) backend.Kernel]{
	F32: zipFloat[float32], F64: zipFloat[float64],
	F16:  func(w walk, f func(a, b float64) float64) backend.Kernel { return zip(w, halfRun(f, tensor.HalfOf)) },
	BF16: func(w walk, f func(a, b float64) float64) backend.Kernel { return zip(w, halfRun(f, tensor.BrainOf)) },
}

var signedZips = perType[func(walk, func(a, b int64) int64) backend.Kernel]{
	I8: zipSigned[int8], I16: zipSigned[int16], I32: zipSigned[int32], I64: zipSigned[int64],
}

var unsignedZips = perType[func(walk, func(a, b uint64) uint64) backend.Kernel]{
	U8: zipUnsigned[uint8], U16: zipUnsigned[uint16], U32: zipUnsigned[uint32], U64: zipUnsigned[uint64],
}

func zipFloat[T wholeFloat](w walk, f func(a, b float64) float64) backend.Kernel {
	return zip(w, func(dst, a, b []T, sa, sb int) {
		ia, ib := 0, 0
		for i := range dst {
			dst[i] = T(f(float64(a[ia]), float64(b[ib])))
			ia, ib = ia+sa, ib+sb
		}
	})
}

func halfRun[T halfFloat](f func(a, b float64) float64, round func(float32) T) run2[T, T] {
	return func(dst, a, b []T, sa, sb int) {
		ia, ib := 0, 0
		for i := range dst {
			dst[i] = round(float32(f(float64(a[ia].Float32()), float64(b[ib].Float32()))))
			ia, ib = ia+sa, ib+sb
		}
	}
}

func zipSigned[T signedInt](w walk, f func(a, b int64) int64) backend.Kernel {
	return zip(w, func(dst, a, b []T, sa, sb int) {
		ia, ib := 0, 0
		for i := range dst {
			dst[i] = T(f(int64(a[ia]), int64(b[ib])))
			ia, ib = ia+sa, ib+sb
		}
	})
}

func zipUnsigned[T unsignedInt](w walk, f func(a, b uint64) uint64) backend.Kernel {
	return zip(w, func(dst, a, b []T, sa, sb int) {
		ia, ib := 0, 0
		for i := range dst {
			dst[i] = T(f(uint64(a[ia]), uint64(b[ib])))
			ia, ib = ia+sa, ib+sb
		}
	})
}

// boolRun works on booleans as they are stored: any byte that is not 0 is true.
func boolRun(f func(a, b bool) bool) run2[uint8, uint8] {
	return func(dst, a, b []uint8, sa, sb int) {
		ia, ib := 0, 0
		for i := range dst {
			dst[i] = bit(f(a[ia] != 0, b[ib] != 0))
			ia, ib = ia+sa, ib+sb
		}
	}
}

// The runs of the four operations that models spend their time in.

func addRun[T number](dst, a, b []T, sa, sb int) {
	ia, ib := 0, 0
	for i := range dst {
		dst[i] = a[ia] + b[ib]
		ia, ib = ia+sa, ib+sb
	}
}

func subRun[T number](dst, a, b []T, sa, sb int) {
	ia, ib := 0, 0
	for i := range dst {
		dst[i] = a[ia] - b[ib]
		ia, ib = ia+sa, ib+sb
	}
}

func mulRun[T number](dst, a, b []T, sa, sb int) {
	ia, ib := 0, 0
	for i := range dst {
		dst[i] = a[ia] * b[ib]
		ia, ib = ia+sa, ib+sb
	}
}

func divRun[T wholeFloat](dst, a, b []T, sa, sb int) {
	ia, ib := 0, 0
	for i := range dst {
		dst[i] = a[ia] / b[ib]
		ia, ib = ia+sa, ib+sb
	}
}
