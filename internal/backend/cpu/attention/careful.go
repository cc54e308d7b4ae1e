package attention

import "math"

// mend computes a query's results anew where they are not finite: keys that it does not see, or that count
// for nothing beside others, may have values that are not finite, which the sum must not meet.
func (w *work) mend(i int, y []float32) {
	if sum := w.fn.Sum(y); sum-sum == 0 {
		return
	}
	top := math.Inf(-1)
	w.eachScore(i, func(s float64, _ []float32, _ int) { top = max(top, s) })
	sum := 0.0
	w.eachScore(i, func(s float64, _ []float32, _ int) { sum += math.Exp(s - top) })
	clear(y)
	w.eachScore(i, func(s float64, v []float32, step int) {
		p := math.Exp(s-top) / sum
		if p == 0 {
			return
		}
		for d := range y {
			y[d] += float32(p * float64(v[d*step]))
		}
	})
}

// eachScore calls f for each key that a query sees, with its score and its values, which are step apart.
func (w *work) eachScore(i int, f func(score float64, values []float32, step int)) {
	q := w.at(&w.q, &w.c.In[w.q.input], i, 0)
	before, seen := 0, w.sees(i)
	for k := range w.segments {
		s := &w.segments[k]
		for j := range min(s.n, max(0, seen-before)) {
			key := w.at(&s.k, &w.c.In[s.k.input], j, 0)
			sum := 0.0
			for d := range w.size {
				sum += float64(q[d*w.q.col]) * float64(key[d*s.k.col])
			}
			f(w.score(i, before+j, sum), w.at(&s.v, &w.c.In[s.v.input], j, 0), s.v.col)
		}
		before += s.n
	}
}

// score scales, limits and masks the product of a query with a key.
func (w *work) score(i, j int, product float64) float64 {
	s := product * float64(w.scale)
	if w.limit > 0 {
		s = float64(w.limit) * math.Tanh(s/float64(w.limit))
	}
	m := &w.mask
	switch {
	case m.input < 0:
	case !m.bools:
		s += float64(w.at(&m.matrix, &w.c.In[m.input], i, j)[0])
	case w.c.In[m.input].Data[m.place(&w.index, i, j)] == 0:
		return math.Inf(-1)
	}
	return s
}
