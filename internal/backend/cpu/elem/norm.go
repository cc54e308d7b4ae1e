package elem

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/vec"
	"github.com/stowage-ml/stowage/tensor"
)

// part is how many elements are summed as float32 before they are added to a float64.
const part = 4096

// moments returns the mean and the population variance of x.
func moments(fn *vec.Funcs, x []float32) (mean, variance float64) {
	n := float64(len(x))
	for i := 0; i < len(x); i += part {
		mean += float64(fn.Sum(x[i:min(i+part, len(x))]))
	}
	mean /= n
	return mean, squares(fn, x, float32(mean)) / n
}

// squares returns the sum of the squares of x−a. Where that is beyond what float32 squares well, it
// is summed as float64.
func squares(fn *vec.Funcs, x []float32, a float32) float64 {
	sum := 0.0
	for i := 0; i < len(x); i += part {
		sum += float64(fn.SumSquares(x[i:min(i+part, len(x))], a))
	}
	if sum > 1e-25 && sum < 1e38 {
		return sum
	}
	sum = 0
	for _, v := range x {
		d := float64(v) - float64(a)
		sum += d * d
	}
	return sum
}

// layerNorm is LayerNormalization, or RMSNormalization, of rows of n elements.
type layerNorm struct {
	fn      *vec.Funcs
	n       int
	epsilon float64
	// rms says that the mean is not taken away.
	rms bool
	cut cut
}

// LayerNorm returns the kernels for LayerNormalization and RMSNormalization of float32 whose scale
// and bias have one element for each of a row.
func LayerNorm(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	x, scale, bias := o.Arg(0), o.Arg(1), o.Arg(2)
	if !isFloat(x, scale, &o.Out[0]) || bias.Present() && !isFloat(bias) {
		return nil, nil
	}
	for i := 1; i < len(o.Out); i++ {
		if a := &o.Out[i]; a.Present() && !isFloat(a) {
			return nil, nil
		}
	}
	axis, err := (&op.Ctx{Node: o.Node}).AxisAttr("axis", -1, len(x.Shape))
	if err != nil {
		return nil, err
	}
	row := x.Shape[axis:]
	if !covers(scale.Shape, row) || bias.Present() && !covers(bias.Shape, row) {
		return nil, nil
	}
	k := &layerNorm{fn: vec.For(l), n: count(row), epsilon: float64(o.Node.Attrs.Float("epsilon", 1e-5)),
		rms: o.Node.Op == "RMSNormalization"}
	k.cut = newCut(count(x.Shape[:axis]), 1, 4*k.n, 1, o.Threads)
	c := made(l, "layernorm", 0.2, 0.6)
	task := k.task
	c.Kernel = func(c *backend.Call) error {
		c.Par(k.cut.tasks, task)
		return nil
	}
	return []backend.Candidate{c}, nil
}

// covers reports whether a shape has the extents of a row, behind ones.
func covers(s, row tensor.Shape) bool {
	for len(s) > len(row) && s[0] == 1 {
		s = s[1:]
	}
	return s.Equal(row)
}

func (k *layerNorm) task(c *backend.Call, i, _ int) {
	first, last, _, _ := k.cut.task(i)
	x, y, scale := floats(&c.In[0]), floats(&c.Out[0]), floats(&c.In[1])[:k.n]
	for r := first; r < last; r++ {
		from, to := x[r*k.n:][:k.n], y[r*k.n:][:k.n]
		mean, variance := 0.0, 0.0
		if k.rms {
			variance = squares(k.fn, from, 0) / float64(k.n)
		} else {
			mean, variance = moments(k.fn, from)
		}
		inv := float32(1 / math.Sqrt(variance+k.epsilon))
		switch {
		case k.rms:
			k.fn.RMSNorm(to, from, scale, inv)
		case len(c.In) > 2 && c.In[2].DType == tensor.Float32:
			k.fn.Norm(to, from, scale, floats(&c.In[2]), float32(mean), inv)
		default:
			k.fn.Unary[vec.Standardize](to, from, float32(mean), inv)
			k.fn.VV[vec.Mul](to, to, scale)
		}
		for j, v := range [2]float32{float32(mean), inv} {
			if j+1 < len(c.Out) && len(c.Out[j+1].Data) > 0 {
				floats(&c.Out[j+1])[r] = v
			}
		}
	}
}

// groupNorm normalises groups of channels, each of n elements.
type groupNorm struct {
	fn *vec.Funcs
	// channels counts those of a group, perImage the groups of an image.
	channels, n, perImage int
	// shared says that a group's channels have one scale and bias.
	shared  bool
	epsilon float64
	cut     cut
}

// GroupNorm returns the kernels for InstanceNormalization and GroupNormalization of float32.
func GroupNorm(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	if len(o.In) != 3 || !isFloat(&o.In[0], &o.In[1], &o.In[2], &o.Out[0]) {
		return nil, nil
	}
	x := o.In[0].Shape
	k := &groupNorm{fn: vec.For(l), channels: 1, n: count(x[2:]), perImage: int(x[1]),
		epsilon: float64(o.Node.Attrs.Float("epsilon", 1e-5))}
	if o.Node.Op == "GroupNormalization" {
		k.perImage = int(o.Node.Attrs.Int("num_groups", 1))
		k.channels, k.shared = int(x[1])/k.perImage, o.Node.Version < 21
	}
	k.cut = newCut(int(x[0])*k.perImage, 1, 4*k.n*k.channels, 1, o.Threads)
	c := made(l, "groupnorm", 0.2, 0.5)
	task := k.task
	c.Kernel = func(c *backend.Call) error {
		c.Par(k.cut.tasks, task)
		return nil
	}
	return []backend.Candidate{c}, nil
}

func (k *groupNorm) task(c *backend.Call, i, _ int) {
	first, last, _, _ := k.cut.task(i)
	x, y, scale, bias := floats(&c.In[0]), floats(&c.Out[0]), floats(&c.In[1]), floats(&c.In[2])
	size := k.n * k.channels
	for g := first; g < last; g++ {
		mean, variance := moments(k.fn, x[g*size:][:size])
		inv := 1 / math.Sqrt(variance+k.epsilon)
		for ch := range k.channels {
			at := g*size + ch*k.n
			which := g%k.perImage*k.channels + ch
			if k.shared {
				which = g % k.perImage
			}
			k.affine(y[at:][:k.n], x[at:][:k.n], float32(mean), float32(float64(scale[which])*inv), bias[which])
		}
	}
}

// affine is (x−mean)·scale + bias, by pieces that stay in the first-level cache.
func (k *groupNorm) affine(y, x []float32, mean, scale, bias float32) {
	for i := 0; i < len(x); i += part {
		to := y[i:min(i+part, len(x))]
		k.fn.Unary[vec.Standardize](to, x[i:], mean, scale)
		k.fn.Unary[vec.Affine](to, to, 1, bias)
	}
}

// lpNorm divides lines of n elements by their norm of order p.
type lpNorm struct {
	fn   *vec.Funcs
	n, p int
	cut  cut
}

// LpNorm returns the kernels for LpNormalization of float32 along the last axis.
func LpNorm(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	if len(o.In) != 1 || !isFloat(&o.In[0], &o.Out[0]) {
		return nil, nil
	}
	x := o.In[0].Shape
	axis, err := (&op.Ctx{Node: o.Node}).AxisAttr("axis", -1, len(x))
	if err != nil || axis != len(x)-1 || x[axis] == 0 {
		return nil, err
	}
	k := &lpNorm{fn: vec.For(l), n: int(x[axis]), p: int(o.Node.Attrs.Int("p", 2))}
	k.cut = newCut(count(x[:axis]), 1, 3*k.n, 1, o.Threads)
	c := made(l, "lpnorm", 0.2, 0.6)
	task := k.task
	c.Kernel = func(c *backend.Call) error {
		c.Par(k.cut.tasks, task)
		return nil
	}
	return []backend.Candidate{c}, nil
}

func (k *lpNorm) task(c *backend.Call, i, _ int) {
	first, last, _, _ := k.cut.task(i)
	x, y := floats(&c.In[0]), floats(&c.Out[0])
	for r := first; r < last; r++ {
		from, to := x[r*k.n:][:k.n], y[r*k.n:][:k.n]
		norm := 0.0
		if k.p == 1 {
			for i := 0; i < k.n; i += part {
				norm += float64(k.fn.SumAbs(from[i:min(i+part, k.n)]))
			}
		} else {
			norm = math.Sqrt(squares(k.fn, from, 0))
		}
		switch {
		case norm == 0:
			copy(to, from)
		case norm > 1e-30 && norm < 1e30:
			k.fn.Unary[vec.Affine](to, from, float32(1/norm), 0)
		default:
			for i, v := range from {
				to[i] = float32(float64(v) / norm)
			}
		}
	}
}
