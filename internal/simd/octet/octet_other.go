//go:build !amd64 || noasm

package octet

import "github.com/stowage-ml/stowage/internal/simd"

func (r *Rows) vector(simd.Level, *Matrix, int, int, []int32, int, bool) bool { return false }

func (x Number) rowPart(simd.Level, []byte, *[4][]byte, int) int { return 0 }

func (v *Conv) vector(simd.Level) bool { return false }

func sumPart(simd.Level, []byte) (n int, sum int32) { return 0, 0 }

func widenPart(simd.Level, []byte, []byte, bool, int32) (n int, sum int32) { return 0, 0 }

func quantise(simd.Level, []byte, []float32, *Steps) int { return 0 }

func requantise(simd.Level, []byte, []int32, *Steps) int { return 0 }

func requantiseEach(simd.Level, []byte, []int32, []float32, *Steps) int { return 0 }

func dequantise(simd.Level, []float32, []byte, *Steps, bool) int { return 0 }
