package ref

import "github.com/stowage-ml/stowage/tensor"

// packedAt returns the bits of element i of a tensor whose elements are bits wide, 2 or 4: the
// first element lies in the low bits.
func packedAt(data []byte, bits, i int) byte {
	at := i * bits
	return data[at/8] >> (at % 8) & (1<<bits - 1)
}

// setPacked stores the low bits of x as element i, and leaves its neighbours alone.
func setPacked(data []byte, bits, i int, x byte) {
	at := i * bits
	mask := byte(1<<bits-1) << (at % 8)
	data[at/8] = data[at/8]&^mask | x<<(at%8)&mask
}

// widenPacked returns the number that the bits of an integer type of less than a byte stand for.
func widenPacked(dt tensor.DType, x byte) int64 {
	switch dt {
	case tensor.Int4:
		return int64(int8(x<<4) >> 4)
	case tensor.Int2:
		return int64(int8(x<<6) >> 6)
	}
	return int64(x)
}
