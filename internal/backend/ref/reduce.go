package ref

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

var reduceKernels = []entry{
	{op: "ReduceSum", types: reduceTypes, make: reducer(foldSum)},
	{op: "ReduceMean", types: reduceTypes, make: reducer(foldMean)},
	{op: "ReduceMax", types: reduceOrdered, make: reducer(foldMax)},
	{op: "ReduceMin", types: reduceOrdered, make: reducer(foldMin)},
	{op: "ReduceProd", types: reduceTypes, make: reducer(foldProd)},
	{op: "ReduceL1", types: reduceTypes, make: reducer(foldAbs)},
	{op: "ReduceL2", types: reduceTypes, make: reducer(foldL2)},
	{op: "ReduceLogSum", types: reduceTypes, make: reducer(foldLogSum)},
	{op: "ReduceLogSumExp", types: reduceTypes, make: reducer(foldLogSumExp)},
	{op: "ReduceSumSquare", types: reduceTypes, make: reducer(foldSquare)},
	{op: "ArgMax", types: []types{numbers}, make: asFloat32(makeArg)},
	{op: "ArgMin", types: []types{numbers}, make: asFloat32(makeArg)},
	{op: "Softmax", types: []types{floats}, make: asFloat32(makeSoftmax)},
	{op: "LogSoftmax", types: []types{floats}, make: asFloat32(makeSoftmax)},
	{op: "Hardmax", types: []types{floats}, make: asFloat32(makeSoftmax)},
}

var (
	reduceTypes   = []types{numbers, indices}
	reduceOrdered = []types{numbers | bools, indices}
)

// foldKind is what a reduction does with the elements that fall together.
type foldKind uint8

const (
	foldSum foldKind = iota
	foldMean
	foldMax
	foldMin
	foldProd
	foldAbs
	foldSquare
	foldL2
	foldLogSum
	foldLogSumExp
)

// accumulator is what elements are folded in: integers wrap around in 64 bits, so that the low
// bits are those of the narrow type, and every float is summed as float64.
type accumulator interface{ int64 | uint64 | float64 }

// reduction is how the elements lie: kept walks over the dimensions that stay, dropped over
// those that fall together. One of them owns the innermost dimension.
type reduction struct {
	kind          foldKind
	kept, dropped walk
	// n is how many elements fall together.
	n int
	// bool marks elements that are 0 or 1.
	bool bool
}

func reducer(kind foldKind) maker {
	return withContents(asFloat32(func(o *backend.Op) (prepared, error) {
		in := o.In[0]
		list := o.Node.Attrs.Ints("axes", constInts(o, 1))
		axes, err := op.ReduceAxes(o.Node, list, len(in.Shape))
		if err != nil {
			return prepared{}, err
		}
		kept, dropped := in.Shape.Clone(), in.Shape.Clone()
		for i := range dropped {
			dropped[i] = 1
		}
		for _, a := range axes {
			kept[a], dropped[a] = 1, kept[a]
		}
		dense := stepsOf(in.Shape)
		r := &reduction{kind: kind, kept: newWalk(kept, dense), dropped: newWalk(dropped, dense), n: count(dropped),
			bool: in.DType == tensor.Bool}
		return run(reduceTable(kind).of(in.DType)(r))
	}), 1)
}

func reduceTable(kind foldKind) *perType[func(*reduction) backend.Kernel] {
	if kind >= foldL2 {
		return &reduceRoots
	}
	return &reducePlain
}

var reducePlain = perType[func(*reduction) backend.Kernel]{
	F32: reduceOf[float32, float64], F64: reduceOf[float64, float64],
	I8: reduceOf[int8, int64], I16: reduceOf[int16, int64], I32: reduceOf[int32, int64], I64: reduceOf[int64, int64],
	U8: reduceOf[uint8, uint64], U16: reduceOf[uint16, uint64], U32: reduceOf[uint32, uint64],
	U64: reduceOf[uint64, uint64], Bool: reduceOf[uint8, uint64],
}

// reduceRoots serves the reductions that end in a root or a logarithm.
var reduceRoots = perType[func(*reduction) backend.Kernel]{
	F32: reduceOf[float32, float64], F64: reduceOf[float64, float64],
	I8: reduceOf[int8, float64], I16: reduceOf[int16, float64], I32: reduceOf[int32, float64],
	I64: reduceOf[int64, float64], U8: reduceOf[uint8, float64], U16: reduceOf[uint16, float64],
	U32: reduceOf[uint32, float64], U64: reduceOf[uint64, float64],
}

// reduceLanes is how many results are folded side by side, so that a reduction of an outer
// dimension still reads along rows.
const reduceLanes = 64

func reduceOf[T number, A accumulator](r *reduction) backend.Kernel {
	start := foldStart[T, A](r)
	return func(c *backend.Call) error {
		x, y := elems[T](&c.In[0]), elems[T](&c.Out[0])
		var acc, shift [reduceLanes]A
		width, inner := reduceLanes, r.kept.inner[0]
		if inner != 1 {
			width = 1
		}
		at := 0
		for off := range r.kept.runs {
			for i := 0; i < r.kept.n; i += width {
				lanes := min(width, r.kept.n-i)
				for j := range lanes {
					acc[j] = start
				}
				reduceBlock(r, acc[:lanes], shift[:lanes], x, off[0]+i*inner)
				for j, a := range acc[:lanes] {
					y[at+j] = foldEnd[T](r, a, shift[j])
				}
				at += lanes
			}
		}
		return nil
	}
}

// reduceBlock folds what belongs to len(acc) neighbouring results, the first of whose elements
// lies at x[at]. A LogSumExp takes two rounds: the first finds what to shift the exponents by.
func reduceBlock[T number, A accumulator](r *reduction, acc, shift []A, x []T, at int) {
	if r.kind == foldLogSumExp {
		top := *r
		top.kind = foldMax
		for j := range shift {
			shift[j] = foldStart[T, A](&top)
		}
		reduceRound(&top, shift, nil, x, at)
		for j, s := range shift {
			if math.IsInf(float64(s), 0) {
				shift[j] = 0
			}
		}
	}
	reduceRound(r, acc, shift, x, at)
}

func reduceRound[T number, A accumulator](r *reduction, acc, shift []A, x []T, at int) {
	for off := range r.dropped.runs {
		from, step := at+off[0], r.dropped.inner[0]
		if step == 1 && len(acc) == 1 {
			acc[0] = foldRow(r.kind, acc[0], shift, x[from:from+r.dropped.n])
			continue
		}
		for k := range r.dropped.n {
			foldLane(r.kind, acc, shift, x[from+k*step:])
		}
	}
}

// foldRow folds a row of elements into one result.
func foldRow[T number, A accumulator](kind foldKind, acc A, shift []A, x []T) A {
	switch kind {
	case foldSum, foldMean, foldLogSum:
		for _, v := range x {
			acc += A(v)
		}
	case foldSquare, foldL2:
		for _, v := range x {
			acc += A(v) * A(v)
		}
	case foldMax:
		for _, v := range x {
			if A(v) > acc || v != v {
				acc = A(v)
			}
		}
	case foldMin:
		for _, v := range x {
			if A(v) < acc || v != v {
				acc = A(v)
			}
		}
	case foldProd:
		for _, v := range x {
			acc *= A(v)
		}
	default:
		one := [1]A{acc}
		for i := range x {
			foldLane(kind, one[:], shift, x[i:])
		}
		return one[0]
	}
	return acc
}

// foldLane folds the first len(acc) elements of x into as many results. A NaN stays a NaN.
func foldLane[T number, A accumulator](kind foldKind, acc, shift []A, x []T) {
	x = x[:len(acc)]
	switch kind {
	case foldSum, foldMean, foldLogSum:
		for i, v := range x {
			acc[i] += A(v)
		}
	case foldMax:
		for i, v := range x {
			if A(v) > acc[i] || v != v {
				acc[i] = A(v)
			}
		}
	case foldMin:
		for i, v := range x {
			if A(v) < acc[i] || v != v {
				acc[i] = A(v)
			}
		}
	case foldProd:
		for i, v := range x {
			acc[i] *= A(v)
		}
	case foldAbs:
		for i, v := range x {
			if v < 0 {
				v = -v
			}
			acc[i] += A(v)
		}
	case foldSquare, foldL2:
		for i, v := range x {
			acc[i] += A(v) * A(v)
		}
	case foldLogSumExp:
		for i, v := range x {
			acc[i] += A(math.Exp(float64(v) - float64(shift[i])))
		}
	}
}

// foldStart is what an empty set is folded to.
func foldStart[T number, A accumulator](r *reduction) A {
	switch lo, hi := limits[T](); r.kind {
	case foldProd:
		return 1
	case foldMax:
		return A(lo)
	case foldMin:
		if r.bool {
			return 1
		}
		return A(hi)
	}
	return 0
}

// limits returns the least and the greatest value of a type, infinities included.
func limits[T number]() (lo, hi T) {
	var z T
	switch p := any(&z).(type) {
	case *float32:
		*p = float32(math.Inf(1))
		return -z, z
	case *float64:
		*p = math.Inf(1)
		return -z, z
	}
	if z--; z > 0 {
		return 0, z
	}
	for hi = 1; hi*2+1 > hi; {
		hi = hi*2 + 1
	}
	return -hi - 1, hi
}

// foldEnd turns what was folded into the result. The mean of no integers is 0.
func foldEnd[T number, A accumulator](r *reduction, acc, shift A) T {
	switch r.kind {
	case foldMean:
		if n := A(r.n); n != 0 || A(1)/2 != 0 {
			return T(acc / n)
		}
		return 0
	case foldL2:
		return T(math.Sqrt(float64(acc)))
	case foldLogSum:
		return T(math.Log(float64(acc)))
	case foldLogSumExp:
		return T(math.Log(float64(acc)) + float64(shift))
	}
	return T(acc)
}
