//go:build !linux

package stowage

// physicalMemory returns 0: the machine's memory is not known.
func physicalMemory() int64 { return 0 }
