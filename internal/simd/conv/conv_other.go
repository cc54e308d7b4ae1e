//go:build noasm || (!amd64 && !arm64)

package conv

import "github.com/stowage-ml/stowage/internal/simd"

func run(_ simd.Level, t *Tile) { generic(t) }
