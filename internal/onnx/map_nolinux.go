//go:build !linux

package onnx

// adviseSparse does nothing: the standard library cannot advise these systems.
func adviseSparse([]byte, bool) {}

// releaseBytes does nothing, as adviseSparse.
func releaseBytes([]byte) {}
