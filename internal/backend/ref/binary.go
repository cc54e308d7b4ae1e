package ref

import (
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

var binaryKernels = checkedAll([]entry{
	{op: "Add", types: []types{numbers}, make: zipped(add)},
	{op: "Sub", types: []types{numbers}, make: zipped(binary{
		f:     func(a, b float64) float64 { return a - b },
		i:     func(a, b int64) int64 { return a - b },
		u:     func(a, b uint64) uint64 { return a - b },
		run32: subRun[float32], run64: subRun[int64],
	})},
	{op: "Mul", types: []types{numbers}, make: zipped(binary{
		f:     func(a, b float64) float64 { return a * b },
		i:     func(a, b int64) int64 { return a * b },
		u:     func(a, b uint64) uint64 { return a * b },
		run32: mulRun[float32], run64: mulRun[int64],
	})},
	{op: "Div", types: []types{numbers}, make: zipped(binary{
		f: func(a, b float64) float64 { return a / b },
		i: divInt, u: divUint, run32: divRun[float32],
	})},
	{op: "Mod", types: []types{numbers}, make: makeMod},
	{op: "Pow", types: []types{numbers, numbers}, make: makePow},
	{op: "BitShift", types: []types{unsigned}, make: makeBitShift},
	{op: "BitwiseAnd", types: []types{integers}, make: zipped(binary{
		i: func(a, b int64) int64 { return a & b }, u: func(a, b uint64) uint64 { return a & b },
	})},
	{op: "BitwiseOr", types: []types{integers}, make: zipped(binary{
		i: func(a, b int64) int64 { return a | b }, u: func(a, b uint64) uint64 { return a | b },
	})},
	{op: "BitwiseXor", types: []types{integers}, make: zipped(binary{
		i: func(a, b int64) int64 { return a ^ b }, u: func(a, b uint64) uint64 { return a ^ b },
	})},
	{op: "And", types: []types{bools}, make: zipped(binary{b: func(a, b bool) bool { return a && b }})},
	{op: "Or", types: []types{bools}, make: zipped(binary{b: func(a, b bool) bool { return a || b }})},
	{op: "Xor", types: []types{bools}, make: zipped(binary{b: func(a, b bool) bool { return a != b }})},
	{op: "PRelu", types: []types{numbers}, make: zipped(binary{f: preluFloat, i: preluInt, u: preluUint})},
	{op: "Equal", types: []types{numbers | bools | strs}, make: compared(isEqual)},
	{op: "Less", types: []types{numbers}, make: compared(isLess)},
	{op: "LessOrEqual", types: []types{numbers}, make: compared(isLess | isEqual)},
	{op: "Greater", types: []types{numbers}, make: compared(isGreater)},
	{op: "GreaterOrEqual", types: []types{numbers}, make: compared(isGreater | isEqual)},
	{op: "Sum", types: []types{numbers}, make: folded(add, false)},
	{op: "Mean", types: []types{floats}, make: folded(add, true)},
	{op: "Max", types: []types{numbers}, make: folded(binary{
		f: func(a, b float64) float64 { return max(a, b) },
		i: func(a, b int64) int64 { return max(a, b) },
		u: func(a, b uint64) uint64 { return max(a, b) },
	}, false)},
	{op: "Min", types: []types{numbers}, make: folded(binary{
		f: func(a, b float64) float64 { return min(a, b) },
		i: func(a, b int64) int64 { return min(a, b) },
		u: func(a, b uint64) uint64 { return min(a, b) },
	}, false)},
	{op: "Where", types: []types{bools, anything}, make: makeWhere},
})

var add = binary{
	f:     func(a, b float64) float64 { return a + b },
	i:     func(a, b int64) int64 { return a + b },
	u:     func(a, b uint64) uint64 { return a + b },
	run32: addRun[float32], run64: addRun[int64],
}

// divInt truncates towards zero; division by zero gives 0.
func divInt(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func divUint(a, b uint64) uint64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// modInt has the sign of the divisor, remInt that of the dividend; of zero both are 0.
func modInt(a, b int64) int64 {
	m := remInt(a, b)
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m
}

func remInt(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return a % b
}

func remUint(a, b uint64) uint64 {
	if b == 0 {
		return 0
	}
	return a % b
}

// modFloat has the sign of the divisor.
func modFloat(a, b float64) float64 {
	m := math.Mod(a, b)
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m
}

func makeMod(o *backend.Op) (prepared, error) {
	if o.Node.Attrs.Int("fmod", 0) != 0 {
		return zipped(binary{f: math.Mod, i: remInt, u: remUint})(o)
	}
	return zipped(binary{f: modFloat, i: modInt, u: remUint})(o)
}

func makeBitShift(o *backend.Op) (prepared, error) {
	switch dir := o.Node.Attrs.Str("direction", ""); dir {
	case "LEFT":
		return zipped(binary{u: func(a, b uint64) uint64 { return a << b }})(o)
	case "RIGHT":
		return zipped(binary{u: func(a, b uint64) uint64 { return a >> b }})(o)
	default:
		return prepared{}, fmt.Errorf("ref: direction: got %q, want LEFT or RIGHT", dir)
	}
}

func preluFloat(x, slope float64) float64 {
	if x < 0 {
		return x * slope
	}
	return x
}

func preluInt(x, slope int64) int64 {
	if x < 0 {
		return x * slope
	}
	return x
}

func preluUint(x, _ uint64) uint64 { return x }

// powInt wraps around; a negative exponent leaves what is whole of the result.
func powInt(a, b int64) int64 {
	if b < 0 {
		switch {
		case a == 1, a == -1 && b%2 == 0:
			return 1
		case a == -1:
			return -1
		}
		return 0
	}
	out := int64(1)
	for ; b > 0; b >>= 1 {
		if b&1 == 1 {
			out *= a
		}
		a *= a
	}
	return out
}

// powFloat is math.Pow, with the common squares done exactly.
func powFloat(a, b float64) float64 {
	switch b {
	case 2:
		return a * a
	case 1:
		return a
	case 0.5:
		if a > 0 {
			return math.Sqrt(a)
		}
	}
	return math.Pow(a, b)
}

// makePow computes integers exactly when both operands are whole, and all else in float64.
func makePow(o *backend.Op) (prepared, error) {
	base, exp := o.In[0].DType, o.In[1].DType
	if base == exp && floats.has(base) {
		return zipped(binary{f: powFloat})(o)
	}
	w, err := pairWalk(o.In[0].Shape, o.In[1].Shape, o.Out[0].Shape)
	if err != nil {
		return prepared{}, err
	}
	power := mixedPower(base, exp)
	return run(func(c *backend.Call) error {
		for off := range w.runs {
			for i := range w.n {
				power(c, off[0]+i*w.inner[0], off[1]+i*w.inner[1], off[2]+i*w.inner[2])
			}
		}
		return nil
	})
}

// mixedPower returns what computes one element of the output from one of each input.
func mixedPower(base, exp tensor.DType) func(c *backend.Call, out, a, b int) {
	switch {
	case integers.has(base) && integers.has(exp):
		return func(c *backend.Call, out, a, b int) {
			setInt(&c.Out[0], out, powInt(intAt(&c.In[0], a), intAt(&c.In[1], b)))
		}
	case integers.has(base):
		return func(c *backend.Call, out, a, b int) {
			x := powFloat(numberAt(&c.In[0], a), floatAt(exp, c.In[1].Data, b))
			setInt(&c.Out[0], out, toInt(x))
		}
	}
	return func(c *backend.Call, out, a, b int) {
		x := powFloat(floatAt(base, c.In[0].Data, a), numberAt(&c.In[1], b))
		setFloat(base, c.Out[0].Data, out, x)
	}
}
