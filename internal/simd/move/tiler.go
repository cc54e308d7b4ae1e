package move

// tiler transposes by tiles of side×side words: full does a run of whole tiles, part one of smaller
// ones.
type tiler struct {
	side int
	full func(dst, src *uint32, n, dstStep, srcStep, ds, ss int)
	part func(dst, src *uint32, n, dstStep, srcStep, ds, ss, rows, cols, fill int)
}

// run transposes by strips: of side rows, or, where the source has more rows than columns, of side
// columns, so that runs are long.
func (t *tiler) run(dst, src []uint32, m Matrix) {
	if m.Rows > m.Cols {
		for j := 0; j < m.Cols; j += t.side {
			t.down(dst, src, m, j)
		}
		return
	}
	for i := 0; i < m.Fill; i += t.side {
		t.across(dst, src, m, i)
	}
}

// across transposes the strip of rows from i on.
func (t *tiler) across(dst, src []uint32, m Matrix, i int) {
	rows, fill := max(0, min(t.side, m.Rows-i)), min(t.side, m.Fill-i)
	from := min(i, m.Rows-1) * m.SrcStride
	n, j := m.Cols/t.side, m.Cols/t.side*t.side
	switch {
	case n == 0:
	case rows == t.side:
		t.full(&dst[i], &src[from], n, 4*t.side*m.DstStride, 4*t.side, 4*m.DstStride, 4*m.SrcStride)
	default:
		t.part(&dst[i], &src[from], n, 4*t.side*m.DstStride, 4*t.side, 4*m.DstStride, 4*m.SrcStride, rows, t.side, fill)
	}
	if j < m.Cols {
		t.part(&dst[j*m.DstStride+i], &src[from+j], 1, 0, 0, 4*m.DstStride, 4*m.SrcStride, rows, m.Cols-j, fill)
	}
}

// down transposes the strip of columns from j on.
func (t *tiler) down(dst, src []uint32, m Matrix, j int) {
	cols := min(t.side, m.Cols-j)
	to := j * m.DstStride
	n, i := m.Rows/t.side, m.Rows/t.side*t.side
	switch {
	case n == 0:
	case cols == t.side:
		t.full(&dst[to], &src[j], n, 4*t.side, 4*t.side*m.SrcStride, 4*m.DstStride, 4*m.SrcStride)
	default:
		t.part(&dst[to], &src[j], n, 4*t.side, 4*t.side*m.SrcStride, 4*m.DstStride, 4*m.SrcStride, t.side, cols, t.side)
	}
	for ; i < m.Fill; i += t.side {
		from, rows := min(i, m.Rows-1)*m.SrcStride+j, max(0, min(t.side, m.Rows-i))
		t.part(&dst[to+i], &src[from], 1, 0, 0, 4*m.DstStride, 4*m.SrcStride, rows, cols, min(t.side, m.Fill-i))
	}
}
