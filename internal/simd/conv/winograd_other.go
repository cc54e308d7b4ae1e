//go:build noasm || !amd64

package conv

import "github.com/stowage-ml/stowage/internal/simd"

func winogradIn(_ simd.Level, dst []float32, apart int, src []float32, pitch, tiles int) {
	winogradInGo(dst, apart, src, pitch, tiles)
}

func winogradOut(_ simd.Level, o *Output) { winogradOutGo(o) }

func largest(simd.Level, *[16]uint32, []float32) (done int) { return 0 }

func winogradWeights(_ simd.Level, dst []float32, apart int, src []float32, n int) {
	winogradWeightsGo(dst, apart, src, n)
}
