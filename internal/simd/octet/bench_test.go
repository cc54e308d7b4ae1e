//go:build linux

package octet

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stowage-ml/stowage/internal/simd"
)

// cpu returns the CPU time of the process so far.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkMul reports, by CPU time, the operations a second, two for each multiplication, and the
// bytes of B that are read.
func BenchmarkMul(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range simd.Levels()[1:] {
		for _, s := range [][3]int{{12, 256, 32}, {1, 384, 384}, {1, 384, 51865}, {4, 384, 1536}, {128, 384, 1536}} {
			m, k, n := s[0], s[1], s[2]
			x, y := octets(r, m, k, k), octets(r, k, n, n)
			packed := Pack(l, make([]byte, MatrixBytes(l, k, n)), y, true, n, k, n)
			buf, out := make([]byte, RowsBytes(l, m, k)), make([]int32, m*n)
			b.Run(fmt.Sprintf("%v/%dx%dx%d", l, m, k, n), func(b *testing.B) {
				best := time.Hour
				for b.Loop() {
					start, runs := cpu(), 0
					for runs == 0 || cpu()-start < 300*time.Microsecond {
						rows := Prepare(l, buf, x, false, k, m, 3, &packed, 0)
						rows.Mul(l, &packed, 0, n, out, n, false)
						runs++
					}
					best = min(best, (cpu()-start)/time.Duration(runs))
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(2*float64(m*k*n)/best.Seconds()/1e9, "GOP/s")
				b.ReportMetric(float64(k*n)/best.Seconds()/1e9, "GB/s")
			})
		}
	}
}
