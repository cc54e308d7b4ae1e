//go:build race

package stowage_test

// raceDetector says that the race detector is on: it makes pools forget at random, so that what
// is kept for the next run cannot be counted on.
const raceDetector = true
