//go:build amd64 && !noasm

package simd

import "github.com/klauspost/cpuid/v2"

var levels = detect()

var dot = cpuid.CPU.Supports(cpuid.AVX512VNNI)

func detect() []Level {
	l := []Level{Generic}
	if !cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.F16C) {
		return l
	}
	l = append(l, AVX2)
	if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512CD, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL) {
		l = append(l, AVX512)
	}
	return l
}
