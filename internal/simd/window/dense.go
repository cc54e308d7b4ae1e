package window

// Dense is a run of output pixels of one block of channels, each the sum of products of all input
// channels of its taps with weights. Tap (y, x) of pixel i is the pixel at Src + i·SrcStep + y·SrcRow +
// x·SrcCol, and the blocks of its channels are SrcPlane apart; its weights are a pixel for each input
// channel, at W + y·WRow + x·WCol.
type Dense struct {
	Dst, Src, W *float32
	// N is the number of pixels; the loops use it up.
	N                int
	DstStep, SrcStep int
	KH, KW           int
	SrcRow, SrcCol   int
	WRow, WCol       int
	// Channels is the number of input channels, at least 1.
	Channels, SrcPlane int
	// Bias is what the sums start from. Lo and Hi bound the results; NaN stays as it is.
	Bias   *float32
	Lo, Hi float32
}

func dense(s *Dense) {
	for i := range s.N {
		acc := [block]float32(pixelAt(s.Bias, 0, block))
		for y := range s.KH {
			for x := range s.KW {
				src, w := i*s.SrcStep+y*s.SrcRow+x*s.SrcCol, y*s.WRow+x*s.WCol
				for ch := range s.Channels {
					v := pixelAt(s.Src, src+ch/block*s.SrcPlane, block)[ch%block]
					for c, f := range pixelAt(s.W, w+ch*4*block, block) {
						acc[c] += v * f
					}
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
		copy(pixelAt(s.Dst, i*s.DstStep, block), acc[:])
	}
}
