//go:build !amd64 || noasm

package gemm

import "github.com/stowage-ml/stowage/internal/simd"

func (m *Mul) vector(simd.Level) bool { return false }
