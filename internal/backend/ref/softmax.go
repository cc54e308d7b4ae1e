package ref

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// band is a tensor seen from one axis: outer × n × inner elements, of which the n along the axis
// belong together.
type band struct{ outer, n, inner int }

// bandOf splits a shape at an axis.
func bandOf(shape tensor.Shape, axis int) band {
	return band{count(shape[:axis]), int(shape[axis]), count(shape[axis+1:])}
}

func makeSoftmax(o *backend.Op) (prepared, error) {
	shape := o.In[0].Shape
	axis, err := op.SoftmaxAxis(o.Node, len(shape))
	if err != nil {
		return prepared{}, err
	}
	var b band
	switch {
	case o.Node.Version < 13:
		b = band{count(shape[:axis]), count(shape[axis:]), 1}
	case len(shape) == 0:
		b = band{1, 1, 1}
	default:
		b = bandOf(shape, axis)
	}
	if o.In[0].DType == tensor.Float64 {
		return run(softmaxOf[float64](o.Node.Op, b))
	}
	return run(softmaxOf[float32](o.Node.Op, b))
}

func softmaxOf[T wholeFloat](name string, b band) backend.Kernel {
	line := softmaxLine[T]
	switch name {
	case "LogSoftmax":
		line = logSoftmaxLine[T]
	case "Hardmax":
		line = hardmaxLine[T]
	}
	return func(c *backend.Call) error {
		x, y := elems[T](&c.In[0]), elems[T](&c.Out[0])
		if b.n == 0 {
			return nil
		}
		for i := range b.outer {
			for j := range b.inner {
				at := i*b.n*b.inner + j
				line(x[at:], y[at:], b.n, b.inner)
			}
		}
		return nil
	}
}

// top returns the place of the largest of n elements that are step apart: the first of equals,
// or the first NaN.
func top[T wholeFloat](x []T, n, step int) int {
	best := 0
	for k := range n {
		if v := x[k*step]; v > x[best*step] || v != v {
			best = k
			if v != v {
				break
			}
		}
	}
	return best
}

func softmaxLine[T wholeFloat](x, y []T, n, step int) {
	m := float64(x[top(x, n, step)*step])
	sum := 0.0
	for k := 0; k < n*step; k += step {
		e := math.Exp(float64(x[k]) - m)
		sum += e
		y[k] = T(e)
	}
	for k := 0; k < n*step; k += step {
		y[k] = T(float64(y[k]) / sum)
	}
}

func logSoftmaxLine[T wholeFloat](x, y []T, n, step int) {
	m := float64(x[top(x, n, step)*step])
	sum := 0.0
	for k := 0; k < n*step; k += step {
		sum += math.Exp(float64(x[k]) - m)
	}
	log := math.Log(sum)
	for k := 0; k < n*step; k += step {
		y[k] = T(float64(x[k]) - m - log)
	}
}

func hardmaxLine[T wholeFloat](x, y []T, n, step int) {
	best := top(x, n, step)
	for k := range n {
		y[k*step] = 0
	}
	y[best*step] = 1
}
