//go:build arm64 && !noasm

package vec

import "github.com/stowage-ml/stowage/internal/simd"

// assembled returns the functions of a level that has assembly, or nil.
func assembled(l simd.Level) *Funcs {
	if l == simd.NEON {
		return &neon
	}
	return nil
}
