//go:build !unix

package place

import "time"

var started = time.Now()

// cpuTime returns the time since the program started, where there is no other.
func cpuTime() time.Duration { return time.Since(started) }
