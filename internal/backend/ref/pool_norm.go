package ref

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

func makeLpPool(o *backend.Op) (prepared, error) {
	p, err := newPool(o)
	if err != nil {
		return prepared{}, err
	}
	norm := float64(o.Node.Attrs.Int("p", 2))
	if o.In[0].DType == tensor.Float64 {
		return run(lpPoolKernel[float64](p, norm))
	}
	return run(lpPoolKernel[float32](p, norm))
}

func lpPoolKernel[T wholeFloat](p *pool, norm float64) backend.Kernel {
	stride, ins, outs := p.win.last.stride, p.win.ins, p.win.outs
	return func(c *backend.Call) error {
		x, out := elems[T](&c.In[0]), elems[T](&c.Out[0])
		clear(out)
		for i := range p.planes {
			src, dst := x[i*ins:][:ins], out[i*outs:][:outs]
			p.win.each(func(r reads) {
				for j, d := 0, dst[r.lo:r.hi]; j < len(d); j++ {
					d[j] += T(math.Pow(math.Abs(float64(src[r.at+j*stride])), norm))
				}
			})
			for j, v := range dst {
				dst[j] = T(math.Pow(float64(v), 1/norm))
			}
		}
		return nil
	}
}

// globalPool makes the kernel that turns each plane into one number.
func globalPool(o *backend.Op, reduce func(plane *backend.View, at, n int) float64) (prepared, error) {
	x := o.In[0].Shape
	planes, n := count(x[:2]), count(x[2:])
	return run(func(c *backend.Call) error {
		for i := range planes {
			setFloat(c.Out[0].DType, c.Out[0].Data, i, reduce(&c.In[0], i*n, n))
		}
		return nil
	})
}

func makeGlobalAveragePool(o *backend.Op) (prepared, error) {
	return globalPool(o, func(v *backend.View, at, n int) float64 {
		sum := 0.0
		if v.DType == tensor.Float32 {
			for _, x := range elems[float32](v)[at : at+n] {
				sum += float64(x)
			}
		} else {
			for _, x := range elems[float64](v)[at : at+n] {
				sum += x
			}
		}
		return sum / float64(n)
	})
}

func makeGlobalMaxPool(o *backend.Op) (prepared, error) {
	return globalPool(o, func(v *backend.View, at, n int) float64 {
		best := math.Inf(-1)
		for i := at; i < at+n; i++ {
			best = max(best, floatAt(v.DType, v.Data, i))
		}
		return best
	})
}

func makeGlobalLpPool(o *backend.Op) (prepared, error) {
	norm := float64(o.Node.Attrs.Int("p", 2))
	return globalPool(o, func(v *backend.View, at, n int) float64 {
		sum := 0.0
		for i := at; i < at+n; i++ {
			sum += math.Pow(math.Abs(floatAt(v.DType, v.Data, i)), norm)
		}
		return math.Pow(sum, 1/norm)
	})
}
