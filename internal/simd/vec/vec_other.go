//go:build (!amd64 && !arm64) || noasm

package vec

import "github.com/stowage-ml/stowage/internal/simd"

// assembled returns the functions of a level that has assembly, or nil.
func assembled(simd.Level) *Funcs { return nil }
