//go:build noasm || (!amd64 && !arm64)

package gemm

import "github.com/stowage-ml/stowage/internal/simd"

func (m *Mul) vector(simd.Level) bool { return false }

func packFull(_ simd.Level, _, _ []float32, _, _, _ int) bool { return false }

func transposeBlocks(_ simd.Level, _, _ []float32, _, _, _, _ int) (rows, cols int) { return 0, 0 }
