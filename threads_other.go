//go:build !linux

package stowage

// cpuQuota returns 0: this system has no quota of processor time for a process.
func cpuQuota() int { return 0 }
