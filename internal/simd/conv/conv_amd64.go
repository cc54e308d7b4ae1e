//go:build amd64 && !noasm

package conv

import "github.com/stowage-ml/stowage/internal/simd"

//go:generate go run -C ../../../tools ./genconv -level avx512 -o ../internal/simd/conv/avx512_amd64.s
//go:generate go run -C ../../../tools ./genconv -level avx2 -o ../internal/simd/conv/avx2_amd64.s

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
