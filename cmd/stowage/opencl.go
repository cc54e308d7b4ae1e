//go:build !static

package main

// The usual build finds OpenCL devices; one with the tag static needs no library, and finds none.
import _ "github.com/stowage-ml/stowage/device/opencl"
