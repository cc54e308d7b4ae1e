package window

func blend(dst, a, b []float32, wa, wb float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = wa*a[i] + wb*b[i]
	}
}

func spread(dst, src []float32, at []int32, w []float32, taps int) {
	for i := 0; i < len(at); i += taps {
		var acc [block]float32
		for t := i; t < i+taps; t++ {
			v, weight := src[at[t]/4:][:block], w[t]
			for c := range acc {
				acc[c] += weight * v[c]
			}
		}
		copy(dst[i/taps*block:], acc[:])
	}
}

func larger(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		v := b[i]
		if a[i] > v {
			v = a[i]
		}
		dst[i] = v
	}
}
