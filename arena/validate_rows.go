package arena

// rowsOf is the row count of buffer i.
func (v *verifier) rowsOf(i int) int64 {
	if r := v.p.Buffers[i].Rows; r > 1 {
		return r
	}
	return 1
}

// extent is the number of bytes from the first of buffer i to its last.
func (v *verifier) extent(i int) int64 {
	size, rows := v.p.Buffers[i].Size, v.rowsOf(i)
	if size == 0 || v.rowPack[v.class[i]] < 0 {
		return size
	}
	return (rows-1)*v.plan.RowStride[i] + size/rows
}

// rowPacks checks that the members of a row pack lie side by side in each row.
func (v *verifier) rowPacks() error {
	for _, k := range v.p.RowPacks {
		var row int64
		for _, i := range k.Members {
			if got, want := v.rowsOf(i), v.rowsOf(k.Members[0]); got != want {
				return v.bad(i, "rows: got %d, want %d like the rest of its row pack", got, want)
			}
			row += v.p.Buffers[i].Size / v.rowsOf(i)
		}
		within := int64(0)
		for _, i := range k.Members {
			if err := v.member(k, i, row); err != nil {
				return err
			}
			want := v.plan.Offsets[k.Members[0]] + within
			if got := v.plan.Offsets[i]; got != want {
				return v.bad(i, "offset: got %d B, want %d B, its column of the row pack", got, want)
			}
			within += v.p.Buffers[i].Size / v.rowsOf(i)
		}
		if k.Over == nil || len(k.Members) == 0 {
			continue
		}
		i := *k.Over
		if err := v.member(k, i, row); err != nil {
			return err
		}
		if got, want := v.plan.Offsets[i], v.plan.Offsets[k.Members[0]]; got != want {
			return v.bad(i, "offset: got %d B, want %d B like the row pack over it", got, want)
		}
		if got, want := v.p.Buffers[i].Size, row*v.rowsOf(i); got != want {
			return v.bad(i, "size: got %d B, want %d B like the row pack over it", got, want)
		}
	}
	return nil
}

// member checks the rows of one buffer of a row pack.
func (v *verifier) member(k RowPack, i int, row int64) error {
	if got, want := v.rowsOf(i), v.rowsOf(k.Members[0]); got != want {
		return v.bad(i, "rows: got %d, want %d like the rest of its row pack", got, want)
	}
	if v.p.Buffers[i].Size%v.rowsOf(i) != 0 {
		return v.bad(i, "size: got %d B, want a multiple of its %d rows", v.p.Buffers[i].Size, v.rowsOf(i))
	}
	if got := v.plan.RowStride[i]; got != row {
		return v.bad(i, "row stride: got %d B, want %d B, the row of its pack", got, row)
	}
	if v.p.Buffers[i].Pool != v.p.Buffers[k.Members[0]].Pool {
		return v.bad(i, "pool: got %q, want %q like the rest of its pack",
			v.p.Buffers[i].Pool, v.p.Buffers[k.Members[0]].Pool)
	}
	return nil
}

// strides checks the row strides of the buffers that no row pack names.
func (v *verifier) strides() error {
	named := make([]bool, len(v.class))
	// model is the buffer that a row pack names, by class.
	model := make(map[int]int)
	for _, k := range v.p.RowPacks {
		for _, i := range k.Members {
			named[i], model[v.class[i]] = true, i
		}
		if k.Over != nil {
			named[*k.Over], model[v.class[*k.Over]] = true, *k.Over
		}
	}
	for i := range v.p.Buffers {
		if named[i] {
			continue
		}
		want := v.p.Buffers[i].Size / v.rowsOf(i)
		if v.external[i] {
			want = 0
		} else if j, ok := model[v.class[i]]; ok {
			if v.rowsOf(i) == v.rowsOf(j) {
				want = v.plan.RowStride[j]
			} else if v.gaps(j) {
				return v.bad(i, "rows: got %d, want %d like its alias %q, whose rows lie apart",
					v.rowsOf(i), v.rowsOf(j), v.p.name(j))
			}
		}
		if got := v.plan.RowStride[i]; got != want {
			return v.bad(i, "row stride: got %d B, want %d B", got, want)
		}
	}
	return nil
}

// gaps says whether the rows of buffer i lie apart.
func (v *verifier) gaps(i int) bool {
	return v.rowsOf(i) > 1 && v.p.Buffers[i].Size > 0 && v.extent(i) != v.p.Buffers[i].Size
}

// reach works out where each pool ends, and compares it with the capacity.
func (v *verifier) reach() error {
	v.ends = make(map[string]int64)
	for i, b := range v.p.Buffers {
		if v.external[i] {
			continue
		}
		end := int64(0)
		if b.Size > 0 {
			end = v.plan.Offsets[i] + v.extent(i)
		}
		if limit := v.limits(b.Pool).Capacity; limit > 0 && end > limit {
			return v.bad(i, "got an end at %d B, want at most the capacity, %d B", end, limit)
		}
		v.ends[b.Pool] = max(v.ends[b.Pool], end)
	}
	return nil
}
