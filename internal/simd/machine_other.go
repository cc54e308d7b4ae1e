//go:build noasm || (!amd64 && !arm64)

package simd

// processor is not known: nothing asks it for its instructions.
func processor() string { return "generic" }
