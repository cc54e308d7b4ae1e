package values

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/stowage-ml/stowage/tensor"
)

// maxMade is the most memory that a tensor made from a mere description may take, in bytes.
const maxMade = 8 << 30

// Zeros makes a tensor of zeros.
func Zeros(dt tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	n, ok := shape.Elements()
	size, fits := dt.ByteSize(n)
	if dt == tensor.String {
		size, fits = n*16, n < maxMade
	}
	if !ok || !fits || size > maxMade {
		return nil, fmt.Errorf("values: %v%v: want at most %d bytes in a generated tensor", dt, shape, int64(maxMade))
	}
	return tensor.Zeros(dt, shape)
}

// Random makes a tensor whose elements follow from the seed and the name alone: a smaller one is
// the start of a larger one of the same type. Floats are uniform in [0,1), 8-bit integers use
// their whole range, wider integers are 0 or 1 (so that they are good as indices and as masks),
// strings are a letter.
func Random(name string, dt tensor.DType, shape tensor.Shape, seed uint64) (*tensor.Tensor, error) {
	t, err := Zeros(dt, shape)
	if err != nil {
		return nil, err
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	r := rand.New(rand.NewPCG(seed, h.Sum64()))
	fill(t, r)
	return t, nil
}

func set[T any](s []T, f func() T) {
	for i := range s {
		s[i] = f()
	}
}

func fill(t *tensor.Tensor, r *rand.Rand) {
	b := t.Bytes()
	bit := func() uint8 { return uint8(r.Uint32() >> 31) }
	switch t.DType() {
	case tensor.Float32:
		set(tensor.Cast[float32](b), r.Float32)
	case tensor.Float64, tensor.Complex128:
		set(tensor.Cast[float64](b), r.Float64)
	case tensor.Complex64:
		set(tensor.Cast[float32](b), r.Float32)
	case tensor.Float16:
		set(tensor.Cast[tensor.Half](b), func() tensor.Half { return tensor.HalfOf(r.Float32()) })
	case tensor.BFloat16:
		set(tensor.Cast[tensor.Brain](b), func() tensor.Brain { return tensor.BrainOf(r.Float32()) })
	case tensor.Int16, tensor.Uint16:
		set(tensor.Cast[uint16](b), func() uint16 { return uint16(bit()) })
	case tensor.Int32, tensor.Uint32:
		set(tensor.Cast[uint32](b), func() uint32 { return uint32(bit()) })
	case tensor.Int64, tensor.Uint64:
		set(tensor.Cast[uint64](b), func() uint64 { return uint64(bit()) })
	case tensor.Bool:
		set(b, bit)
	case tensor.String:
		set(t.Strings(), func() string { return string(rune('a' + r.IntN(26))) })
	case tensor.Float8E4M3FN, tensor.Float8E4M3UZ, tensor.Float8E5M2, tensor.Float8E5M2UZ:
		// Codes below 0x40 are finite and below 2 in all four formats.
		set(b, func() uint8 { return uint8(r.Uint32() >> 26) })
	default:
		set(b, func() uint8 { return uint8(r.Uint32() >> 24) })
	}
}
