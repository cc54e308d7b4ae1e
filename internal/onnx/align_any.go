//go:build amd64 || arm64 || 386 || ppc64le || wasm

package onnx

// unalignedOK says that the machine loads words from any address.
const unalignedOK = true
