package move

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/stowage-ml/stowage/internal/simd"
)

var extents = []int{1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 33, 50}

// TestTransposeOfEverySize compares each level with the definition; what lies between and around the
// rows of the result stays as it was.
func TestTransposeOfEverySize(t *testing.T) {
	for _, l := range simd.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			transposeAll[uint8](t, l)
			transposeAll[uint16](t, l)
			transposeAll[uint32](t, l)
			transposeAll[uint64](t, l)
			transposeAll[complex128](t, l)
		})
	}
}

func transposeAll[T Word](t *testing.T, l simd.Level) {
	for _, rows := range extents {
		for _, cols := range extents {
			for _, fill := range []int{rows, rows + 1, (rows + 15) / 16 * 16} {
				transposeOne[T](t, l, Matrix{rows, cols, fill, fill + (rows+cols)%3/2, cols + (rows+cols)%5/4})
			}
		}
	}
}

// word returns a word whose first byte is v and whose others are 0.
func word[T Word](v int) (w T) {
	*(*byte)(unsafe.Pointer(&w)) = byte(v)
	return w
}

func transposeOne[T Word](t *testing.T, l simd.Level, m Matrix) {
	const edge = 5
	src := make([]T, (m.Rows-1)*m.SrcStride+m.Cols)
	for i := range src {
		src[i] = word[T](i%251 + 1)
	}
	got := make([]T, 2*edge+(m.Cols-1)*m.DstStride+m.Fill)
	for i := range got {
		got[i] = word[T](255)
	}
	want := append([]T(nil), got...)
	for j := range m.Cols {
		for i := range m.Fill {
			var v T
			if i < m.Rows {
				v = src[i*m.SrcStride+j]
			}
			want[edge+j*m.DstStride+i] = v
		}
	}
	Transpose(l, got[edge:len(got)-edge:len(got)-edge], src, m)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%T %+v: word %d: got %v, want %v", want[0], m, i-edge, got[i], want[i])
		}
	}
}

// TestBatchIsOneAfterTheOther compares with single transposes.
func TestBatchIsOneAfterTheOther(t *testing.T) {
	for _, l := range simd.Levels() {
		for _, m := range []Matrix{
			{1, 1, 1, 1, 1}, {8, 5, 8, 9, 5}, {3, 16, 16, 16, 17}, {16, 16, 16, 16, 16}, {7, 20, 8, 8, 20},
		} {
			const n = 5
			dstNext, srcNext := m.Cols*m.DstStride+3, m.Rows*m.SrcStride+2
			src, want, got := numbered[uint32](n*srcNext, 1), numbered[uint32](n*dstNext, 9), numbered[uint32](n*dstNext, 9)
			for i := range n {
				transpose(want[i*dstNext:], src[i*srcNext:], m)
			}
			Batch(l, got, src, n, dstNext, srcNext, m)
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("%v: %+v: element %d: got %v, want %v", l, m, i, got[i], want[i])
				}
			}
		}
	}
}

func BenchmarkTranspose(b *testing.B) {
	for _, c := range []Matrix{
		{16, 3136, 16, 16, 3136}, {3136, 16, 3136, 3136, 16}, {8, 3136, 8, 8, 3136}, {3136, 8, 3136, 3136, 8},
		{8, 3136, 16, 16, 3136}, {512, 512, 512, 512, 512}, {1000, 1000, 1000, 1000, 1000},
		{3, 65536, 3, 3, 65536}, {65536, 3, 65536, 65536, 3}, {4, 25600, 4, 4, 25600}, {25600, 4, 25600, 25600, 4},
	} {
		src, dst := make([]uint32, c.Rows*c.SrcStride), make([]uint32, c.Cols*c.DstStride)
		for _, l := range simd.Levels() {
			b.Run(fmt.Sprintf("%dx%d to %d/%v", c.Rows, c.Cols, c.Fill, l), func(b *testing.B) {
				b.SetBytes(int64(4 * c.Cols * (c.Rows + c.Fill)))
				for b.Loop() {
					Transpose(l, dst, src, c)
				}
			})
		}
		b.Run("copy", func(b *testing.B) {
			b.SetBytes(int64(8 * c.Cols * c.Rows))
			for b.Loop() {
				copy(dst, src)
			}
		})
	}
}
