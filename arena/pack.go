package arena

import "math"

// layPacks makes the items: row packs first, then packs, then every storage that is in neither.
func (m *model) layPacks() error {
	m.items = make([]item, 0, len(m.storages))
	for i, k := range m.p.RowPacks {
		if err := m.layRowPack(k); err != nil {
			return placed(err, "row_packs[%d]", i)
		}
	}
	for i, k := range m.p.Packs {
		if err := m.layPack(k); err != nil {
			return placed(err, "packs[%d]", i)
		}
	}
	parts := make([]int32, len(m.storages))
	for c := range m.storages {
		if s := &m.storages[c]; s.item < 0 {
			s.item = int32(len(m.items))
			parts[c] = int32(c)
			m.items = append(m.items, item{
				size: s.size, align: s.align, start: s.start, end: s.end, spans: s.spans,
				key: s.low, fixed: -1, parts: parts[c : c+1 : c+1], over: -1, solid: 1,
			})
		}
	}
	if err := m.checkViews(); err != nil {
		return err
	}
	return m.checkBlocks()
}

// checkViews finds an alias of a row-packed buffer that has other rows: it would not find its
// bytes where the pack lays them. A storage that fills its row, or has one row, is dense, and
// lets itself be viewed any way.
func (m *model) checkViews() error {
	if len(m.p.RowPacks) == 0 || len(m.p.Aliases) == 0 {
		return nil
	}
	for i := range m.p.Buffers {
		if m.external[i] {
			continue
		}
		s, rows := &m.storages[m.class[i]], max(m.p.Buffers[i].Rows, 1)
		if s.strided() && rows != s.rows {
			return m.p.fail(ErrRows, i, "alias of a row-packed buffer: got %d rows, want %d", rows, s.rows)
		}
	}
	return nil
}

func (m *model) checkBlocks() error {
	for i := range m.items {
		it := &m.items[i]
		if len(it.parts) < 2 {
			continue
		}
		block := m.p.pool(m.p.Buffers[it.key].Pool).Block
		if block > 0 && it.size > block {
			return m.p.fail(ErrBlock, int(it.key), "pack: got %d B, want at most the block, %d B", it.size, block)
		}
	}
	return nil
}

func (m *model) layPack(members []int) error {
	it := item{fixed: -1, over: -1}
	for _, i := range members {
		if m.external[i] {
			return m.p.fail(ErrExternal, i, "pack names an external buffer")
		}
		if err := m.take(&it, i, it.size); err != nil {
			return err
		}
		if m.p.Buffers[i].Size > math.MaxInt64-it.size {
			return m.p.fail(ErrSize, i, "pack: %d B and %d B before it overflow", m.p.Buffers[i].Size, it.size)
		}
		it.size += m.p.Buffers[i].Size
	}
	m.seal(it)
	return nil
}

func (m *model) layRowPack(k RowPack) error {
	p := m.p
	it := item{fixed: -1, over: -1}
	if len(k.Members) > 0 {
		it.rows = max(p.Buffers[k.Members[0]].Rows, 1)
	}
	var row int64
	for _, i := range k.Members {
		if err := m.checkRows(i, it.rows); err != nil {
			return err
		}
		if err := m.take(&it, i, row); err != nil {
			return err
		}
		row += p.Buffers[i].Size / it.rows
	}
	it.size = row * it.rows
	if k.Over != nil {
		i := *k.Over
		if err := m.checkRows(i, it.rows); err != nil {
			return err
		}
		if err := m.take(&it, i, 0); err != nil {
			return err
		}
		if got := p.Buffers[i].Size; got != it.size {
			return p.fail(ErrOver, i, "row pack over it: got members of %d B, want its size, %d B", it.size, got)
		}
		it.over = m.class[i]
	}
	for _, c := range it.parts {
		m.storages[c].stride, m.storages[c].rows = row, it.rows
	}
	m.seal(it)
	return nil
}

// checkRows finds why buffer i cannot be in a row pack of that many rows.
func (m *model) checkRows(i int, rows int64) error {
	b := &m.p.Buffers[i]
	switch {
	case m.external[i]:
		return m.p.fail(ErrExternal, i, "row pack names an external buffer")
	case max(b.Rows, 1) != rows:
		return m.p.fail(ErrRows, i, "row pack: got %d rows, want %d", max(b.Rows, 1), rows)
	case b.Size%rows != 0:
		return m.p.fail(ErrRows, i, "row pack: got %d B in %d rows, want rows of one size", b.Size, rows)
	}
	return nil
}

// take puts the storage of buffer i into the item, at an offset of its own.
func (m *model) take(it *item, i int, within int64) error {
	c := m.class[i]
	s := &m.storages[c]
	if s.item >= 0 {
		return m.p.fail(ErrPacked, i, "packed twice")
	}
	if len(it.parts) > 0 {
		if got, want := m.p.Buffers[i].Pool, m.p.Buffers[it.key].Pool; got != want {
			return m.p.fail(ErrPool, i, "pack: got pool %q, want the other members' pool %q", got, want)
		}
		it.key = min(it.key, s.low)
	} else {
		it.key = s.low
	}
	s.item, s.within = int32(len(m.items)), within
	it.align = max(it.align, s.align)
	it.parts = append(it.parts, c)
	return nil
}

// seal works out the item's life and adds it to the items. An empty pack adds nothing.
func (m *model) seal(it item) {
	if len(it.parts) == 0 {
		return
	}
	var life []Span
	for _, c := range it.parts {
		s := &m.storages[c]
		if s.size > 0 && c != it.over {
			it.solid++
		}
		life = append(life, lifeOf(s.start, s.end, s.spans)...)
	}
	it.start, it.end, it.spans = merge(life)
	m.items = append(m.items, it)
}
