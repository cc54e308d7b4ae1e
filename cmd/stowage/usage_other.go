//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package main

import "time"

// cpuTime is not known on this system.
func cpuTime() (time.Duration, bool) { return 0, false }

// peakRSS is not known on this system.
func peakRSS() (int64, bool) { return 0, false }
