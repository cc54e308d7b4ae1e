package picture

import "math"

// planes is a picture of w×h pixels with c interleaved channels.
type planes struct {
	w, h, c int
	px      []float32
}

func newPlanes(w, h, c int) planes { return planes{w, h, c, make([]float32, w*h*c)} }

// resize resamples with a triangle filter, first along rows, then along columns. Where it
// shrinks, the triangle is as wide as two output pixels, so that every input pixel counts; where
// it grows, it is bilinear interpolation. Edges use the pixels that exist.
func (p planes) resize(w, h int) planes {
	if w != p.w {
		q := newPlanes(w, p.h, p.c)
		taps := triangle(p.w, w)
		for y := range p.h {
			row, out := p.px[y*p.w*p.c:], q.px[y*w*p.c:]
			for x, t := range taps {
				accumulate(out[x*p.c:(x+1)*p.c], row[t.first*p.c:], p.c, t.weights)
			}
		}
		p = q
	}
	if h != p.h {
		q := newPlanes(p.w, h, p.c)
		row := p.w * p.c
		for y, t := range triangle(p.h, h) {
			accumulate(q.px[y*row:(y+1)*row], p.px[t.first*row:], row, t.weights)
		}
		p = q
	}
	return p
}

// accumulate adds weights[k] times the k-th stride of src to dst.
func accumulate(dst, src []float32, stride int, weights []float32) {
	for k, w := range weights {
		for i, v := range src[k*stride : k*stride+len(dst)] {
			dst[i] += w * v
		}
	}
}

// taps are the input pixels, from first on, that make one output pixel; the weights sum to 1.
type taps struct {
	first   int
	weights []float32
}

func triangle(from, to int) []taps {
	ratio := float64(from) / float64(to)
	reach := max(ratio, 1)
	out := make([]taps, to)
	for i := range out {
		center := (float64(i)+0.5)*ratio - 0.5
		first := max(int(math.Ceil(center-reach)), 0)
		last := min(int(math.Floor(center+reach)), from-1)
		t := taps{first: first, weights: make([]float32, last-first+1)}
		sum := float32(0)
		for k := range t.weights {
			t.weights[k] = float32(1 - math.Abs(float64(first+k)-center)/reach)
			sum += t.weights[k]
		}
		for k := range t.weights {
			t.weights[k] /= sum
		}
		out[i] = t
	}
	return out
}
