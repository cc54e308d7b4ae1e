package simd

import "runtime"

// Machine describes the processor as far as code for it runs at another speed elsewhere: its name
// and model, and the instructions that it has.
func Machine() string { return runtime.GOARCH + " " + processor() }
