//go:build arm64 && !noasm

package simd

var levels = []Level{Generic, NEON}

const dot = false
