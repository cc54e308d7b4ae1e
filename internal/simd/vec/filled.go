//go:build (amd64 || arm64) && !noasm

package vec

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
