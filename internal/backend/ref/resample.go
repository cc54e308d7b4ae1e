package ref

import (
	"math"

	"github.com/stowage-ml/stowage/internal/graph"
)

// resizeRule is how a Resize maps output elements to input elements along every dimension.
type resizeRule struct {
	// mode is nearest, linear or cubic; coord the coordinate transformation; round, for nearest,
	// which way to go between two elements.
	mode, coord, round string
	cubic              float64
	excludeOutside     bool
	antialias          bool
}

// resizeRuleOf reads the attributes. What is older than version 11 has no choice but the mode:
// coordinates are divided by the scale, and rounded down when growing, up when shrinking.
func resizeRuleOf(n *graph.Node) resizeRule {
	r := resizeRule{
		mode:           n.Attrs.Str("mode", "nearest"),
		coord:          n.Attrs.Str("coordinate_transformation_mode", "half_pixel"),
		round:          n.Attrs.Str("nearest_mode", "round_prefer_floor"),
		cubic:          float64(n.Attrs.Float("cubic_coeff_a", -0.75)),
		excludeOutside: n.Attrs.Int("exclude_outside", 0) != 0,
		antialias:      n.Attrs.Int("antialias", 0) != 0,
	}
	if n.Version < 11 || n.Op == "Upsample" {
		r.coord, r.round = "asymmetric", "outward"
	}
	if r.mode == "bilinear" {
		r.mode = "linear"
	}
	return r
}

// resample makes the table of one dimension.
func (r *resizeRule) resample(a *resizeAxis) resampled {
	if a.scale == 1 && a.in == a.out && r.coord != "tf_crop_and_resize" {
		return sameDim(a.in)
	}
	kernel := r.kernel(a.scale)
	d := resampled{taps: kernel.taps, index: make([]int32, a.out*kernel.taps)}
	if r.mode != "nearest" {
		d.weight = make([]float64, len(d.index))
	}
	for i := range a.out {
		x := r.source(a, i)
		if r.coord == "tf_crop_and_resize" && (x < 0 || x > float64(a.in-1)) {
			if d.outside == nil {
				d.outside = make([]bool, a.out)
			}
			d.outside[i] = true
		}
		if r.mode == "nearest" {
			d.index[i] = clamp(r.nearest(x, a.scale), a.in)
			continue
		}
		r.weigh(kernel, x, a.in, d.index[i*d.taps:(i+1)*d.taps], d.weight[i*d.taps:(i+1)*d.taps])
	}
	return d
}

func sameDim(n int) resampled {
	d := resampled{taps: 1, index: make([]int32, n), same: true}
	for i := range d.index {
		d.index[i] = int32(i)
	}
	return d
}

// clamp returns the element of n nearest to i.
func clamp(i, n int) int32 { return int32(min(max(i, 0), n-1)) }

// source returns where output element i lies along the input dimension, in elements.
func (r *resizeRule) source(a *resizeAxis, i int) float64 {
	in, x := float64(a.in), float64(i)
	back := func(v float64) float64 { return v / a.scale }
	out := a.scale * in
	if a.bySize {
		back = func(v float64) float64 { return v * in / float64(a.out) }
		out = float64(a.out)
	}
	switch r.coord {
	case "align_corners":
		if out == 1 {
			return 0
		}
		return x * (in - 1) / (out - 1)
	case "asymmetric":
		return back(x)
	case "tf_half_pixel_for_nn":
		return back(x + 0.5)
	case "tf_crop_and_resize":
		if out == 1 {
			return (a.start + a.end) * (in - 1) / 2
		}
		return a.start*(in-1) + x*(a.end-a.start)*(in-1)/(out-1)
	case "pytorch_half_pixel":
		if out == 1 {
			return -0.5
		}
	case "half_pixel_symmetric":
		return in/2*(1-float64(a.out)/out) + back(x+0.5) - 0.5
	}
	return back(x+0.5) - 0.5
}

// nearest rounds a coordinate to an element.
func (r *resizeRule) nearest(x, scale float64) int {
	switch r.round {
	case "floor":
		return int(math.Floor(x))
	case "ceil":
		return int(math.Ceil(x))
	case "round_prefer_ceil":
		return int(math.Floor(x + 0.5))
	case "outward":
		if scale < 1 {
			return int(math.Ceil(x))
		}
		return int(math.Floor(x))
	}
	return int(math.Ceil(x - 0.5))
}

// tapKernel is an interpolation kernel: taps neighbours from first on, relative to the element
// at or before a coordinate. shrink scales the distances of an antialiasing kernel.
type tapKernel struct {
	taps, first int
	shrink      float64
	at          func(distance float64) float64
}

func (r *resizeRule) kernel(scale float64) tapKernel {
	k := tapKernel{taps: 2, first: 0, shrink: 1, at: tent}
	switch r.mode {
	case "nearest":
		return tapKernel{taps: 1}
	case "cubic":
		k = tapKernel{taps: 4, first: -1, shrink: 1, at: func(x float64) float64 { return cubicWeight(x, r.cubic) }}
	}
	if r.antialias && scale < 1 {
		radius := float64(k.taps / 2)
		k.shrink = scale
		k.first = int(math.Floor(-radius/scale)) + 1
		k.taps = 2 - 2*k.first
	}
	return k
}

func tent(x float64) float64 { return max(1-math.Abs(x), 0) }

// cubicWeight is the convolution kernel of Keys, "Cubic Convolution Interpolation for Digital
// Image Processing" (1981), with the free parameter a.
func cubicWeight(x, a float64) float64 {
	x = math.Abs(x)
	switch {
	case x <= 1:
		return ((a+2)*x-(a+3))*x*x + 1
	case x < 2:
		return ((a*x-5*a)*x+8*a)*x - 4*a
	}
	return 0
}

// weigh sets the taps around coordinate x. What lies outside is read at the edge, or left out.
func (r *resizeRule) weigh(k tapKernel, x float64, n int, index []int32, weight []float64) {
	base := math.Floor(x)
	sum := 0.0
	for t := range index {
		i := int(base) + k.first + t
		w := k.at((float64(k.first+t) - (x - base)) * k.shrink)
		if r.excludeOutside && (i < 0 || i >= n) {
			w = 0
		}
		index[t], weight[t] = clamp(i, n), w
		sum += w
	}
	if sum == 0 || k.shrink == 1 && !r.excludeOutside {
		return
	}
	for t := range weight {
		weight[t] /= sum
	}
}
