package ref

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// lrn divides each element by a norm of its neighbours in other channels: Krizhevsky et al.,
// ImageNet Classification with Deep Convolutional Neural Networks, section 3.3.
type lrn struct {
	batch, channels, inner int
	// before and after are how many channels on either side count.
	before, after     int
	alpha, beta, bias float64
}

func makeLRN(o *backend.Op) (prepared, error) {
	x, as := o.In[0].Shape, &o.Node.Attrs
	size := int(min(as.Int("size", 1), 2*x[1]+2))
	l := &lrn{batch: int(x[0]), channels: int(x[1]), inner: count(x[2:]), before: (size - 1) / 2, after: size / 2,
		alpha: float64(as.Float("alpha", 1e-4)) / float64(as.Int("size", 1)),
		beta:  float64(as.Float("beta", 0.75)), bias: float64(as.Float("bias", 1))}
	return byWidth(o, l, lrnKernel[float32], lrnKernel[float64])
}

func lrnKernel[T wholeFloat](l *lrn) backend.Kernel {
	return func(c *backend.Call) error {
		x, out := elems[T](&c.In[0]), elems[T](&c.Out[0])
		for i := range l.batch {
			for ch := range l.channels {
				low, high := max(ch-l.before, 0), min(ch+l.after, l.channels-1)
				for j := range l.inner {
					sum := 0.0
					for k := low; k <= high; k++ {
						v := float64(x[(i*l.channels+k)*l.inner+j])
						sum += v * v
					}
					at := (i*l.channels+ch)*l.inner + j
					out[at] = T(float64(x[at]) / math.Pow(l.bias+l.alpha*sum, l.beta))
				}
			}
		}
		return nil
	}
}

// lpNorm divides each line of n elements, stride apart, by its norm of order p.
type lpNorm struct{ outer, n, stride, p int }

func makeLpNorm(o *backend.Op) (prepared, error) {
	x, axis := o.In[0].Shape, int(o.Node.Attrs.Int("axis", -1))
	if axis < 0 {
		axis += len(x)
	}
	l := &lpNorm{outer: count(x[:axis]), n: int(x[axis]), stride: count(x[axis+1:]), p: int(o.Node.Attrs.Int("p", 2))}
	return byWidth(o, l, lpNormKernel[float32], lpNormKernel[float64])
}

// A line of zeros stays as it is.
func lpNormKernel[T wholeFloat](l *lpNorm) backend.Kernel {
	return func(c *backend.Call) error {
		x, out := elems[T](&c.In[0]), elems[T](&c.Out[0])
		for i := range l.outer * l.stride {
			at := i/l.stride*l.n*l.stride + i%l.stride
			norm := 0.0
			for j := range l.n {
				v := float64(x[at+j*l.stride])
				if l.p == 1 {
					norm += math.Abs(v)
				} else {
					norm += v * v
				}
			}
			if l.p == 2 {
				norm = math.Sqrt(norm)
			}
			if norm == 0 {
				norm = 1
			}
			for j := range l.n {
				out[at+j*l.stride] = T(float64(x[at+j*l.stride]) / norm)
			}
		}
		return nil
	}
}

// meanVariance normalises over some dims; what belongs together has one number in stats.
type meanVariance struct {
	all walk
	// groups is the number of parts, each of size elements.
	groups, size int
}

func makeMeanVariance(o *backend.Op) (prepared, error) {
	x := o.In[0].Shape
	kept := x.Clone()
	for _, a := range o.Node.Attrs.Ints("axes", []int64{0, 2, 3}) {
		if a < 0 {
			a += int64(len(x))
		}
		kept[a] = 1
	}
	m := &meanVariance{all: newWalk(x, stepsOf(x), spread(kept, x)), groups: count(kept)}
	m.size = count(x) / max(m.groups, 1)
	kernel := meanVarianceKernel[float32](m)
	if o.In[0].DType == tensor.Float64 {
		kernel = meanVarianceKernel[float64](m)
	}
	return prepared{run: kernel, scratch: int64(16 * m.groups)}, nil
}

func meanVarianceKernel[T wholeFloat](m *meanVariance) backend.Kernel {
	return func(c *backend.Call) error {
		x, out := elems[T](&c.In[0]), elems[T](&c.Out[0])
		scratch := tensor.Cast[float64](c.Scratch)[:2*m.groups]
		clear(scratch)
		mean, scale := scratch[:m.groups], scratch[m.groups:]
		w, n := &m.all, float64(m.size)
		for off := range w.runs {
			for i := range w.n {
				mean[off[1]+i*w.inner[1]] += float64(x[off[0]+i*w.inner[0]]) / n
			}
		}
		for off := range w.runs {
			for i := range w.n {
				k := off[1] + i*w.inner[1]
				d := float64(x[off[0]+i*w.inner[0]]) - mean[k]
				scale[k] += d * d / n
			}
		}
		for k, v := range scale {
			scale[k] = 1 / (math.Sqrt(v) + 1e-9)
		}
		for off := range w.runs {
			for i := range w.n {
				at, k := off[0]+i*w.inner[0], off[1]+i*w.inner[1]
				out[at] = T((float64(x[at]) - mean[k]) * scale[k])
			}
		}
		return nil
	}
}
