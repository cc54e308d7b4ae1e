package ref

import (
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

var normKernels = []entry{
	{op: "BatchNormalization", types: []types{floats}, make: checked(asFloat32(makeBatchNorm))},
	{op: "InstanceNormalization", types: []types{floats}, make: checked(asFloat32(makeInstanceNorm))},
	{op: "GroupNormalization", types: []types{floats}, make: checked(asFloat32(makeGroupNorm))},
	{op: "LayerNormalization", types: []types{floats}, make: checked(asFloat32(makeLayerNorm))},
	{op: "RMSNormalization", types: []types{floats}, make: checked(asFloat32(makeRMSNorm))},
	{op: "LRN", types: []types{floats}, make: checked(asFloat32(makeLRN))},
	{op: "LpNormalization", types: []types{floats}, make: checked(asFloat32(makeLpNorm))},
	{op: "MeanVarianceNormalization", types: []types{floats}, make: checked(asFloat32(makeMeanVariance))},
}

// byWidth makes the kernel for the type, float32 or float64, that the data has.
func byWidth[P any](o *backend.Op, p P, f32, f64 func(P) backend.Kernel) (prepared, error) {
	if o.In[0].DType == tensor.Float64 {
		return run(f64(p))
	}
	return run(f32(p))
}

// moments returns the mean and the population variance of x, computed in float64.
func moments[T wholeFloat](x []T) (mean, variance float64) {
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		d := float64(v) - mean
		variance += d * d
	}
	return mean, variance / float64(len(x))
}

// affine writes (x − mean)·scale + bias to dst.
func affine[T wholeFloat](dst, x []T, mean, scale, bias float64) {
	m, s, b := T(mean), T(scale), T(bias)
	for i, v := range x {
		dst[i] = (v-m)*s + b
	}
}

// batchNorm normalises each channel of [batch, channels, inner].
type batchNorm struct {
	batch, channels, inner int
	epsilon, momentum      float64
	// training says that the statistics are the batch's own.
	training bool
}

func makeBatchNorm(o *backend.Op) (prepared, error) {
	x, as := o.In[0].Shape, &o.Node.Attrs
	b := &batchNorm{batch: int(x[0]), channels: 1, inner: 1,
		epsilon: float64(as.Float("epsilon", 1e-5)), momentum: float64(as.Float("momentum", 0.9))}
	if len(x) > 1 {
		b.channels, b.inner = int(x[1]), count(x[2:])
	}
	if n := count(o.In[1].Shape); n != b.channels {
		b.channels, b.inner = n, 1
	}
	b.training = as.Int("training_mode", 0) != 0
	for i := 1; i < len(o.Out) && o.Node.Version < 14; i++ {
		b.training = b.training || o.Out[i].Present()
	}
	return byWidth(o, b, batchNormKernel[float32], batchNormKernel[float64])
}

func batchNormKernel[T wholeFloat](b *batchNorm) backend.Kernel {
	return func(c *backend.Call) error {
		x, out := elems[T](&c.In[0]), elems[T](&c.Out[0])
		read := func(i, ch int) float64 { return floatAt(c.In[i].DType, c.In[i].Data, ch) }
		for ch := range b.channels {
			mean, variance := read(3, ch), read(4, ch)
			if b.training {
				m, v := channelMoments(b, x, ch)
				writeStatistics(c, ch, b.momentum, [4]float64{mean, variance, m, v})
				mean, variance = m, v
			}
			scale, bias := read(1, ch)/math.Sqrt(variance+b.epsilon), read(2, ch)
			for i := range b.batch {
				at := (i*b.channels + ch) * b.inner
				affine(out[at:][:b.inner], x[at:][:b.inner], mean, scale, bias)
			}
		}
		return nil
	}
}

// channelMoments returns the mean and population variance of one channel.
func channelMoments[T wholeFloat](b *batchNorm, x []T, ch int) (mean, variance float64) {
	n := float64(b.batch * b.inner)
	for i := range b.batch {
		for _, v := range x[(i*b.channels+ch)*b.inner:][:b.inner] {
			mean += float64(v)
		}
	}
	mean /= n
	for i := range b.batch {
		for _, v := range x[(i*b.channels+ch)*b.inner:][:b.inner] {
			d := float64(v) - mean
			variance += d * d
		}
	}
	return mean, variance / n
}

// writeStatistics writes, to those outputs after the first that there are, the running mean and
// variance and the batch's own. stats is the old mean and variance, and the batch's.
func writeStatistics(c *backend.Call, ch int, momentum float64, stats [4]float64) {
	for i := 1; i < len(c.Out) && i <= 4; i++ {
		v := stats[i-1]
		if i <= 2 {
			v = v*momentum + stats[i+1]*(1-momentum)
		}
		if len(c.Out[i].Data) > 0 {
			setFloat(c.Out[i].DType, c.Out[i].Data, ch, v)
		}
	}
}

// groupNorm normalises each of a number of groups of channels by itself.
type groupNorm struct {
	// groups counts those of all images; channels those of a group; inner the elements of a channel.
	groups, channels, inner int
	// perImage is the number of groups of one image.
	perImage int
	// perGroup says that a group's channels share one scale and bias.
	perGroup bool
	epsilon  float64
}

func makeInstanceNorm(o *backend.Op) (prepared, error) {
	x := o.In[0].Shape
	g := &groupNorm{groups: count(x[:2]), channels: 1, inner: count(x[2:]), perImage: int(x[1]),
		epsilon: float64(o.Node.Attrs.Float("epsilon", 1e-5))}
	return byWidth(o, g, groupNormKernel[float32], groupNormKernel[float64])
}

func makeGroupNorm(o *backend.Op) (prepared, error) {
	x, n := o.In[0].Shape, o.Node.Attrs.Int("num_groups", 1)
	g := &groupNorm{groups: int(x[0] * n), channels: int(x[1] / n), inner: count(x[2:]), perImage: int(n),
		perGroup: o.Node.Version < 21, epsilon: float64(o.Node.Attrs.Float("epsilon", 1e-5))}
	return byWidth(o, g, groupNormKernel[float32], groupNormKernel[float64])
}

func groupNormKernel[T wholeFloat](g *groupNorm) backend.Kernel {
	return func(c *backend.Call) error {
		x, out := elems[T](&c.In[0]), elems[T](&c.Out[0])
		size := g.channels * g.inner
		for i := range g.groups {
			mean, variance := moments(x[i*size:][:size])
			inv := 1 / math.Sqrt(variance+g.epsilon)
			for ch := range g.channels {
				at, which := (i*g.channels+ch)*g.inner, i%g.perImage*g.channels+ch
				if g.perGroup {
					which = i % g.perImage
				}
				scale := floatAt(c.In[1].DType, c.In[1].Data, which) * inv
				affine(out[at:][:g.inner], x[at:][:g.inner], mean, scale, floatAt(c.In[2].DType, c.In[2].Data, which))
			}
		}
		return nil
	}
}

// layerNorm normalises rows of inner elements.
type layerNorm struct {
	rows, inner int
	epsilon     float64
	// centred says that the mean is taken away.
	centred bool
	// spread is the walk over the result, the scale, the bias and the row's number.
	spread walk
}

func newLayerNorm(o *backend.Op, bias *backend.Arg) (*layerNorm, error) {
	x := o.In[0].Shape
	for _, a := range []*backend.Arg{&o.In[1], bias} {
		if a.Present() && a.DType != o.In[0].DType {
			return nil, fmt.Errorf("scale and bias: got %v, want %v like the input", a.DType, o.In[0].DType)
		}
	}
	axis := int(o.Node.Attrs.Int("axis", -1))
	if axis < 0 {
		axis += len(x)
	}
	stats := x.Clone()
	for i := axis; i < len(x); i++ {
		stats[i] = 1
	}
	l := &layerNorm{rows: count(stats), inner: count(x[axis:]), epsilon: float64(o.Node.Attrs.Float("epsilon", 1e-5))}
	l.spread = newWalk(x, stepsOf(x), spread(o.In[1].Shape, x), spread(bias.Shape, x), spread(stats, x))
	return l, nil
}

func makeLayerNorm(o *backend.Op) (prepared, error) {
	l, err := newLayerNorm(o, o.Arg(2))
	if err != nil {
		return prepared{}, err
	}
	l.centred = true
	p, err := byWidth(o, l, layerNormKernel[float32], layerNormKernel[float64])
	p.scratch = int64(16 * l.rows)
	return p, err
}

func makeRMSNorm(o *backend.Op) (prepared, error) {
	l, err := newLayerNorm(o, &backend.Arg{})
	if err != nil {
		return prepared{}, err
	}
	p, err := byWidth(o, l, layerNormKernel[float32], layerNormKernel[float64])
	p.scratch = int64(16 * l.rows)
	return p, err
}

func layerNormKernel[T wholeFloat](l *layerNorm) backend.Kernel {
	return func(c *backend.Call) error {
		stats := tensor.Cast[float64](c.Scratch)[:2*l.rows]
		means, scales := stats[:l.rows], stats[l.rows:]
		x, out, scale := elems[T](&c.In[0]), elems[T](&c.Out[0]), elems[T](&c.In[1])
		for i := range means {
			mean, variance := 0.0, 0.0
			if row := x[i*l.inner:][:l.inner]; l.centred {
				mean, variance = moments(row)
			} else {
				for _, v := range row {
					variance += float64(v) * float64(v) / float64(l.inner)
				}
			}
			means[i], scales[i] = mean, 1/math.Sqrt(variance+l.epsilon)
		}
		for j := 1; j < len(c.Out); j++ {
			for i, v := range stats[(j-1)*l.rows:][:l.rows] {
				if len(c.Out[j].Data) > 0 {
					setFloat(c.Out[j].DType, c.Out[j].Data, i, v)
				}
			}
		}
		bias, w := elems[T](input(c, 2)), &l.spread
		for off := range w.runs {
			for i := range w.n {
				at, row := off[0]+i*w.inner[0], off[3]+i*w.inner[3]
				y := (x[at] - T(means[row])) * T(scales[row]) * scale[off[1]+i*w.inner[1]]
				if bias != nil {
					y += bias[off[2]+i*w.inner[2]]
				}
				out[at] = y
			}
		}
		return nil
	}
}
