//go:build amd64 && !noasm

package conv

import "github.com/stowage-ml/stowage/internal/simd"

//go:generate go run -C ../../../tools ./genconv -level avx512 -o ../internal/simd/conv/avx512_amd64.s
//go:generate go run -C ../../../tools ./genconv -level avx2 -o ../internal/simd/conv/avx2_amd64.s
//go:generate go run -C ../../../tools ./genconv -level neon -o ../internal/simd/conv/neon_arm64.s

// aheadFloats is how much of Ahead the assembly fetches in each column.
const aheadFloats = 48

// tableRow is the entries of the assembly's tables for one number of blocks.
const tableRow = 16

//go:noescape
func avx512Tiles(t *Tile, shape int)

//go:noescape
func avx2Tiles(t *Tile, shape int)

func run(l simd.Level, t *Tile) {
	shape := (t.Blocks-1)*tableRow + t.Pixels
	switch l {
	case simd.AVX512:
		avx512Tiles(t, shape)
	case simd.AVX2:
		avx2Tiles(t, shape)
	default:
		generic(t)
	}
	t.Ahead = t.Ahead[min(len(t.Ahead), aheadFloats*t.Count*t.Rows*t.Planes*t.Cols):]
}

//go:noescape
func avx512WinogradIn(dst *float32, apart int, src *float32, pitch, tiles int)

//go:noescape
func avx2WinogradIn(dst *float32, apart int, src *float32, pitch, tiles int)

//go:noescape
func avx512WinogradOut(o *Output)

//go:noescape
func avx2WinogradOut(o *Output)

func winogradIn(l simd.Level, dst []float32, apart int, src []float32, pitch, tiles int) {
	switch l {
	case simd.AVX512:
		avx512WinogradIn(&dst[0], apart, &src[0], pitch, tiles)
	case simd.AVX2:
		avx2WinogradIn(&dst[0], apart, &src[0], pitch, tiles)
	default:
		winogradInGo(dst, apart, src, pitch, tiles)
	}
}

func winogradOut(l simd.Level, o *Output) {
	switch l {
	case simd.AVX512:
		avx512WinogradOut(o)
	case simd.AVX2:
		avx2WinogradOut(o)
	default:
		winogradOutGo(o)
	}
}

//go:noescape
func avx512Largest(dst *uint32, src *float32, vectors int)

//go:noescape
func avx2Largest(dst *uint32, src *float32, vectors int)

// largest sets most to the largest bits, without their signs, of the first elements of v, and
// returns how many those are.
func largest(l simd.Level, most *[16]uint32, v []float32) (done int) {
	n := len(v) / l.Lanes()
	switch {
	case n == 0:
		return 0
	case l == simd.AVX512:
		avx512Largest(&most[0], &v[0], n)
	case l == simd.AVX2:
		avx2Largest(&most[0], &v[0], n)
	default:
		return 0
	}
	return n * l.Lanes()
}

//go:noescape
func avx512WinogradWeights(dst *float32, apart int, src *float32, n int)

//go:noescape
func avx2WinogradWeights(dst *float32, apart int, src *float32, n int)

func winogradWeights(l simd.Level, dst []float32, apart int, src []float32, n int) {
	switch l {
	case simd.AVX512:
		avx512WinogradWeights(&dst[0], apart, &src[0], n)
	case simd.AVX2:
		avx2WinogradWeights(&dst[0], apart, &src[0], n)
	default:
		winogradWeightsGo(dst, apart, src, n)
	}
}
