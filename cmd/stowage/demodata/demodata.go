// Package demodata holds what the demonstration runs: a picture that the repository draws itself,
// and a small model that finds its edges and corners. Both are written by tools/gendemo.
package demodata

import _ "embed" // for the two files

// Model is an ONNX file. Its input picture is float32 [1,3,height,width] from 0 to 1, both sides
// at least 8. Its outputs are edges, a picture of the same shape; half, quarter and eighth, the
// picture's blur pyramid; and corners, int64 [found,2], the row and column of every corner. It
// must not be changed.
//
//go:embed demo.onnx
var Model []byte

// Picture is a PNG file of 480×320 pixels. It must not be changed.
//
//go:embed demo.png
var Picture []byte
