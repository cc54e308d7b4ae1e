package window

import (
	"math"
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/move"
	loops "github.com/stowage-ml/stowage/internal/simd/window"
	"github.com/stowage-ml/stowage/tensor"
)

// resize changes the extents of the last two axes, or of the last one. A pixel is as many elements
// as lie side by side: a block of channels, or 1 in row-major order.
type resize struct {
	level  simd.Level
	y, x   resampled
	planes int
	pixel  int
	// channels are what blocks hold; unused in row-major order.
	channels, tasks int
	// at is where the taps along x are in a row, in bytes.
	at []int32
	// times is how often every element along x is repeated, where that is all that happens, else 0.
	times int
}

// Resize returns the kernels for Resize and Upsample along the last one or two axes.
func Resize(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	x := o.In[0]
	size := x.DType.Bits() / 8
	r, ok := ruleOf(o.Node)
	if !ok || len(x.Shape) < 3 || x.DType == tensor.String || x.DType.Bits()%8 != 0 || o.Out[0].Shape == nil {
		return nil, nil
	}
	if size*8 != x.DType.Bits() || r.mode != "nearest" && x.DType != tensor.Float32 {
		return nil, nil
	}
	all, ok := ratios(o)
	if !ok || !moderate(all) {
		return nil, nil
	}
	var out []backend.Candidate
	for _, pixel := range []int{l.Block(), 1} {
		z := resize{level: l, pixel: pixel, channels: int(x.Shape[1])}
		if pixel > 1 && size != 4 {
			continue
		}
		z.lay(&r, all)
		layout := backend.Layout(pixel)
		if pixel == 1 {
			layout = backend.RowMajor
		}
		z.tasks = min(z.planes*z.y.out, taskCount(layout.Bytes(x.DType, o.Out[0].Shape), o.Threads))
		c := backend.Candidate{Name: "resize", Source: source(l), Out: []backend.Layout{layout},
			In: make([]backend.Layout, len(o.In))}
		c.In[0] = layout
		switch {
		case r.mode == "nearest" && (pixel == 1 || x.DType != tensor.Float32):
			c.Kernel = z.nearest(size)
		case r.mode == "nearest":
			z.x.weight = slices.Repeat([]float32{1}, z.x.out)
			c.Kernel = z.repeated()
		default:
			c.Kernel = z.weighted()
			c.Scratch = int64(4 * z.x.in * pixel * max(1, o.Threads))
		}
		switch width := float64(z.channels) / float64((z.channels+pixel-1)/pixel*pixel); {
		case pixel > 1 && r.mode == "nearest":
			c.Stream = streamOf(l, width)
		case pixel > 1:
			c.Flops, c.Stream = flopsOf(l, 0.15*width), streamOf(l, 0.5*width)
		case r.mode != "nearest":
			c.Flops, c.Stream = 0.02, 0.1
		case z.times > 0 && size == 4:
			c.Stream = streamOf(l, 0.8)
		default:
			c.Stream = 0.15
		}
		out = append(out, c)
	}
	return out, nil
}

// moderate reports whether only the last one or two axes change, and all have elements.
func moderate(all []ratio) bool {
	elements := 1
	for i, a := range all {
		if a.in == 0 || a.out == 0 || max(a.in, a.out) > math.MaxInt32/64 {
			return false
		}
		if i < max(2, len(all)-2) && (a.in != a.out || a.scale != 1) {
			return false
		}
		elements *= a.out
	}
	return true
}

// lay makes the tables.
func (z *resize) lay(r *rule, all []ratio) {
	z.planes = all[0].in * ((z.channels + z.pixel - 1) / z.pixel)
	spatial := all[2:]
	for ; len(spatial) > 2; spatial = spatial[1:] {
		z.planes *= spatial[0].in
	}
	z.y = resampled{in: 1, out: 1, taps: 1, index: []int32{0}, same: true}
	if len(spatial) == 2 {
		z.y = r.resample(&spatial[0])
	}
	z.x = r.resample(&spatial[len(spatial)-1])
	for _, i := range z.x.index {
		z.at = append(z.at, i*int32(4*z.pixel))
	}
	if z.x.weight == nil && z.pixel == 1 && z.x.out%z.x.in == 0 {
		z.times = z.x.out / z.x.in
		for i, j := range z.x.index {
			if int(j) != i/z.times {
				z.times = 0
				break
			}
		}
	}
}

// each calls f for the output rows of a task, and with whether the row before is the task's too.
func (z *resize) each(task int, f func(plane, y int, first bool)) {
	lo, hi := part(z.planes*z.y.out, task, z.tasks)
	for i := lo; i < hi; i++ {
		f(i/z.y.out, i%z.y.out, i == lo || i%z.y.out == 0)
	}
}

// nearest returns the kernel that repeats and drops elements of some bytes.
func (z *resize) nearest(size int) backend.Kernel {
	switch size {
	case 1:
		return nearest[uint8](z)
	case 2:
		return nearest[uint16](z)
	case 4:
		return nearest[uint32](z)
	case 8:
		return nearest[uint64](z)
	}
	return nearest[complex128](z)
}

func nearest[T move.Word](z *resize) backend.Kernel {
	task := func(c *backend.Call, i, _ int) {
		dst, src := tensor.Cast[T](c.Out[0].Data), tensor.Cast[T](c.In[0].Data)
		in, out := z.x.in*z.pixel, z.x.out*z.pixel
		z.each(i, func(plane, y int, first bool) {
			to := dst[(plane*z.y.out+y)*out:][:out]
			if !first && z.y.index[y] == z.y.index[y-1] {
				copy(to, dst[(plane*z.y.out+y-1)*out:])
				return
			}
			from := src[(plane*z.y.in+int(z.y.index[y]))*in:][:in]
			if z.times > 0 {
				// All rows of the matrix are the one row.
				move.Transpose(z.level, to, from, move.Matrix{Rows: z.times, Cols: in, Fill: z.times, DstStride: z.times})
				return
			}
			pick(to, from, z.x.index, z.pixel)
		})
	}
	return func(c *backend.Call) error { c.Par(z.tasks, task); return nil }
}

// repeated is nearest for float32 in blocks: a sum of one tap of weight 1 is that tap.
func (z *resize) repeated() backend.Kernel {
	task := func(c *backend.Call, i, _ int) {
		dst, src := tensor.Cast[float32](c.Out[0].Data), tensor.Cast[float32](c.In[0].Data)
		in, out := z.x.in*z.pixel, z.x.out*z.pixel
		z.each(i, func(plane, y int, first bool) {
			to := dst[(plane*z.y.out+y)*out:][:out]
			if !first && z.y.index[y] == z.y.index[y-1] {
				copy(to, dst[(plane*z.y.out+y-1)*out:])
				return
			}
			row := src[(plane*z.y.in+int(z.y.index[y]))*in:][:in]
			loops.Spread(z.level, to, row, z.at, z.x.weight, 1)
		})
	}
	return func(c *backend.Call) error { c.Par(z.tasks, task); return nil }
}

// pick copies the pixels of src that index says.
func pick[T move.Word](dst, src []T, index []int32, pixel int) {
	switch pixel {
	case 1:
		for i, j := range index {
			dst[i] = src[j]
		}
	case 8:
		for i, j := range index {
			*(*[8]T)(dst[8*i:]) = *(*[8]T)(src[8*j:])
		}
	case 16:
		for i, j := range index {
			*(*[16]T)(dst[16*i:]) = *(*[16]T)(src[16*j:])
		}
	default:
		for i, j := range index {
			copy(dst[i*pixel:(i+1)*pixel], src[int(j)*pixel:])
		}
	}
}

// weighted returns the kernel for sums of several taps: along y into scratch memory, then along x.
func (z *resize) weighted() backend.Kernel {
	task := func(c *backend.Call, i, worker int) {
		dst, src := tensor.Cast[float32](c.Out[0].Data), tensor.Cast[float32](c.In[0].Data)
		in, out := z.x.in*z.pixel, z.x.out*z.pixel
		mixed := tensor.Cast[float32](c.Scratch)[worker*in:][:in]
		z.each(i, func(plane, y int, _ bool) {
			to := dst[(plane*z.y.out+y)*out:][:out]
			rows := src[plane*z.y.in*in:][:z.y.in*in]
			if z.x.same {
				copyIfOther(to, z.mix(to, rows, y))
				return
			}
			row := z.mix(mixed, rows, y)
			if z.pixel > 1 {
				loops.Spread(z.level, to, row, z.at, z.x.weight, z.x.taps)
			} else {
				z.sums(to, row)
			}
		})
	}
	return func(c *backend.Call) error { c.Par(z.tasks, task); return nil }
}

func copyIfOther(dst, src []float32) {
	if &dst[0] != &src[0] {
		copy(dst, src)
	}
}

// mix returns the sum of rows that row y is made of: in tmp, or where the only one of weight 1 is.
func (z *resize) mix(tmp, rows []float32, y int) []float32 {
	in := z.x.in * z.pixel
	row := func(t int) []float32 { return rows[int(z.y.index[t])*in:][:in] }
	if z.y.weight == nil {
		return row(y)
	}
	var sum []float32
	scale := float32(1)
	for t := y * z.y.taps; t < (y+1)*z.y.taps; t++ {
		w := z.y.weight[t]
		switch {
		case w == 0:
		case sum == nil:
			sum, scale = row(t), w
		default:
			loops.Blend(z.level, tmp, sum, row(t), scale, w)
			sum, scale = tmp, 1
		}
	}
	if sum == nil || scale != 1 {
		if sum == nil {
			sum, scale = row(y*z.y.taps), 0
		}
		loops.Blend(z.level, tmp, sum, sum, scale, 0)
		return tmp
	}
	return sum
}

// sums is the way along x in row-major order.
func (z *resize) sums(dst, row []float32) {
	if z.x.taps == 2 {
		index, weight := z.x.index[:2*len(dst)], z.x.weight[:2*len(dst)]
		for i := range dst {
			dst[i] = weight[2*i]*row[index[2*i]] + weight[2*i+1]*row[index[2*i+1]]
		}
		return
	}
	for i := range dst {
		sum := float32(0)
		for t := i * z.x.taps; t < (i+1)*z.x.taps; t++ {
			sum += z.x.weight[t] * row[z.x.index[t]]
		}
		dst[i] = sum
	}
}
