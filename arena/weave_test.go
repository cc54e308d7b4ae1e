package arena

import (
	"context"
	"math/rand/v2"
	"testing"
)

// cell is a byte of an item at an instant.
type cell struct{ now, at int64 }

// exhaust returns the best arena of a problem in one pool by trying every offset of every item; ok
// is false when that is too many. It looks at bytes one by one.
func exhaust(p *Problem) (best int64, ok bool) {
	m, err := newModel(p)
	if err != nil {
		panic(err)
	}
	e := exhaustive{m: m, g: &m.pools[0], taken: map[cell]int{}, best: 1 << 62, left: 60_000}
	e.cells = make([][]cell, len(e.g.items))
	for k, i := range e.g.items {
		e.cells[k] = cellsOf(m, &m.items[i])
	}
	plan, err := Solve(context.Background(), p, Options{Strategy: Seed})
	if err != nil {
		panic(err)
	}
	e.best = plan.Arena
	e.run(0, 0)
	return e.best, e.left > 0
}

type exhaustive struct {
	m     *model
	g     *group
	cells [][]cell
	taken map[cell]int
	best  int64
	left  int
}

// cellsOf lists the bytes that the item's storages take, instant by instant.
func cellsOf(m *model, it *item) []cell {
	seen := map[cell]bool{}
	var out []cell
	for _, c := range it.parts {
		s := &m.storages[c]
		if s.size == 0 {
			continue
		}
		rows, stride := int64(1), int64(0)
		if s.rows > 1 {
			rows, stride = s.rows, s.stride
		}
		for _, life := range lifeOf(s.start, s.end, s.spans) {
			for now := life.Start; now < life.End; now++ {
				for r := range rows {
					for b := range s.size / rows {
						x := cell{now, s.within + r*stride + b}
						if !seen[x] {
							seen[x] = true
							out = append(out, x)
						}
					}
				}
			}
		}
	}
	return out
}

func (e *exhaustive) run(k int, top int64) {
	if e.left--; e.left < 0 || top >= e.best {
		return
	}
	if k == len(e.g.items) {
		e.best = top
		return
	}
	it := &e.m.items[e.g.items[k]]
	for off := int64(0); off+it.size < e.best || it.size == 0 && off == 0; off += it.align {
		if it.fixed >= 0 && off != it.fixed {
			if off < it.fixed {
				continue
			}
			return
		}
		if b := e.g.Block; b > 0 && it.size > 0 && off/b != (off+it.size-1)/b || !e.free(k, off) {
			continue
		}
		e.mark(k, off, 1)
		end := top
		if it.size > 0 {
			end = max(top, off+it.size)
		}
		e.run(k+1, end)
		e.mark(k, off, -1)
	}
}

func (e *exhaustive) free(k int, off int64) bool {
	for _, x := range e.cells[k] {
		if e.taken[cell{x.now, x.at + off}] > 0 {
			return false
		}
	}
	return true
}

func (e *exhaustive) mark(k int, off int64, by int) {
	for _, x := range e.cells[k] {
		e.taken[cell{x.now, x.at + off}] += by
	}
}

// TestWovenPlansAreBestPossible compares plans of packs and row packs with every arrangement of
// their bytes: never below the best, seldom above it, and at times below every plan of blocks.
func TestWovenPlansAreBestPossible(t *testing.T) {
	tried, best, below := 0, 0, 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 77))
		tr := everything(2 + rng.IntN(4))
		tr.pools = false
		p := tr.problem(rng)
		if len(p.Packs)+len(p.RowPacks) == 0 {
			continue
		}
		least, ok := exhaust(p)
		if !ok {
			continue
		}
		plan := solve(t, p, Auto)
		tried++
		if plan.Arena < least || plan.LowerBound > least {
			t.Fatalf("seed %d: got arena %d B over bound %d B, want the best, %d B, between", seed, plan.Arena,
				plan.LowerBound, least)
		}
		if plan.Arena == least {
			best++
		}
		if plan.Arena < bruteForce(p) {
			below++
		}
	}
	t.Logf("%d problems, %d at the best, %d below all plans of blocks", tried, best, below)
	if tried < 50 || best < tried*9/10 || below < 3 {
		t.Errorf("of %d problems %d plans are best and %d below blocks: want 50, nine in ten, and 3", tried, best, below)
	}
}

// TestSmallBuffersLieBetweenRows gives a buffer the hole that a dead member of a row pack leaves.
func TestSmallBuffersLieBetweenRows(t *testing.T) {
	p := &Problem{Align: 1, Buffers: []Buffer{
		{Name: "left", Size: 40, Rows: 4, Start: 0, End: 10},
		{Name: "right", Size: 40, Rows: 4, Start: 8, End: 10},
		{Name: "fits", Size: 10, Start: 0, End: 8},
		{Name: "fits too", Size: 7, Start: 2, End: 7},
		{Name: "too wide", Size: 11, Start: 8, End: 10},
	}, RowPacks: []RowPack{{Members: []int{0, 1}}}}
	plan := solve(t, p, Auto)
	if plan.Arena != 91 || !plan.Proven {
		t.Errorf("got %d B, proven %t, offsets %v, want 91 B: the pack, and the one that is too wide for its holes",
			plan.Arena, plan.Proven, plan.Offsets)
	}
}

// TestRowPacksOfOnePitchInterlock puts two row packs of equal rows into each other's holes.
func TestRowPacksOfOnePitchInterlock(t *testing.T) {
	p := &Problem{Align: 1, Buffers: []Buffer{
		{Name: "a", Size: 16, Rows: 4, Start: 0, End: 6},
		{Name: "b", Size: 16, Rows: 4, Start: 5, End: 6},
		{Name: "c", Size: 16, Rows: 4, Start: 0, End: 4},
		{Name: "d", Size: 16, Rows: 4, Start: 9, End: 10},
	}, RowPacks: []RowPack{{Members: []int{0, 1}}, {Members: []int{2, 3}}}}
	plan := solve(t, p, Auto)
	if plan.Arena != 36 {
		t.Errorf("got %d B at %v, want 36 B: one pack shifted by half a row", plan.Arena, plan.Offsets)
	}
}
