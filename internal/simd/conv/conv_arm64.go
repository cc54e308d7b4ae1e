//go:build arm64 && !noasm

package conv

import "github.com/stowage-ml/stowage/internal/simd"

//go:noescape
func neonTiles(t *Tile, shape int)

func run(l simd.Level, t *Tile) {
	if l == simd.NEON {
		neonTiles(t, t.Pixels)
		return
	}
	generic(t)
}
