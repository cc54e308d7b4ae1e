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

// filled returns f with functions in Go where it has none.
func filled(f Funcs) Funcs {
	for i := range f.Unary {
		if f.Unary[i] == nil {
			f.Unary[i] = generic.Unary[i]
		}
	}
	for i := range f.VV {
		if f.VV[i] == nil {
			f.VV[i], f.VP[i], f.PV[i] = generic.VV[i], generic.VP[i], generic.PV[i]
		}
	}
	return f
}
