package cost

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/probe"
	"github.com/stowage-ml/stowage/tensor"
)

// The sizes of what is streamed, in bytes read and written together: caches of the first, second
// and third level of usual processors, and memory.
var bandBytes = [...]int{16 << 10, 256 << 10, 4 << 20, 32 << 20}

const (
	// burst is the least length of one measurement, bursts their number: the fastest counts, since
	// other programs and interrupts only ever slow one down.
	burst  = 400 * time.Microsecond
	bursts = 4
)

// Measure finds the rates of the processor with so many workers, in about 30 ms (more when other
// programs keep it busy).
func Measure(threads int) *Rates {
	threads = max(1, min(threads, runtime.GOMAXPROCS(0)))
	l := simd.Best()
	r := &Rates{Threads: threads}
	team := backend.NewTeam(threads)
	defer team.Close()
	p := &prober{level: l, team: team}
	r.Peak = p.rate(p.fma)
	p.fill(bandBytes[len(bandBytes)-1] / 8)
	for _, n := range bandBytes {
		p.each = n / 8
		r.Stream = append(r.Stream, Band{Bytes: float64(n), Rate: p.rate(p.copy)})
	}
	r.Launch, r.Share = p.launches()
	r.Scalar = best(func() float64 { return scalar(1000) })
	r.Reorder = best(p.reorder)
	r.settle()
	return r
}

// settle makes rates of what was disturbed plausible: all workers are not slower than one, nor
// faster than as many of that.
func (r *Rates) settle() {
	r.Peak.settle(r.Threads)
	for i := range r.Stream {
		r.Stream[i].settle(r.Threads)
	}
}

func (r *Rate) settle(threads int) { r.All = max(r.One, min(r.All, r.One*float64(threads))) }

// prober holds what the measurements work on.
type prober struct {
	level simd.Level
	team  *backend.Team
	// src and dst are streamed; each is how many elements of both one worker or all of them copy.
	src, dst []float32
	each     int
	sink     sync.Map
}

func (p *prober) fill(n int) {
	p.src, p.dst = make([]float32, n), make([]float32, n)
	for i := range p.src {
		p.src[i], p.dst[i] = float32(i), 1
	}
}

// best calls f, which returns a rate, and returns the greatest.
func best(f func() float64) float64 {
	most := 0.0
	for range bursts {
		most = max(most, f())
	}
	return max(most, 1e-6)
}

// rate returns the rate of f, which works on part i of n and returns how much it did, for one
// worker and for all at once.
func (p *prober) rate(f func(i, n int) float64) Rate {
	one := best(func() float64 { return timed(func() float64 { return f(0, 1) }) })
	n := p.team.Size()
	if n == 1 {
		return Rate{One: one, All: one}
	}
	return Rate{One: one, All: best(func() float64 { return together(n, f) })}
}

// together returns the sum of the rates of n workers that start at the same time.
func together(n int, f func(i, n int) float64) float64 {
	var ready atomic.Int64
	var group sync.WaitGroup
	rates := make([]float64, n)
	for i := range n {
		group.Go(func() {
			ready.Add(1)
			for ready.Load() < int64(n) {
				runtime.Gosched()
			}
			rates[i] = timed(func() float64 { return f(i, n) })
		})
	}
	group.Wait()
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return sum
}

// timed repeats f for at least a burst, and returns the amount done per ns.
func timed(f func() float64) float64 {
	sum, start := 0.0, time.Now()
	for {
		sum += f()
		if took := time.Since(start); took >= burst {
			return sum / float64(took.Nanoseconds())
		}
	}
}

// fma does some 10 µs of multiply-adds.
func (p *prober) fma(i, _ int) float64 {
	const n = 4000
	p.keep(i, probe.FMA(p.level, 1, 1, n))
	return 2 * n * float64(probe.Sums(p.level))
}

// copy streams a worker's part, often enough to outweigh a start.
func (p *prober) copy(i, n int) float64 {
	lo, hi := p.each*i/n, p.each*(i+1)/n
	times := max(1, (64<<10)/(hi-lo))
	for range times {
		probe.Copy(p.level, p.dst[lo:hi], p.src[lo:hi])
	}
	return float64(times) * 8 * float64(hi-lo)
}

// keep stores a result, so that no compiler may leave out what computes it.
func (p *prober) keep(i int, v float32) { p.sink.Store(i, v) }

// launches measures the call of a kernel that does nothing, with its operands set anew, and what
// sharing one among all workers adds, in ns.
func (p *prober) launches() (launch, share float64) {
	c := &backend.Call{Team: p.team, In: make([]backend.View, 0, 2), Out: make([]backend.View, 0, 1)}
	shape := tensor.Shape{1, 1}
	nothing := func(*backend.Call, int, int) {}
	kernels := [2]backend.Kernel{func(*backend.Call) error { return nil },
		func(c *backend.Call) error { c.Par(p.team.Size(), nothing); return nil }}
	var ns [2]float64
	for i, k := range kernels {
		ns[i] = 1 / best(func() float64 {
			return timed(func() float64 {
				for range 16 {
					v := backend.View{DType: tensor.Float32, Shape: shape}
					c.In, c.Out = append(c.In[:0], v, v), append(c.Out[:0], v)
					if k(c) != nil {
						return 0
					}
				}
				return 16
			})
		})
	}
	// The executor does as much again around a call.
	launch = max(2*ns[0], 50)
	return launch, max(ns[1]-ns[0], 1)
}

// scalar does n dependent loads and multiply-adds, as slow code does for each element, and returns
// the operations per ns.
func scalar(n int) float64 {
	table := [64]float32{}
	for i := range table {
		table[i] = 1 / float32(i+1)
	}
	var sum float32
	rate := timed(func() float64 {
		for i := range n {
			sum = float32(table[(i*7)%len(table)]*sum) + 1
		}
		return 2 * float64(n)
	})
	if math.IsNaN(float64(sum)) {
		return 0
	}
	return rate
}

// reorder changes blocks of 8 channels to rows and back in the nearest cache, and returns the
// bytes read and written per ns.
func (p *prober) reorder() float64 {
	const side, block = 256, 8
	src, dst := p.src[:side*block], p.dst[:side*block]
	return timed(func() float64 {
		for c := range block {
			row := dst[c*side:][:side]
			for i := range row {
				row[i] = src[i*block+c]
			}
		}
		return 2 * 4 * side * block
	})
}
