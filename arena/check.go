package arena

import "math"

// check finds what is wrong with the problem's numbers and indices, constraints aside. It
// returns the sum of all sizes.
func (p *Problem) check() (materialized int64, err error) {
	if err := p.checkPools(); err != nil {
		return 0, err
	}
	if err := p.checkIndices(); err != nil {
		return 0, err
	}
	// reach bounds every offset that first fit can come up with.
	var reach int64
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if err := p.checkBuffer(i); err != nil {
			return 0, err
		}
		if b.Size > math.MaxInt64-materialized {
			return 0, p.fail(ErrSize, i, "size: %d B and %d B before it overflow", b.Size, materialized)
		}
		materialized += b.Size
		room := b.Size
		for _, more := range [...]int64{p.align(b), p.pool(b.Pool).Block, p.fixedOf(b)} {
			if more > math.MaxInt64-room {
				return 0, p.fail(ErrSize, i, "size: offsets up to %d B + %d B overflow", room, more)
			}
			room += more
		}
		if room > math.MaxInt64-reach {
			return 0, p.fail(ErrSize, i, "size: offsets up to %d B + %d B overflow", reach, room)
		}
		reach += room
	}
	return materialized, nil
}

func (p *Problem) align(b *Buffer) int64 {
	switch {
	case b.Align != 0:
		return b.Align
	case p.Align != 0:
		return p.Align
	}
	return DefaultAlign
}

func (p *Problem) fixedOf(b *Buffer) int64 {
	if b.Fixed == nil {
		return 0
	}
	return *b.Fixed
}

func (p *Problem) checkPools() error {
	if p.Align < 0 || p.Align&(p.Align-1) != 0 {
		return p.failAll(ErrAlign, "alignment: got %d B, want a power of two", p.Align)
	}
	if p.Capacity < 0 || p.Block < 0 {
		return p.failAll(ErrPool, "got capacity %d B and block %d B, want at least 0 B", p.Capacity, p.Block)
	}
	seen := make(map[string]bool, len(p.Pools))
	for _, q := range p.Pools {
		if q.Capacity < 0 || q.Block < 0 {
			return p.failAll(ErrPool, "pool %q: got capacity %d B and block %d B, want at least 0 B",
				q.Name, q.Capacity, q.Block)
		}
		if seen[q.Name] {
			return p.failAll(ErrPool, "pool %q: listed twice", q.Name)
		}
		seen[q.Name] = true
	}
	return nil
}

func (p *Problem) checkIndices() error {
	one := func(what string, list ...int) error {
		for _, i := range list {
			if i < 0 || i >= len(p.Buffers) {
				return p.failAll(ErrIndex, "%s: got buffer %d, want one of %d", what, i, len(p.Buffers))
			}
		}
		return nil
	}
	if err := one("external", p.External...); err != nil {
		return err
	}
	for i, a := range p.Aliases {
		if err := one("alias", a.Out, a.In); err != nil {
			return placed(err, "aliases[%d]", i)
		}
	}
	for i, k := range p.Packs {
		if err := one("pack", k...); err != nil {
			return placed(err, "packs[%d]", i)
		}
	}
	for i, k := range p.RowPacks {
		if err := one("row pack", k.Members...); err != nil {
			return placed(err, "row_packs[%d]", i)
		}
		if k.Over != nil {
			if err := one("row pack over", *k.Over); err != nil {
				return placed(err, "row_packs[%d]", i)
			}
		}
	}
	return nil
}

func (p *Problem) checkBuffer(i int) error {
	b := &p.Buffers[i]
	switch {
	case b.Size < 0:
		return p.fail(ErrSize, i, "size: got %d B, want at least 0 B", b.Size)
	case b.Rows < 0:
		return p.fail(ErrSize, i, "rows: got %d, want at least 0", b.Rows)
	case b.Align < 0 || b.Align&(b.Align-1) != 0:
		return p.fail(ErrAlign, i, "alignment: got %d B, want a power of two", b.Align)
	case b.End < b.Start:
		return p.fail(ErrLifetime, i, "lifetime: got end %d, want at least its start %d", b.End, b.Start)
	}
	for _, s := range b.More {
		if s.End < s.Start {
			return p.fail(ErrLifetime, i, "lifetime: got end %d, want at least its start %d", s.End, s.Start)
		}
	}
	if b.Fixed != nil && *b.Fixed < 0 {
		return p.fail(ErrFixed, i, "offset: got %d B, want at least 0 B", *b.Fixed)
	}
	if block := p.pool(b.Pool).Block; block > 0 {
		if block%p.align(b) != 0 {
			return p.fail(ErrBlock, i, "block: got %d B, want a multiple of the alignment, %d B", block, p.align(b))
		}
		if b.Size > block {
			return p.fail(ErrBlock, i, "size: got %d B, want at most the block, %d B", b.Size, block)
		}
	}
	return nil
}
