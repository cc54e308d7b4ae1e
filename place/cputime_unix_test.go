//go:build unix

package place

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time that the program has used outside of the kernel.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano())
}
