package main

import (
	"syscall"
	"time"
)

// pause sleeps. The runtime's timers wake a program that has nothing else to do up to a millisecond late; this
// one does so some 0.1 ms late.
func pause(d time.Duration) {
	left := syscall.NsecToTimespec(int64(d))
	// A signal may end it early, which the caller sees from the clock.
	_ = syscall.Nanosleep(&left, nil)
}
