//go:build linux && amd64 && !noasm

package gemm

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stowage-ml/stowage/internal/simd"
)

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkFewRows(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range simd.Levels()[1:] {
		for _, s := range [][3]int{{1, 384, 384}, {1, 384, 1536}, {1, 1536, 384}, {1, 1024, 1024}, {1, 4096, 4096},
			{3, 1024, 1024}} {
			m := Mul{M: s[0], K: s[1], N: s[2], LDA: s[1], LDB: s[2], LDC: s[2]}
			_, m.A = noise(r, m.M, m.K, m.LDA)
			_, m.B = noise(r, m.K, m.N, m.LDB)
			_, m.C = noise(r, m.M, m.N, m.LDC)
			p := make([]float32, PackedLen(l, m.K, m.N))
			Pack(l, p, m.B, m.LDB, m.K, m.N)
			for _, how := range []string{"wide", "stream", "packed"} {
				n := m
				if how == "packed" {
					n.B, n.Packed, n.LDB = p, true, m.K
				}
				b.Run(fmt.Sprintf("%v/%dx%dx%d/%s", l, m.M, m.K, m.N, how), func(b *testing.B) {
					if how == "wide" {
						defer func(n int) { streamSize = n }(streamSize)
						streamSize = 1 << 40
					} else {
						streamSize = 0
					}
					best := time.Hour
					for b.Loop() {
						start, k := cpuTime(), 0
						for k == 0 || cpuTime()-start < 300*time.Microsecond {
							n.Run(l)
							k++
						}
						best = min(best, (cpuTime()-start)/time.Duration(k))
					}
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(float64(4*m.K*m.N)/best.Seconds()/1e9, "GB/s")
				})
			}
		}
	}
}
