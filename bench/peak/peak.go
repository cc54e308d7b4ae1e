// Package peak measures the rate of multiply-adds that one thread of this machine can reach: what
// kernels are compared with. It knows nothing of kernels.
package peak

import "time"

// GFlops returns the best rate of float32 multiply-adds in registers over a tenth of a second, in
// 10⁹ operations a second, two for each multiply-add; 0 where it cannot be measured.
func GFlops() float64 {
	best := 0.0
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		start := time.Now()
		flop := work(100_000)
		best = max(best, flop/float64(time.Since(start)))
	}
	return best
}
