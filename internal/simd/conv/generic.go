package conv

// lanes is the block of every level that has no assembly.
const lanes = 8

// generic is the slow twin of the assembly.
func generic(t *Tile) {
	for i := range t.Count {
		for k := range t.Blocks {
			for p := range t.Pixels {
				y := i*t.TileY + k*t.BlockY + p*lanes
				sum := t.pixel(i*t.TileX+p*t.PixelX, k*t.BlockW, k*lanes, t.Y[y:][:lanes])
				for c := range sum {
					if t.Plus != nil {
						sum[c] += t.Plus[y+c]
					}
					if t.Clamp {
						sum[c] = bound(sum[c], t.Lo, t.Hi)
					}
				}
				copy(t.Y[y:], sum[:])
			}
		}
	}
}

// pixel returns the sums of one pixel of one block, which may start from y. x, w and bias are where
// its operands start.
func (t *Tile) pixel(x, w, bias int, y []float32) (sum [lanes]float32) {
	switch {
	case t.More:
		copy(sum[:], y)
	case t.Bias != nil:
		copy(sum[:], t.Bias[bias:])
	}
	for r := range t.Rows {
		for q := range t.Planes {
			inner := t.Inner
			if q == t.Planes-1 {
				inner = t.Last
			}
			for c := range t.Cols {
				at := x + r*t.RowX + q*t.PlaneX + c*t.ColX
				addTaps(&sum, t.X[at:at+inner], t.W[w:w+inner*lanes])
				w += inner * lanes
			}
		}
	}
	return sum
}

// addTaps adds each input times its vector of weights.
func addTaps(sum *[lanes]float32, x, w []float32) {
	s0, s1, s2, s3, s4, s5, s6, s7 := sum[0], sum[1], sum[2], sum[3], sum[4], sum[5], sum[6], sum[7]
	for i, v := range x {
		u := w[i*lanes:][:lanes]
		s0 += v * u[0]
		s1 += v * u[1]
		s2 += v * u[2]
		s3 += v * u[3]
		s4 += v * u[4]
		s5 += v * u[5]
		s6 += v * u[6]
		s7 += v * u[7]
	}
	*sum = [lanes]float32{s0, s1, s2, s3, s4, s5, s6, s7}
}

// bound clamps a number; NaN stays.
func bound(v, lo, hi float32) float32 {
	switch {
	case v < lo:
		return lo
	case v > hi:
		return hi
	}
	return v
}
