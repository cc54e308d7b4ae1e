package opencl

import (
	"math"
	"unsafe"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// resampling is, for each element of an output's axis, the two elements of the input that it lies
// between, and how much of the second there is in it.
type resampling struct {
	lo, hi []int32
	share  []float32
}

// resizeAxis is what decides the coordinates along an axis.
type resizeAxis struct {
	in, out int64
	scale   float64
	// bySize says that the scale is the ratio of the extents.
	bySize bool
}

// back returns an output's coordinate in elements of the input, before any shift.
func (a *resizeAxis) back(x float64) float64 {
	if a.bySize {
		return x * float64(a.in) / float64(a.out)
	}
	return x / a.scale
}

// source returns where an output element lies in the input; ok is false for a mode without a kernel.
func (a *resizeAxis) source(mode string, i int64) (x float64, ok bool) {
	x = float64(i)
	switch mode {
	case "half_pixel":
		return a.back(x+0.5) - 0.5, true
	case "asymmetric":
		return a.back(x), true
	case "pytorch_half_pixel":
		if a.out == 1 {
			return -0.5, true
		}
		return a.back(x+0.5) - 0.5, true
	case "align_corners":
		out := a.scale * float64(a.in)
		if a.bySize {
			out = float64(a.out)
		}
		if out == 1 {
			return 0, true
		}
		return x * float64(a.in-1) / (out - 1), true
	}
	return 0, false
}

// resample makes the table of an axis.
func (a *resizeAxis) resample(mode, coordinates, nearest string) (r resampling, ok bool) {
	for i := range a.out {
		x, ok := a.source(coordinates, i)
		if !ok {
			return r, false
		}
		if a.in == a.out && a.scale == 1 {
			x = float64(i)
		}
		lo, share := math.Floor(x), float32(0)
		hi := lo + 1
		if mode == "linear" {
			share = float32(x - lo)
		} else {
			lo = rounded(x, nearest, a.scale)
			hi = lo
		}
		clamp := func(f float64) int32 { return int32(min(max(f, 0), float64(a.in-1))) }
		r.lo, r.hi, r.share = append(r.lo, clamp(lo)), append(r.hi, clamp(hi)), append(r.share, share)
	}
	return r, true
}

// rounded returns the element nearest to a coordinate.
func rounded(x float64, how string, scale float64) float64 {
	switch {
	case how == "floor", how == "outward" && scale >= 1:
		return math.Floor(x)
	case how == "ceil", how == "outward":
		return math.Ceil(x)
	case how == "round_prefer_ceil":
		return math.Floor(x + 0.5)
	}
	return math.Ceil(x - 0.5)
}

// resizeAxes returns the last two axes of a node that leaves the others as they are.
func resizeAxes(n *graph.Node, in []*value, out *value) (axes [2]resizeAxis, ok bool) {
	x, y := in[0].shape, out.shape
	list, err := op.ResizeAxes(n, len(x))
	if err != nil || len(x) < 3 || n.Attrs.Str("keep_aspect_ratio_policy", "stretch") != "stretch" {
		return axes, false
	}
	scales := n.Attrs.Floats("scales", nil)
	_, at, sizes := op.ResizeInputs(n)
	bySize := sizes >= 0 && sizes < len(in) && in[sizes].count() > 0
	if at >= 0 && at < len(in) && in[at].data != nil && in[at].dtype == tensor.Float32 && in[at].count() > 0 {
		scales = tensor.Cast[float32](in[at].data.Bytes())
	}
	if !bySize && len(scales) != len(list) {
		return axes, false
	}
	for i, a := range list {
		ax := resizeAxis{in: x[a], out: y[a], bySize: bySize, scale: float64(y[a]) / float64(max(x[a], 1))}
		if !bySize {
			ax.scale = float64(scales[i])
		}
		if k := a - (len(x) - 2); k >= 0 {
			axes[k] = ax
		} else if ax.in != ax.out || ax.scale != 1 {
			return axes, false
		}
	}
	for k := range axes {
		if axes[k].out == 0 {
			d := len(x) - 2 + k
			axes[k] = resizeAxis{in: x[d], out: y[d], scale: 1}
		}
	}
	return axes, true
}

// makeResize makes the modes nearest and linear of images.
func makeResize(b *builder, n *graph.Node, in, out []*value) bool {
	x, y := in[0], out[0]
	mode, coordinates := n.Attrs.Str("mode", "nearest"), n.Attrs.Str("coordinate_transformation_mode", "half_pixel")
	nearest := n.Attrs.Str("nearest_mode", "round_prefer_floor")
	if n.Version < 11 || n.Op == "Upsample" {
		coordinates, nearest = "asymmetric", "outward"
	}
	if mode == "bilinear" {
		mode = "linear"
	}
	if x.dtype != tensor.Float32 || mode != "nearest" && mode != "linear" || n.Attrs.Int("antialias", 0) != 0 ||
		x.count() == 0 || y.count() == 0 {
		return false
	}
	axes, ok := resizeAxes(n, in, y)
	if !ok {
		return false
	}
	var index []int32
	var share []float32
	for k := range axes {
		r, ok := axes[k].resample(mode, coordinates, nearest)
		if !ok {
			return false
		}
		index, share = append(append(index, r.lo...), r.hi...), append(share, r.share...)
	}
	b.resizeTask(x, y, mode == "linear", index, share)
	return true
}

// resizeTask adds the task: the tables are those of the rows and then of the columns.
func (b *builder) resizeTask(x, y *value, linear bool, index []int32, share []float32) {
	rank := len(x.shape)
	oh, ow := y.shape[rank-2], y.shape[rank-1]
	c := newCode(b.d)
	c.read("p", x)
	c.operand("at", "int", b.fixed(func() []byte { return bytesOf(index) }, int64(4*len(index))), false)
	c.operand("share", "float", b.fixed(func() []byte { return bytesOf(share) }, int64(4*len(share))), false)
	c.write("y", y)
	w := b.walk(c, []int64{product(x.shape[:rank-2]), oh, ow})
	c.num("ih", x.shape[rank-2])
	c.num("iw", x.shape[rank-1])
	w.open(c)
	c.f("__global const float *q = p + c0 * ih * iw; __global const int *ax = at + 2 * d1;")
	if linear {
		c.f("__global const float *t = q + at[c1] * iw, *u = q + at[d1 + c1] * iw;")
		c.f("float sy = share[c1], sx = share[d1 + x]; int l = ax[x], r = ax[d2 + x];")
		c.f("float f = t[l] * (1.0f - sx) + t[r] * sx, g = u[l] * (1.0f - sx) + u[r] * sx;")
		c.f("y[lin] = f * (1.0f - sy) + g * sy;")
	} else {
		c.f("y[lin] = q[at[c1] * iw + ax[x]];")
	}
	w.close(c)
	b.tasks = append(b.tasks, c.task())
}

// fixed is an operand of so many bytes of contents that the kernel has of its own.
func (b *builder) fixed(make func() []byte, bytes int64) operand {
	return operand{in: own, bytes: bytes, fixed: &fixedData{d: b.d, make: make}}
}

// bytesOf returns the bytes of numbers.
func bytesOf[T int32 | float32](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), 4*len(s))
}
