package ref

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// deform is a 2-D convolution whose taps are moved by offsets and weighted by a mask: Dai et
// al., Deformable Convolutional Networks; Zhu et al., Deformable ConvNets v2.
type deform struct {
	conv
	// offsetGroups is the number of groups of channels that share their offsets.
	offsetGroups int
}

func makeDeformConv(o *backend.Op) (prepared, error) {
	v, err := newConv(o, o.In[0].Shape, o.In[1].Shape)
	if err != nil {
		return prepared{}, err
	}
	d := &deform{conv: *v, offsetGroups: int(o.Node.Attrs.Int("offset_group", 1))}
	d.block = columnBlock(d.ins*d.win.taps, d.win.outs)
	if o.In[0].DType == tensor.Float64 {
		return deformKernel[float64](d, 8), nil
	}
	return deformKernel[float32](d, 4), nil
}

func deformKernel[T wholeFloat](d *deform, size int) prepared {
	return prepared{scratch: int64(d.columns() * size), run: func(c *backend.Call) error {
		var bias, mask []T
		if len(c.In) > 3 {
			bias = elems[T](&c.In[3])
		}
		if len(c.In) > 4 {
			mask = elems[T](&c.In[4])
		}
		out, x, w := elems[T](&c.Out[0]), elems[T](&c.In[0]), elems[T](&c.In[1])
		offset, col := elems[T](&c.In[2]), tensor.Cast[T](c.Scratch)
		win, height := d.win, d.ins*d.win.taps
		for i := range d.batch * d.groups {
			g := i % d.groups
			dst := out[i*d.outs*win.outs:][:d.outs*win.outs]
			startOutputs(dst, bias, g*d.outs, d.outs, win.outs)
			for p := 0; p < win.outs && height > 0; p += d.block {
				n := min(d.block, win.outs-p)
				deformColumns(d, col, x, offset, mask, i, p, n)
				mulAdd(matrix[T]{dst[p:], win.outs, 1}, matrix[T]{w[g*d.outs*height:], height, 1},
					matrix[T]{col, n, 1}, d.outs, height, n)
			}
		}
		return nil
	}}
}

// deformColumns writes the columns of windows p to p+n of image and group i (counted together).
func deformColumns[T wholeFloat](d *deform, col, x, offset, mask []T, i, p, n int) {
	win, image := d.win, i/d.groups
	perOffset := d.groups * d.ins / d.offsetGroups
	ay, ax := &win.axes[0], &win.axes[1]
	for ch := range d.ins {
		plane := x[(i*d.ins+ch)*win.ins:][:win.ins]
		shared := image*d.offsetGroups + (i%d.groups*d.ins+ch)/perOffset
		for t := range win.taps {
			dst := col[(ch*win.taps+t)*n:][:n]
			tap := shared*win.taps + t
			dy, dx := offset[2*tap*win.outs:], offset[(2*tap+1)*win.outs:]
			for j := range dst {
				w := p + j
				y := T(w/ax.out*ay.stride-ay.begin+t/ax.kernel*ay.dilation) + dy[w]
				z := T(w%ax.out*ax.stride-ax.begin+t%ax.kernel*ax.dilation) + dx[w]
				dst[j] = bilinear(plane, ay.in, ax.in, float64(y), float64(z))
				if mask != nil {
					dst[j] *= mask[tap*win.outs+w]
				}
			}
		}
	}
}

// bilinear reads a plane of height×width elements between its elements; it is zero outside.
func bilinear[T wholeFloat](plane []T, height, width int, y, x float64) T {
	if !(y > -1 && y < float64(height) && x > -1 && x < float64(width)) {
		return 0
	}
	y0, x0 := int(math.Floor(y)), int(math.Floor(x))
	fy, fx := y-float64(y0), x-float64(x0)
	at := func(i, j int) float64 {
		if i < 0 || i >= height || j < 0 || j >= width {
			return 0
		}
		return float64(plane[i*width+j])
	}
	top := at(y0, x0)*(1-fx) + at(y0, x0+1)*fx
	bottom := at(y0+1, x0)*(1-fx) + at(y0+1, x0+1)*fx
	return T(top*(1-fy) + bottom*fy)
}
