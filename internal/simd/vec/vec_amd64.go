//go:build amd64 && !noasm

package vec

import "github.com/stowage-ml/stowage/internal/simd"

// assembled returns the functions of a level that has assembly, or nil.
func assembled(l simd.Level) *Funcs {
	switch l {
	case simd.AVX2:
		return &avx2
	case simd.AVX512:
		return &avx512
	}
	return nil
}
