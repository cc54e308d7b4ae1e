package elem

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// Integer returns the kernels for arithmetic on int64 and int32, and for logic on booleans.
func Integer(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	if len(o.In) != 2 || o.In[0].DType != o.In[1].DType {
		return nil, nil
	}
	return zipped(l, o, "integer", func(w *walk) func(c *backend.Call, to, n, a, b, d int) {
		switch o.In[0].DType {
		case tensor.Int64:
			return pairing(w, arithmetic[int64](o.Node.Op))
		case tensor.Int32:
			return pairing(w, arithmetic[int32](o.Node.Op))
		case tensor.Bool:
			return pairing(w, logic(o.Node.Op))
		}
		return nil
	})
}

// pairing computes rows with f, which gets operands whose elements move on by the given steps, 0
// or 1.
func pairing[T int32 | int64 | uint8](w *walk, f func(dst, x, y []T, sx, sy int)) (
	run func(c *backend.Call, to, n, a, b, d int)) {
	if f == nil {
		return nil
	}
	step := [2]int{1 - int(bit(w.one[0])), 1 - int(bit(w.one[1]))}
	return func(c *backend.Call, to, n, a, b, _ int) {
		x, y := tensor.Cast[T](c.In[0].Data)[a:], tensor.Cast[T](c.In[1].Data)[b:]
		f(tensor.Cast[T](c.Out[0].Data)[to:][:n], x, y, step[0], step[1])
	}
}

// arithmetic returns the loop of an operator; nil for others.
func arithmetic[T int32 | int64](name string) func(dst, x, y []T, sx, sy int) {
	switch name {
	case "Add":
		return func(dst, x, y []T, sx, sy int) {
			for i := range dst {
				dst[i] = x[i*sx] + y[i*sy]
			}
		}
	case "Sub":
		return func(dst, x, y []T, sx, sy int) {
			for i := range dst {
				dst[i] = x[i*sx] - y[i*sy]
			}
		}
	case "Mul":
		return func(dst, x, y []T, sx, sy int) {
			for i := range dst {
				dst[i] = x[i*sx] * y[i*sy]
			}
		}
	case "Div":
		return quotients[T]
	case "Min":
		return func(dst, x, y []T, sx, sy int) {
			for i := range dst {
				dst[i] = min(x[i*sx], y[i*sy])
			}
		}
	case "Max":
		return func(dst, x, y []T, sx, sy int) {
			for i := range dst {
				dst[i] = max(x[i*sx], y[i*sy])
			}
		}
	}
	return nil
}

// quotients truncates towards zero; division by zero gives 0.
func quotients[T int32 | int64](dst, x, y []T, sx, sy int) {
	for i := range dst {
		q := T(0)
		if d := y[i*sy]; d != 0 {
			q = x[i*sx] / d
		}
		dst[i] = q
	}
}

// logic returns the loop of a logical operator; nil for others. Any byte but 0 is true.
func logic(name string) func(dst, x, y []uint8, sx, sy int) {
	switch name {
	case "And":
		return func(dst, x, y []uint8, sx, sy int) {
			for i := range dst {
				dst[i] = bit(x[i*sx] != 0) & bit(y[i*sy] != 0)
			}
		}
	case "Or":
		return func(dst, x, y []uint8, sx, sy int) {
			for i := range dst {
				dst[i] = bit(x[i*sx]|y[i*sy] != 0)
			}
		}
	case "Xor":
		return func(dst, x, y []uint8, sx, sy int) {
			for i := range dst {
				dst[i] = bit(x[i*sx] != 0) ^ bit(y[i*sy] != 0)
			}
		}
	}
	return nil
}

// Not returns the kernel for Not.
func Not(_ simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	return mapped(o, "not", func(c *backend.Call, from, to int) {
		dst, src := c.Out[0].Data[from:to], c.In[0].Data[from:to]
		for i, v := range src {
			dst[i] = bit(v == 0)
		}
	}), nil
}

// mapped is the candidate that computes elements from to to−1 of the result from those of the
// first input by f.
func mapped(o *backend.Op, name string, f func(c *backend.Call, from, to int)) []backend.Candidate {
	if o.Out[0].Shape == nil || f == nil {
		return nil
	}
	k := newCut(1, count(o.Out[0].Shape), 4, 64, o.Threads)
	task := func(c *backend.Call, i, _ int) {
		_, _, from, to := k.task(i)
		f(c, from, to)
	}
	return []backend.Candidate{{Name: name, Source: "go", Stream: 0.2, Kernel: func(c *backend.Call) error {
		c.Par(k.tasks, task)
		return nil
	}}}
}

// Cast returns the kernels for conversions between common types.
func Cast(_ simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	to := o.Out[0].DType
	switch o.In[0].DType {
	case tensor.Float32:
		return mapped(o, "cast", fromFloat(to)), nil
	case tensor.Bool:
		return mapped(o, "cast", fromBool(to)), nil
	case tensor.Uint8:
		return mapped(o, "cast", fromWhole[uint8](to)), nil
	case tensor.Int8:
		return mapped(o, "cast", fromWhole[int8](to)), nil
	case tensor.Int32:
		return mapped(o, "cast", fromWhole[int32](to)), nil
	case tensor.Int64:
		return mapped(o, "cast", fromWhole[int64](to)), nil
	}
	return nil, nil
}

// whole is the integers that are cast.
type whole interface {
	uint8 | int8 | int32 | int64
}

func fromWhole[T whole](to tensor.DType) func(c *backend.Call, from, to int) {
	switch to {
	case tensor.Float32:
		return convert[float32, T]
	case tensor.Int64:
		return convert[int64, T]
	case tensor.Int32:
		return convert[int32, T]
	case tensor.Bool:
		return isSet[T]
	}
	return nil
}

// convert keeps the low bits where the result is narrower.
func convert[D float32 | int64 | int32, T whole](c *backend.Call, from, to int) {
	src := tensor.Cast[T](c.In[0].Data)[from:to]
	dst := tensor.Cast[D](c.Out[0].Data)[from:][:len(src)]
	for i, v := range src {
		dst[i] = D(v)
	}
}

func isSet[T whole | float32](c *backend.Call, from, to int) {
	dst := c.Out[0].Data[from:to]
	for i, v := range tensor.Cast[T](c.In[0].Data)[from:to] {
		dst[i] = bit(v != 0)
	}
}

func fromBool(to tensor.DType) func(c *backend.Call, from, to int) {
	switch to {
	case tensor.Float32:
		return unbool[float32]
	case tensor.Int64:
		return unbool[int64]
	case tensor.Int32:
		return unbool[int32]
	}
	return nil
}

func unbool[D float32 | int64 | int32](c *backend.Call, from, to int) {
	src := c.In[0].Data[from:to]
	dst := tensor.Cast[D](c.Out[0].Data)[from:][:len(src)]
	for i, v := range src {
		dst[i] = D(int32(bit(v != 0)))
	}
}

func fromFloat(to tensor.DType) func(c *backend.Call, from, to int) {
	switch to {
	case tensor.Int64:
		return func(c *backend.Call, from, to int) {
			dst := tensor.Cast[int64](c.Out[0].Data)[from:to]
			for i, v := range floats(&c.In[0])[from:to] {
				dst[i] = cutOff(v)
			}
		}
	case tensor.Int32:
		return func(c *backend.Call, from, to int) {
			dst := tensor.Cast[int32](c.Out[0].Data)[from:to]
			for i, v := range floats(&c.In[0])[from:to] {
				dst[i] = int32(min(max(cutOff(v), -1<<31), 1<<31-1))
			}
		}
	case tensor.Bool:
		return isSet[float32]
	}
	return nil
}

// cutOff rounds towards zero, to the nearest int64 where it is beyond those; a NaN gives 0.
func cutOff(x float32) int64 {
	switch {
	case x >= 1<<63:
		return 1<<63 - 1
	case x > -1<<63:
		return int64(x)
	case x != x:
		return 0
	}
	return -1 << 63
}
