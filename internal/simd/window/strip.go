// Package window has the inner loops of operators that move a window over an image whose channels
// lie in blocks: a pixel is a block of float32, one for each channel, as many as simd.Level.Block
// says. It knows nothing of tensors: pointers say where pixels are, and distances are in bytes.
package window

import "unsafe"

// Strip is a run of output pixels of one block of channels whose windows have the same taps inside
// the image. Pixel i is at Dst + i·DstStep; its tap (y, x) reads Src + i·SrcStep + y·SrcRow +
// x·SrcCol, and weights W + y·WRow + x·(bytes of a pixel).
type Strip struct {
	Dst, Src, W      *float32
	N                int
	DstStep, SrcStep int
	KH, KW           int
	SrcRow, SrcCol   int
	WRow             int
	// Times is how many such strips there are, at least 1; they are DstNext and SrcNext apart. The loops
	// may use up Times, Dst and Src.
	Times, DstNext, SrcNext int
	// left counts the pixels of a strip.
	left int
	// Bias is what Conv starts from.
	Bias *float32
	// Lo and Hi bound what Conv stores; NaN stays as it is.
	Lo, Hi float32
	// Scale multiplies what Sum stores.
	Scale float32
}

// pixelAt returns the pixel at a distance from p, of n channels.
func pixelAt(p *float32, bytes, n int) []float32 {
	return unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(p), bytes)), n)
}

// the loops in Go are for blocks of 8.
const block = 8

func conv(s *Strip) {
	for i := range s.Times {
		convOne(s, i*s.DstNext, i*s.SrcNext)
	}
}

// convOne does the strip that lies some bytes behind the first one.
func convOne(s *Strip, dst, src int) {
	for i := range s.N {
		acc := [block]float32(pixelAt(s.Bias, 0, block))
		for y := range s.KH {
			for x := range s.KW {
				v := pixelAt(s.Src, src+i*s.SrcStep+y*s.SrcRow+x*s.SrcCol, block)
				w := pixelAt(s.W, y*s.WRow+x*4*block, block)
				for c := range acc {
					acc[c] += v[c] * w[c]
				}
			}
		}
		for c, v := range acc {
			if v < s.Lo {
				acc[c] = s.Lo
			}
			if v > s.Hi {
				acc[c] = s.Hi
			}
		}
		copy(pixelAt(s.Dst, dst+i*s.DstStep, block), acc[:])
	}
}

func maximum(s *Strip) {
	for i := range s.Times {
		maximumOne(s, i*s.DstNext, i*s.SrcNext)
	}
}

// maximumOne does the strip that lies some bytes behind the first one.
func maximumOne(s *Strip, dst, src int) {
	for i := range s.N {
		acc := lowest
		for y := range s.KH {
			for x := range s.KW {
				v := pixelAt(s.Src, src+i*s.SrcStep+y*s.SrcRow+x*s.SrcCol, block)
				for c := range acc {
					if v[c] > acc[c] {
						acc[c] = v[c]
					}
				}
			}
		}
		copy(pixelAt(s.Dst, dst+i*s.DstStep, block), acc[:])
	}
}

func sum(s *Strip) {
	for i := range s.Times {
		sumOne(s, i*s.DstNext, i*s.SrcNext)
	}
}

// sumOne does the strip that lies some bytes behind the first one.
func sumOne(s *Strip, dst, src int) {
	for i := range s.N {
		var acc [block]float32
		for y := range s.KH {
			for x := range s.KW {
				v := pixelAt(s.Src, src+i*s.SrcStep+y*s.SrcRow+x*s.SrcCol, block)
				for c := range acc {
					acc[c] += v[c]
				}
			}
		}
		for c := range acc {
			acc[c] *= s.Scale
		}
		copy(pixelAt(s.Dst, dst+i*s.DstStep, block), acc[:])
	}
}
