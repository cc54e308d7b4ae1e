//go:build !race

package stowage_test

const raceDetector = false
