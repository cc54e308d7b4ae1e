//go:build noasm || (!amd64 && !arm64)

package simd

var levels = []Level{Generic}

const dot = false
