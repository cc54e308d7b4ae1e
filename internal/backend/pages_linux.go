package backend

import "syscall"

// adviseHuge asks the system for large pages. That it fails does no harm.
func adviseHuge(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
