package ref

import (
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// gridSample is a prepared GridSample: space is the extents of the image, outermost first.
type gridSample struct {
	batch, channels, points int
	space                   []int
	steps                   []int
	// taps is how many neighbours along each dimension count: 1, 2 or 4.
	taps    int
	padding string
	corners bool
}

// neighbours is which elements along each dimension a point is made of; an index of −1 is a
// zero outside the image.
type neighbours struct {
	index  [tensor.MaxRank][4]int
	weight [tensor.MaxRank][4]float64
}

func makeGridSample(o *backend.Op) (prepared, error) {
	x, out := o.In[0].Shape, o.Out[0].Shape
	g := &gridSample{batch: int(x[0]), channels: int(x[1]), points: count(out[2:]),
		padding: o.Node.Attrs.Str("padding_mode", "zeros"), corners: o.Node.Attrs.Int("align_corners", 0) != 0}
	if grid := o.In[1].Shape; grid[0] != x[0] || grid[len(grid)-1] != int64(len(x)-2) {
		return prepared{}, fmt.Errorf("grid: got shape %v, want points of an X of shape %v", grid, x)
	}
	dense := stepsOf(x)
	for i, n := range x[2:] {
		if n == 0 && count(out) > 0 {
			return prepared{}, fmt.Errorf("X: got shape %v, want no empty dimension", x)
		}
		g.space, g.steps = append(g.space, int(n)), append(g.steps, dense[2+i])
	}
	switch mode := o.Node.Attrs.Str("mode", "linear"); mode {
	case "nearest":
		g.taps = 1
	case "linear", "bilinear":
		g.taps = 2
	case "cubic", "bicubic":
		g.taps = 4
	default:
		return prepared{}, fmt.Errorf("mode: got %q, want linear, nearest or cubic", mode)
	}
	if o.In[0].DType == tensor.Float64 {
		return run(gridSampleOf[float64](g))
	}
	return run(gridSampleOf[float32](g))
}

func gridSampleOf[T wholeFloat](g *gridSample) backend.Kernel {
	return func(c *backend.Call) error {
		x, y, grid := elems[T](&c.In[0]), elems[T](&c.Out[0]), &c.In[1]
		image := g.steps[0] * g.space[0]
		var nb neighbours
		for n := range g.batch {
			for p := range g.points {
				for d := range g.space {
					at := (n*g.points+p+1)*len(g.space) - 1 - d
					g.along(&nb, d, floatAt(grid.DType, grid.Data, at))
				}
				for k := range g.channels {
					plane := n*g.channels + k
					y[plane*g.points+p] = T(blend(g, &nb, 0, x[plane*image:(plane+1)*image], 0))
				}
			}
		}
		return nil
	}
}

// along sets the neighbours along dimension d of a coordinate between −1 and 1.
func (g *gridSample) along(nb *neighbours, d int, v float64) {
	n := float64(g.space[d])
	low, high := -0.5, n-0.5
	if g.corners {
		low, high = 0, n-1
		v = (v + 1) / 2 * (n - 1)
	} else {
		v = ((v+1)*n - 1) / 2
	}
	if g.taps == 1 {
		v = math.RoundToEven(v)
	}
	if v < low || v > high {
		switch g.padding {
		case "border":
			v = min(max(v, 0), n-1)
		case "reflection":
			v = reflect(v, low, high)
		}
	}
	base := math.Floor(v)
	for t := range g.taps {
		offset := float64(t - g.taps/2 + min(g.taps/2, 1))
		nb.index[d][t] = g.pixel(base+offset, low, high, n)
		switch g.taps {
		case 1:
			nb.weight[d][t] = 1
		case 2:
			nb.weight[d][t] = tent(v - base - offset)
		default:
			nb.weight[d][t] = cubicWeight(v-base-offset, -0.75)
		}
	}
}

// pixel returns which of n elements stands for element i, or −1 for a zero, as for a NaN.
func (g *gridSample) pixel(i, low, high, n float64) int {
	switch {
	case i >= 0 && i < n:
		return int(i)
	case i != i:
		return -1
	}
	switch g.padding {
	case "border":
		return int(min(max(i, 0), n-1))
	case "reflection":
		if r := reflect(i, low, high); r >= 0 && r < n {
			return int(r)
		}
		return 0
	}
	return -1
}

// reflect folds v back and forth into [low, high].
func reflect(v, low, high float64) float64 {
	span := high - low
	if span <= 0 || math.IsInf(v, 0) {
		return low
	}
	r := math.Abs(math.Mod(v-low, 2*span))
	return low + min(r, 2*span-r)
}

// blend sums the neighbours in x, which begins at a channel's first element; at is the offset
// that the dimensions outside d add up to.
func blend[T wholeFloat](g *gridSample, nb *neighbours, d int, x []T, at int) float64 {
	if d == len(g.space) {
		return float64(x[at])
	}
	sum := 0.0
	for t := range g.taps {
		if i, w := nb.index[d][t], nb.weight[d][t]; i >= 0 && w != 0 {
			sum += w * blend(g, nb, d+1, x, at+i*g.steps[d])
		}
	}
	return sum
}

// makeAffineGrid computes, for every point of a picture, where the affine map theta sends it;
// points and images are in coordinates from −1 to 1, the innermost dimension first.
func makeAffineGrid(o *backend.Op) (prepared, error) {
	out := o.Out[0].Shape
	space := len(out) - 2
	if want := (tensor.Shape{out[0], int64(space), int64(space + 1)}); !o.In[0].Shape.Equal(want) {
		return prepared{}, fmt.Errorf("theta: got shape %v, want %v", o.In[0].Shape, want)
	}
	dense, corners := stepsOf(out[1:len(out)-1]), o.Node.Attrs.Int("align_corners", 0) != 0
	points := count(out[1 : len(out)-1])
	return run(func(c *backend.Call) error {
		theta, y := &c.In[0], &c.Out[0]
		for n := range int(out[0]) {
			for p := range points {
				for r := range space {
					row := (n*space + r) * (space + 1)
					sum := floatAt(theta.DType, theta.Data, row+space)
					for k := range space {
						d := space - 1 - k
						i, n := p/dense[d]%int(out[1+d]), int(out[1+d])
						sum += floatAt(theta.DType, theta.Data, row+k) * gridLine(i, n, corners)
					}
					setFloat(y.DType, y.Data, (n*points+p)*space+r, sum)
				}
			}
		}
		return nil
	})
}

// gridLine is coordinate i of n that are spread evenly between −1 and 1: over the centres of n
// cells, or from corner to corner.
func gridLine(i, n int, corners bool) float64 {
	switch {
	case !corners:
		return float64(2*i+1)/float64(n) - 1
	case n == 1:
		return -1
	}
	return 2*float64(i)/float64(n-1) - 1
}
