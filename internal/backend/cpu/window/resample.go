package window

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// resampled says what the elements along one axis are made of: element i of the sum over taps t of
// weight[i·taps+t] times element index[i·taps+t]. Without weights there is one tap, of weight 1.
type resampled struct {
	in, out, taps int
	index         []int32
	weight        []float32
	// same says that the axis stays as it is.
	same bool
}

// rule is how a Resize finds what lies under an element of its output.
type rule struct {
	mode, coordinates, rounding string
	cubic                       float64
	excludeOutside              bool
}

// ruleOf reads a node's attributes; ok is false for what this package does not compute.
func ruleOf(n *graph.Node) (r rule, ok bool) {
	a := n.Attrs
	r = rule{mode: a.Str("mode", "nearest"), coordinates: a.Str("coordinate_transformation_mode", "half_pixel"),
		rounding: a.Str("nearest_mode", "round_prefer_floor"), cubic: float64(a.Float("cubic_coeff_a", -0.75)),
		excludeOutside: a.Int("exclude_outside", 0) != 0}
	if n.Op == "Upsample" || n.Version < 11 {
		r.coordinates, r.rounding = "asymmetric", "away"
	}
	if r.mode == "bilinear" {
		r.mode = "linear"
	}
	switch r.coordinates {
	case "half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners", "tf_half_pixel_for_nn":
	default:
		return r, false
	}
	return r, a.Int("antialias", 0) == 0 && (r.mode == "nearest" || r.mode == "linear" || r.mode == "cubic")
}

// ratio is how the extent of an axis changes.
type ratio struct {
	in, out int
	scale   float64
	// exact says that scale is out/in, and nothing that was rounded.
	exact bool
}

// ratios returns how each axis of a Resize changes; ok is false when that is not known yet.
func ratios(o *backend.Op) (all []ratio, ok bool) {
	x := o.In[0].Shape
	for i := range x {
		all = append(all, ratio{in: int(x[i]), out: int(o.Out[0].Shape[i]), scale: 1})
	}
	axes, err := op.ResizeAxes(o.Node, len(x))
	if err != nil {
		return nil, false
	}
	_, atScales, atSizes := op.ResizeInputs(o.Node)
	scales, sizes := o.Node.Attrs.Floats("scales", nil), []int64(nil)
	if atScales >= 0 {
		scales = nil
		if t := o.Arg(atScales).Const; t != nil && t.DType() == tensor.Float32 {
			scales = tensor.Cast[float32](t.Bytes())
		}
	}
	if atSizes >= 0 {
		if t := o.Arg(atSizes).Const; t != nil && t.DType() == tensor.Int64 {
			sizes = tensor.Cast[int64](t.Bytes())
		}
	}
	if len(scales) != len(axes) && len(sizes) != len(axes) {
		return nil, false
	}
	before := make([]int64, len(axes))
	for i, a := range axes {
		before[i] = x[a]
	}
	for i, a := range axes {
		r := &all[a]
		if len(sizes) != len(axes) {
			r.scale = float64(scales[i])
		} else if s, kept := op.AspectScale(o.Node, before, sizes); kept {
			r.scale = s
		} else {
			r.scale, r.exact = float64(r.out)/float64(max(r.in, 1)), true
		}
	}
	return all, true
}

// resample makes the table of an axis of one element or more.
func (r *rule) resample(a *ratio) resampled {
	d := resampled{in: a.in, out: a.out, taps: 1}
	if a.scale == 1 && a.in == a.out {
		d.same = true
		for i := range a.out {
			d.index = append(d.index, int32(i))
		}
		return d
	}
	for i := range a.out {
		x := r.under(a, float64(i))
		switch r.mode {
		case "nearest":
			d.add(r.round(x, a.scale))
		case "linear":
			d.taps = 2
			base := math.Floor(x)
			r.weigh(&d, base, 1-(x-base), x-base)
		default:
			d.taps = 4
			base := math.Floor(x)
			f := x - base
			r.weigh(&d, base-1, keys(1+f, r.cubic), keys(f, r.cubic), keys(1-f, r.cubic), keys(2-f, r.cubic))
		}
	}
	return d
}

// add appends a tap; outside there is what is at the edge.
func (d *resampled) add(i float64) {
	d.index = append(d.index, int32(min(max(i, 0), float64(d.in-1))))
}

// weigh appends the taps of one element, of which the first is element from.
func (r *rule) weigh(d *resampled, from float64, weights ...float64) {
	sum := 0.0
	for i := range weights {
		at := from + float64(i)
		d.add(at)
		if r.excludeOutside && (at < 0 || at >= float64(d.in)) {
			weights[i] = 0
		}
		sum += weights[i]
	}
	if !r.excludeOutside || sum == 0 {
		sum = 1
	}
	for _, w := range weights {
		d.weight = append(d.weight, float32(w/sum))
	}
}

// keys is the convolution kernel of R. Keys, "Cubic Convolution Interpolation for Digital Image
// Processing" (1981), at a distance from 0 to 2.
func keys(x, a float64) float64 {
	if x <= 1 {
		return ((a+2)*x-(a+3))*x*x + 1
	}
	return a * (((x-5)*x+8)*x - 4)
}

// under returns the coordinate, in elements of the input, that lies under element i of the output.
func (r *rule) under(a *ratio, i float64) float64 {
	in, length := float64(a.in), a.scale*float64(a.in)
	if a.exact {
		length = float64(a.out)
	}
	back := func(v float64) float64 {
		if a.exact {
			return v * in / float64(a.out)
		}
		return v / a.scale
	}
	switch r.coordinates {
	case "align_corners":
		if length == 1 {
			return 0
		}
		return i * (in - 1) / (length - 1)
	case "asymmetric":
		return back(i)
	case "tf_half_pixel_for_nn":
		return back(i + 0.5)
	case "half_pixel_symmetric":
		return in/2*(1-float64(a.out)/length) + back(i+0.5) - 0.5
	}
	if r.coordinates == "pytorch_half_pixel" && length == 1 {
		return -0.5
	}
	return back(i+0.5) - 0.5
}

// round returns the element that counts as nearest to a coordinate.
func (r *rule) round(x, scale float64) float64 {
	switch r.rounding {
	case "ceil":
		return math.Ceil(x)
	case "round_prefer_ceil":
		return math.Floor(x + 0.5)
	case "round_prefer_floor":
		return math.Ceil(x - 0.5)
	case "away":
		if scale < 1 {
			return math.Ceil(x)
		}
	}
	return math.Floor(x)
}
