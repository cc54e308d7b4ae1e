//go:build !amd64 || noasm

package move

import "github.com/stowage-ml/stowage/internal/simd"

// transposeTiles reports that there is no assembly.
func transposeTiles(simd.Level, []uint32, []uint32, Matrix) (ok bool) { return false }

// batchTiles reports that there is no assembly.
func batchTiles(simd.Level, []uint32, []uint32, int, int, int, Matrix) (ok bool) { return false }
