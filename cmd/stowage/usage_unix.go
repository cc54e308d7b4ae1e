//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package main

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpuTime returns the CPU time, user and system, that the process has used.
func cpuTime() (time.Duration, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}

// peakRSS returns the largest resident set that the process has had, in bytes. Linux counts a
// parent's peak in getrusage, so its own file is read there.
func peakRSS() (int64, bool) {
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
			rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:")
			if kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64); ok && err == nil {
				return kib * 1024, true
			}
		}
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	unit := int64(1024)
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	return int64(u.Maxrss) * unit, true
}
