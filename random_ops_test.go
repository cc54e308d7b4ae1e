package stowage

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// addNode adds a node of some kind, if it finds operands; kinds that are listed twice come twice
// as often.
func (s *randomScope) addNode() {
	kinds := [...]func(*randomScope){
		addUnary, addUnary, addUnary, addBinary, addBinary, addBinary, addVariadic, addCompare, addWhere, addCast,
		addTranspose, addReshape, addReshape, addFlat, addUnsqueeze, addConcat, addConcat, addSplit, addSlice, addPad, addExpand,
		addReduce, addReduce, addNormal, addChannels, addScatter, addGather, addTopK, addShape, addReshapeLike, addFound, addFound, addRange,
		addMatMul, addDropout, addIf, addIf, addLoop, addLoop,
	}
	kinds[s.r.IntN(len(kinds))](s)
}

var floatUnary = []string{"Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Exp", "Sqrt", "Floor", "Identity", "Sign", "Elu",
	"Softplus", "Erf", "LeakyRelu", "HardSigmoid", "Identity"}

func addUnary(s *randomScope) {
	v := s.any()
	op := "Identity"
	switch {
	case isFloat(v):
		op = floatUnary[s.r.IntN(len(floatUnary))]
	case v.dt == tensor.Bool:
		op = "Not"
	case v.dt == tensor.Int64 || v.dt == tensor.Int32:
		op = []string{"Neg", "Abs", "Sign", "Identity"}[s.r.IntN(4)]
	}
	s.node(op, []string{v.name}, v)
}

func addBinary(s *randomScope) {
	v := s.any()
	ops := []string{"Add", "Sub", "Mul"}
	switch {
	case v.dt == tensor.Bool:
		ops = []string{"And", "Or", "Xor"}
	case v.dt == tensor.String:
		return
	case isFloat(v):
		ops = append(ops, "Div", "Pow", "PRelu")
	case s.r.IntN(8) == 0:
		ops = []string{"Div", "Mod"}
	}
	in := []string{v.name, s.partner(v).name}
	op := ops[s.r.IntN(len(ops))]
	if op != "PRelu" && s.r.IntN(2) == 0 {
		slices.Reverse(in)
	}
	s.node(op, in, v)
}

func addVariadic(s *randomScope) {
	if v, ok := s.find(isFloat); ok {
		in := []string{v.name}
		for range s.r.IntN(4) {
			in = append(in, s.partner(v).name)
		}
		s.r.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
		s.node([]string{"Sum", "Max", "Min", "Mean"}[s.r.IntN(4)], in, v)
	}
}

func addCompare(s *randomScope) {
	if v, ok := s.find(isNumber); ok {
		s.node([]string{"Less", "Greater", "Equal"}[s.r.IntN(3)], []string{v.name, s.partner(v).name}, like(v, tensor.Bool))
	}
}

func addWhere(s *randomScope) {
	v := s.any()
	s.node("Where", []string{s.partner(like(v, tensor.Bool)).name, v.name, s.partner(v).name}, v)
}

func addCast(s *randomScope) {
	if v, ok := s.find(func(v anyValue) bool { return v.dt != tensor.String }); ok {
		all := []tensor.DType{tensor.Float32, tensor.Int64, tensor.Int32, tensor.Bool, tensor.Float32, tensor.Float16}
		to := all[s.r.IntN(len(all))]
		s.node("Cast", []string{v.name}, like(v, to), testkit.Int("to", int64(to)))
	}
}

func addTranspose(s *randomScope) {
	v, ok := s.find(ranked)
	if !ok {
		return
	}
	perm, shape := make([]int64, len(v.shape)), make([]int64, len(v.shape))
	for i, p := range s.r.Perm(len(perm)) {
		perm[i], shape[i] = int64(p), v.shape[p]
	}
	s.node("Transpose", []string{v.name}, s.fresh(v.dt, shape, v.free), testkit.Ints("perm", perm...))
}

// addReshape merges or splits dimensions, or changes the type of 0-d values.
func addReshape(s *randomScope) {
	v, ok := s.find(full)
	if !ok {
		return
	}
	n, _ := tensor.Shape(v.shape).Elements()
	var shape []int64
	for f := int64(2); f <= 5; f++ {
		for n%f == 0 && s.r.IntN(2) == 0 {
			shape, n = append(shape, f), n/f
		}
	}
	shape = append(shape, n)
	s.r.Shuffle(len(shape), func(i, j int) { shape[i], shape[j] = shape[j], shape[i] })
	to := slices.Clone(shape)
	if s.r.IntN(2) == 0 {
		to[s.r.IntN(len(to))] = -1
	}
	s.node("Reshape", []string{v.name, s.ints(to...)}, s.fresh(v.dt, shape, false))
}

func addFlat(s *randomScope) {
	v := s.any()
	n, _ := tensor.Shape(v.shape).Elements()
	s.node("Reshape", []string{v.name, s.ints(-1)}, s.fresh(v.dt, []int64{n}, v.free))
}

func addUnsqueeze(s *randomScope) {
	v := s.any()
	if i := slices.Index(v.shape, 1); i >= 0 && !v.free && s.r.IntN(2) == 0 {
		shape := slices.Delete(slices.Clone(v.shape), i, i+1)
		s.node("Squeeze", []string{v.name, s.ints(int64(i))}, s.fresh(v.dt, shape, false))
		return
	}
	if len(v.shape) < 5 {
		i := s.r.IntN(len(v.shape) + 1)
		shape := slices.Insert(slices.Clone(v.shape), i, 1)
		s.node("Unsqueeze", []string{v.name, s.ints(int64(i))}, s.fresh(v.dt, shape, v.free))
	}
}

func addConcat(s *randomScope) {
	v, ok := s.find(ranked)
	if !ok {
		return
	}
	axis := s.r.IntN(len(v.shape))
	out := s.fresh(v.dt, slices.Clone(v.shape), v.free)
	in := []string{v.name}
	for range s.r.IntN(3) {
		p, ok := s.find(func(p anyValue) bool {
			if v.free || p.free || p.dt != v.dt || len(p.shape) != len(v.shape) {
				return p.fits(v)
			}
			for i := range p.shape {
				if i != axis && p.shape[i] != v.shape[i] {
					return false
				}
			}
			return true
		})
		if ok {
			in = append(in, p.name)
			out.shape[axis] += p.shape[axis]
		}
	}
	s.node("Concat", in, out, testkit.Int("axis", int64(axis)))
}

func addSplit(s *randomScope) {
	v, ok := s.find(all(full, ranked))
	if !ok {
		return
	}
	axis := s.r.IntN(len(v.shape))
	var sizes []int64
	for left := v.shape[axis]; left > 0; {
		n := 1 + s.r.Int64N(left)
		sizes, left = append(sizes, n), left-n
	}
	outs := make([]anyValue, len(sizes))
	for i, n := range sizes {
		shape := slices.Clone(v.shape)
		shape[axis] = n
		outs[i] = s.fresh(v.dt, shape, false)
	}
	s.nodes("Split", []string{v.name, s.ints(sizes...)}, outs, testkit.Int("axis", int64(axis)))
}

func addSlice(s *randomScope) {
	v, ok := s.find(ranked)
	if !ok {
		return
	}
	axis := s.r.IntN(len(v.shape))
	shape := slices.Clone(v.shape)
	from, to, step := s.r.Int64N(3), int64(1<<40), 1+s.r.Int64N(2)
	shape[axis] = max(0, (shape[axis]-from+step-1)/step)
	if s.r.IntN(3) == 0 {
		from, to, step, shape[axis] = 1<<40, -1<<40, -1, v.shape[axis]
	}
	s.node("Slice", []string{v.name, s.ints(from), s.ints(to), s.ints(int64(axis)), s.ints(step)},
		s.fresh(v.dt, shape, v.free))
}

func addPad(s *randomScope) {
	v, ok := s.find(all(ranked, func(v anyValue) bool { return isFloat(v) || v.dt == tensor.Int64 }))
	if !ok {
		return
	}
	pads, shape := make([]int64, 2*len(v.shape)), slices.Clone(v.shape)
	for i := range pads {
		pads[i] = s.r.Int64N(2)
		shape[i%len(shape)] += pads[i]
	}
	s.node("Pad", []string{v.name, s.ints(pads...)}, s.fresh(v.dt, shape, v.free))
}

func addExpand(s *randomScope) {
	v := s.any()
	if v.free || len(v.shape) > 3 {
		return
	}
	shape := slices.Insert(slices.Clone(v.shape), 0, 1+s.r.Int64N(2))
	if i := slices.Index(shape, 1); i > 0 {
		shape[i] = 1 + s.r.Int64N(3)
	}
	s.node("Expand", []string{v.name, s.ints(shape...)}, s.fresh(v.dt, shape, false))
}

// addReduce reduces some axes; with the dimensions kept, it often goes on to use the result beside
// its source, as normalisations do.
func addReduce(s *randomScope) {
	v, ok := s.find(all(isNumber, ranked, func(v anyValue) bool { return v.dt != tensor.Uint8 }))
	if !ok {
		return
	}
	axis, keep := s.r.IntN(len(v.shape)), s.r.Int64N(2)
	shape := slices.Clone(v.shape)
	if shape[axis] = 1; keep == 0 {
		shape = slices.Delete(shape, axis, axis+1)
	}
	op := []string{"ReduceSum", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2", "ArgMax", "CumSum"}[s.r.IntN(7)]
	free := v.free && len(shape) > 0
	switch op {
	case "ArgMax":
		if v.free || v.shape[axis] == 0 {
			return
		}
		s.node(op, []string{v.name}, s.fresh(tensor.Int64, shape, free), testkit.Int("axis", int64(axis)),
			testkit.Int("keepdims", keep))
		return
	case "CumSum":
		s.node(op, []string{v.name, s.g.Const(tensor.Scalar(int64(axis)))}, v)
		return
	}
	before := len(s.vals)
	s.node(op, []string{v.name, s.ints(int64(axis))}, s.fresh(v.dt, shape, free), testkit.Int("keepdims", keep))
	if keep == 1 && len(s.vals) > before && s.r.IntN(2) == 0 {
		s.node("Sub", []string{v.name, s.vals[before].name}, v)
	}
}

func addNormal(s *randomScope) {
	v, ok := s.find(all(isFloat, ranked))
	if !ok {
		return
	}
	last := []int64{1}
	if !v.free {
		last = v.shape[len(v.shape)-1:]
	}
	switch s.r.IntN(4) {
	case 0:
		s.node("Softmax", []string{v.name}, v, testkit.Int("axis", s.r.Int64N(int64(len(v.shape)))))
	case 1:
		stats := s.fresh(tensor.Float32, append(slices.Clone(v.shape[:len(v.shape)-1]), 1), v.free)
		outs := []anyValue{v, stats, stats}[:1+2*s.r.IntN(2)]
		s.nodes("LayerNormalization", []string{v.name, s.constant(v.dt, last).name}, outs)
	case 2:
		s.node("LpNormalization", []string{v.name}, v, testkit.Int("axis", int64(len(v.shape)-1)))
	case 3:
		s.node("Clip", []string{v.name, s.constant(v.dt, nil).name}, v)
	}
}

// addChannels adds what works over [batch, channel, …] or [batch, head, position, feature].
func addChannels(s *randomScope) {
	v, ok := s.find(all(full, func(v anyValue) bool { return v.dt == tensor.Float32 && len(v.shape) >= 3 }))
	if !ok {
		return
	}
	c := v.shape[1]
	vec := func() string { return s.constant(v.dt, []int64{c}).name }
	switch s.r.IntN(6) {
	case 0:
		variance := s.g.Node("Abs", []string{vec()})
		s.node("BatchNormalization", []string{v.name, vec(), vec(), vec(), variance}, v)
	case 1:
		s.node("InstanceNormalization", []string{v.name, vec(), vec()}, v)
	case 2:
		s.node("GroupNormalization", []string{v.name, vec(), vec()}, v, testkit.Int("num_groups", c))
	case 3:
		s.node("MeanVarianceNormalization", []string{v.name}, v, testkit.Ints("axes", 0, 2))
	case 4:
		s.node("RMSNormalization", []string{v.name, s.constant(v.dt, v.shape[len(v.shape)-1:]).name}, v)
	case 5:
		if n := len(v.shape); n == 4 && v.shape[3]%2 == 0 {
			half := []int64{v.shape[0], v.shape[2], v.shape[3] / 2}
			s.node("RotaryEmbedding", []string{v.name, s.constant(v.dt, half).name, s.constant(v.dt, half).name}, v,
				testkit.Int("interleaved", s.r.Int64N(2)))
		} else {
			update := slices.Clone(v.shape)
			update[n-2] = 1
			s.node("TensorScatter", []string{v.name, s.constant(v.dt, update).name}, v)
		}
	}
}

func addScatter(s *randomScope) {
	v, ok := s.find(all(full, ranked))
	if !ok {
		return
	}
	axis := s.r.IntN(len(v.shape))
	index := tensor.Must(v.shape, make([]int64, func() int64 { n, _ := tensor.Shape(v.shape).Elements(); return n }()))
	data := tensor.Cast[int64](index.Bytes())
	for i := range data {
		data[i] = s.r.Int64N(v.shape[axis])
	}
	updates := v
	if p, ok := s.find(v.fits); ok {
		updates = p
	}
	switch s.r.IntN(3) {
	case 0:
		s.node("ScatterElements", []string{v.name, s.g.Const(index), updates.name}, v, testkit.Int("axis", int64(axis)))
	case 1:
		s.node("GatherElements", []string{v.name, s.g.Const(index)}, s.fresh(v.dt, v.shape, false),
			testkit.Int("axis", int64(axis)))
	case 2:
		if len(v.shape) == 2 && isNumber(v) {
			s.node("Trilu", []string{v.name}, v, testkit.Int("upper", s.r.Int64N(2)))
		}
	}
}

func addGather(s *randomScope) {
	v, ok := s.find(all(full, ranked))
	if !ok {
		return
	}
	axis := s.r.IntN(len(v.shape))
	n := v.shape[axis]
	index, shape := []int64{s.r.Int64N(n), s.r.Int64N(n) - n}, slices.Clone(v.shape)
	if shape[axis] = 2; s.r.IntN(2) == 0 {
		s.node("Gather", []string{v.name, s.g.Const(tensor.Scalar(index[0]))},
			s.fresh(v.dt, slices.Delete(shape, axis, axis+1), false), testkit.Int("axis", int64(axis)))
		return
	}
	s.node("Gather", []string{v.name, s.ints(index...)}, s.fresh(v.dt, shape, false), testkit.Int("axis", int64(axis)))
}

func addTopK(s *randomScope) {
	v, ok := s.find(all(full, ranked, isNumber))
	if !ok {
		return
	}
	axis := s.r.IntN(len(v.shape))
	shape := slices.Clone(v.shape)
	shape[axis] = 1 + s.r.Int64N(shape[axis])
	out := s.fresh(v.dt, shape, false)
	s.nodes("TopK", []string{v.name, s.ints(shape[axis])}, []anyValue{out, like(out, tensor.Int64)},
		testkit.Int("axis", int64(axis)))
}

func addShape(s *randomScope) {
	v := s.any()
	s.node("Shape", []string{v.name}, s.fresh(tensor.Int64, []int64{int64(len(v.shape))}, false))
}

// addReshapeLike gives a flat value the shape of another, by way of shape arithmetic.
func addReshapeLike(s *randomScope) {
	v, ok := s.find(ranked)
	if !ok {
		return
	}
	flat := s.g.Node("Reshape", []string{v.name, s.ints(-1)})
	if isFloat(v) {
		flat = s.g.Node("Abs", []string{flat})
	}
	shape := s.g.Node("Shape", []string{v.name})
	if s.r.IntN(2) == 0 || v.free || !full(v) {
		s.node("Reshape", []string{flat, shape}, v, testkit.Int("allowzero", 1))
		return
	}
	rest := s.g.Node("Slice", []string{shape, s.ints(1), s.ints(99)})
	s.node("Reshape", []string{flat, s.g.Node("Concat", []string{s.ints(-1), rest}, testkit.Int("axis", 0))}, v)
}

// addFound adds operators whose output's shape depends on data.
func addFound(s *randomScope) {
	v := s.any()
	if v.dt == tensor.String || v.dt == tensor.BFloat16 || v.dt == tensor.Float16 {
		return
	}
	r := int64(len(v.shape))
	switch s.r.IntN(3) {
	case 0:
		if r > 0 {
			s.node("NonZero", []string{v.name}, s.fresh(tensor.Int64, []int64{r, 3}, true))
		}
	case 1:
		flat := s.g.Node("Reshape", []string{v.name, s.ints(-1)})
		mask := s.g.Node("Cast", []string{flat}, testkit.Int("to", int64(tensor.Bool)))
		s.node("Compress", []string{flat, mask}, s.fresh(v.dt, []int64{2}, true))
	case 2:
		if isFloat(v) {
			s.nodes("Unique", []string{v.name}, []anyValue{s.fresh(v.dt, []int64{2}, true)})
		}
	}
}

// addRange makes a length out of data and uses it as a shape.
func addRange(s *randomScope) {
	v, ok := s.find(isNumber)
	if !ok {
		return
	}
	long := s.g.Node("Cast", []string{v.name}, testkit.Int("to", int64(tensor.Int64)))
	n := s.g.Node("Min", []string{s.g.Node("Abs", []string{s.g.Node("ReduceSum", []string{long}, testkit.Int("keepdims", 0))}),
		s.g.Const(tensor.Scalar[int64](6))})
	if s.r.IntN(2) == 0 {
		zero, one := s.g.Const(tensor.Scalar[int64](0)), s.g.Const(tensor.Scalar[int64](1))
		s.node("Range", []string{zero, n, one}, s.fresh(tensor.Int64, []int64{2}, true))
		return
	}
	list := s.g.Node("Reshape", []string{n, s.ints(1)})
	one := s.constant(tensor.Float32, []int64{1}).name
	s.node("Expand", []string{one, list}, s.fresh(tensor.Float32, []int64{2}, true))
}

func addMatMul(s *randomScope) {
	v, ok := s.find(all(static, func(v anyValue) bool { return v.dt == tensor.Float32 && len(v.shape) == 2 }))
	if !ok {
		return
	}
	turned := s.g.Node("Transpose", []string{v.name})
	s.node("MatMul", []string{v.name, turned}, s.fresh(v.dt, []int64{v.shape[0], v.shape[0]}, false))
}

func addDropout(s *randomScope) {
	if v, ok := s.find(isFloat); ok {
		s.nodes("Dropout", []string{v.name}, []anyValue{v, like(v, tensor.Bool)}[:1+s.r.IntN(2)])
	}
}
