package cost

import "github.com/stowage-ml/stowage/internal/simd"

// Default returns the model for whoever has measured nothing and named no processor.
func Default() *Model { return &Model{Device: "cpu", Rates: Typical(simd.AVX2, 1)} }

// Typical returns the rates of a usual processor of a vector level with so many workers: round
// numbers, the same everywhere, so that plans that rest on them are too.
func Typical(l simd.Level, threads int) *Rates {
	threads = max(threads, 1)
	t := float64(threads)
	peak := 4.0
	switch l {
	case simd.AVX512:
		peak = 150
	case simd.AVX2:
		peak = 90
	case simd.NEON:
		peak = 45
	}
	// A memory channel or two serve all workers; each has caches of its own but for the last.
	band := func(bytes, one, most float64) Band {
		return Band{Bytes: bytes, Rate: Rate{One: one, All: min(one*t, max(most, one))}}
	}
	return &Rates{
		Threads: threads,
		Peak:    Rate{One: peak, All: peak * t},
		Stream: []Band{
			band(16<<10, 120, 120*t), band(256<<10, 60, 60*t), band(4<<20, 30, 90), band(64<<20, 14, 28),
		},
		Launch:  150,
		Share:   2500,
		Reorder: 25,
		Scalar:  usualScalar,
	}
}
