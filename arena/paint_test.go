package arena

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// paint looks for two storages that are live at one instant and hold one byte, instant by instant
// and byte by byte. at gives the offset of each buffer and stride its row stride.
func paint(p *Problem, at, stride []int64) (clash bool) {
	class := make([]int, len(p.Buffers))
	for i := range class {
		class[i] = i
	}
	for range p.Aliases {
		for _, a := range p.Aliases {
			low := min(class[a.Out], class[a.In])
			class[a.Out], class[a.In] = low, low
		}
	}
	allowed := map[[2]int]bool{}
	for _, k := range p.RowPacks {
		for _, i := range k.Members {
			if k.Over != nil {
				allowed[[2]int{class[i], class[*k.Over]}] = true
				allowed[[2]int{class[*k.Over], class[i]}] = true
			}
		}
	}
	for now := int64(-20); now < 40; now++ {
		owners := map[int64][]int{}
		for i := range p.Buffers {
			b := &p.Buffers[i]
			if slices.Contains(p.External, i) || !b.liveAt(now) {
				continue
			}
			rows := max(b.Rows, 1)
			for j := range b.Size {
				at := at[i] + j
				if b.Size%rows == 0 {
					at = at - j + j/(b.Size/rows)*stride[i] + j%(b.Size/rows)
				}
				for _, o := range owners[at] {
					if o != class[i] && !allowed[[2]int{o, class[i]}] {
						return true
					}
				}
				owners[at] = append(owners[at], class[i])
			}
		}
	}
	return false
}

func TestValidateAgreesWithPainting(t *testing.T) {
	clashes := 0
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 9))
		tr := everything(2 + rng.IntN(8))
		tr.pools, tr.block, tr.fixed = false, false, false
		p := tr.problem(rng)
		plan := solve(t, p, Seed)
		if paint(p, plan.Offsets, plan.RowStride) {
			t.Fatalf("seed %d: the seed's plan clashes", seed)
		}
		m, err := newModel(p)
		if err != nil {
			t.Fatal(err)
		}
		// Move one unit, and set the totals right: what can be wrong then is an overlap.
		it := &m.items[rng.IntN(len(m.items))]
		delta := it.align * (rng.Int64N(12) - 4)
		base := plan.Offsets[m.storages[it.parts[0]].low] - m.storages[it.parts[0]].within
		if base+delta < 0 {
			continue
		}
		for i, c := range m.class {
			if c >= 0 && slices.Contains(it.parts, c) {
				plan.Offsets[i] += delta
			}
		}
		v := &verifier{p: p, plan: plan}
		for _, step := range []func() error{v.shape, v.indices, v.classes, v.places, v.packs, v.rowPacks, v.strides,
			v.reach} {
			if err := step(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		plan.Arena = v.ends[""]
		plan.Pools[0].Arena, plan.Proven = plan.Arena, plan.Arena == plan.LowerBound
		want := paint(p, plan.Offsets, plan.RowStride)
		if got := Validate(p, plan); (got != nil) != want {
			t.Fatalf("seed %d: got %v, want a clash: %t", seed, got, want)
		}
		if want {
			clashes++
		}
	}
	if clashes < 100 {
		t.Errorf("got %d clashes, want at least 100 for the test to mean something", clashes)
	}
}

// TestBoundHoldsByteByByte tries every offset of every unit: no arrangement that paints no byte
// twice is under the lower bound, though it may use the bytes of dead members of a pack.
func TestBoundHoldsByteByByte(t *testing.T) {
	below := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 10))
		p := traits{n: 2 + rng.IntN(3), packs: true, rowPacks: true}.problem(rng)
		p.Align = 1 << rng.IntN(3)
		for i := range p.Buffers {
			b := &p.Buffers[i]
			b.Align, b.Size, b.End = 0, b.Size%4*max(b.Rows, 1), b.Start+rng.Int64N(3)
			b.Start, b.End = b.Start%2, b.Start%2+1+rng.Int64N(2)
		}
		for _, k := range p.RowPacks {
			if k.Over != nil {
				row := int64(0)
				for _, i := range k.Members {
					row += p.Buffers[i].Size
				}
				p.Buffers[*k.Over].Size = row
			}
		}
		plan := solve(t, p, Auto)
		best := everyOffset(t, p, plan)
		if best < plan.LowerBound {
			t.Fatalf("seed %d: lower bound: got %d B, want at most %d B", seed, plan.LowerBound, best)
		}
		if best < plan.Arena {
			below++
		}
	}
	t.Logf("%d plans use more than byte by byte is needed", below)
}

func everyOffset(t *testing.T, p *Problem, plan *Plan) int64 {
	t.Helper()
	m, err := newModel(p)
	if err != nil {
		t.Fatal(err)
	}
	best := plan.Arena
	at := make([]int64, len(p.Buffers))
	var search func(k int, top int64)
	search = func(k int, top int64) {
		if k == len(m.items) {
			if !paint(p, at, plan.RowStride) {
				best = top
			}
			return
		}
		it := &m.items[k]
		for base := int64(0); max(top, base+it.size) < best; base += it.align {
			for i, c := range m.class {
				if slices.Contains(it.parts, c) {
					at[i] = base + m.storages[c].within
				}
			}
			search(k+1, max(top, base+it.size))
		}
	}
	search(0, 0)
	return best
}
