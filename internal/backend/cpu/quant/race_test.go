//go:build race

package quant

// raced says that the race detector is on, under which pools forget what they are given.
const raced = true
