package onnx

import "syscall"

// adviseSparse tells the system whether a mapping is read here and there, so that nothing is
// read ahead. That it fails does no harm.
func adviseSparse(b []byte, sparse bool) {
	advice := syscall.MADV_NORMAL
	if sparse {
		advice = syscall.MADV_RANDOM
	}
	_ = syscall.Madvise(b, advice)
}

// releaseBytes unmaps the pages of a mapping, which stays valid: a page that is looked at again
// is mapped again. That it fails does no harm.
func releaseBytes(b []byte) { _ = syscall.Madvise(b, syscall.MADV_DONTNEED) }
