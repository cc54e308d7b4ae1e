package ref

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// unary is what an operator with one operand does to one element: f to floating-point numbers
// of every width, i to signed and u to unsigned integers. What is narrower than the argument is
// widened before and cut off after. run32, when it is set, serves float32 whole.
type unary struct {
	f     func(float64) float64
	i     func(int64) int64
	u     func(uint64) uint64
	run32 func(dst, src []float32)
}

// kernel returns the kernel for an element type.
func (u unary) kernel(dt tensor.DType) (backend.Kernel, error) {
	switch {
	case dt == tensor.Float32 && u.run32 != nil:
		return func(c *backend.Call) error {
			u.run32(elems[float32](&c.Out[0]), elems[float32](&c.In[0]))
			return nil
		}, nil
	case floats.has(dt) && u.f != nil:
		return floatMaps.of(dt)(u.f), nil
	case signed.has(dt) && u.i != nil:
		return signedMaps.of(dt)(u.i), nil
	case unsigned.has(dt) && u.u != nil:
		return unsignedMaps.of(dt)(u.u), nil
	}
	return nil, fmt.Errorf("ref: element type: got %v, want another", dt)
}

// mapped returns the make of an operator whose behaviour depends on its attributes.
func mapped(of func(n *graph.Node) unary) func(*backend.Op) (prepared, error) {
	return func(o *backend.Op) (prepared, error) {
		k, err := of(o.Node).kernel(o.In[0].DType)
		return prepared{run: k}, err
	}
}

// plain returns the make of an operator without attributes on floating-point numbers.
func plain(f func(float64) float64) func(*backend.Op) (prepared, error) {
	return mapped(func(*graph.Node) unary { return unary{f: f} })
}

var floatMaps = perType[func(func(float64) float64) backend.Kernel]{
	F32: mapFloat[float32], F64: mapFloat[float64],
	F16:  func(f func(float64) float64) backend.Kernel { return mapHalf(f, tensor.HalfOf) },
	BF16: func(f func(float64) float64) backend.Kernel { return mapHalf(f, tensor.BrainOf) },
}

var signedMaps = perType[func(func(int64) int64) backend.Kernel]{
	I8: mapSigned[int8], I16: mapSigned[int16], I32: mapSigned[int32], I64: mapSigned[int64],
}

var unsignedMaps = perType[func(func(uint64) uint64) backend.Kernel]{
	U8: mapUnsigned[uint8], U16: mapUnsigned[uint16], U32: mapUnsigned[uint32], U64: mapUnsigned[uint64],
}

func mapFloat[T wholeFloat](f func(float64) float64) backend.Kernel {
	return func(c *backend.Call) error {
		dst := elems[T](&c.Out[0])
		for i, x := range elems[T](&c.In[0]) {
			dst[i] = T(f(float64(x)))
		}
		return nil
	}
}

func mapHalf[T halfFloat](f func(float64) float64, round func(float32) T) backend.Kernel {
	return func(c *backend.Call) error {
		dst := elems[T](&c.Out[0])
		for i, x := range elems[T](&c.In[0]) {
			dst[i] = round(float32(f(float64(x.Float32()))))
		}
		return nil
	}
}

func mapSigned[T signedInt](f func(int64) int64) backend.Kernel {
	return func(c *backend.Call) error {
		dst := elems[T](&c.Out[0])
		for i, x := range elems[T](&c.In[0]) {
			dst[i] = T(f(int64(x)))
		}
		return nil
	}
}

func mapUnsigned[T unsignedInt](f func(uint64) uint64) backend.Kernel {
	return func(c *backend.Call) error {
		dst := elems[T](&c.Out[0])
		for i, x := range elems[T](&c.In[0]) {
			dst[i] = T(f(uint64(x)))
		}
		return nil
	}
}

// testKernel sets each output to whether the element at its place passes.
func testKernel(dt tensor.DType, pass func(float64) bool) backend.Kernel {
	return func(c *backend.Call) error {
		src := c.In[0].Data
		for i := range c.Out[0].Data {
			c.Out[0].Data[i] = bit(pass(floatAt(dt, src, i)))
		}
		return nil
	}
}

// bit is a boolean as it is stored.
func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
