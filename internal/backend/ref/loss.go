package ref

import (
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

var lossKernels = []entry{
	{op: "NegativeLogLikelihoodLoss", types: []types{floats, indices, floats}, make: makeLoss},
	{op: "SoftmaxCrossEntropyLoss", types: []types{floats, indices, floats}, make: makeLoss},
}

// loss is a prepared loss: scores are batch × classes × inner, targets batch × inner.
type loss struct {
	band
	softmax, ignores bool
	ignore           int64
	reduction        string
}

func makeLoss(o *backend.Op) (prepared, error) {
	scores, target := o.In[0].Shape, o.In[1].Shape
	want := append(scores[:1:1], scores[2:]...)
	if !target.Equal(want) {
		return prepared{}, fmt.Errorf("target: got shape %v, want %v", target, want)
	}
	if w := o.Arg(2); w.Present() && (len(w.Shape) != 1 || w.Shape[0] != scores[1]) {
		return prepared{}, fmt.Errorf("weight: got shape %v, want [%d]", w.Shape, scores[1])
	}
	if err := sameType(o, 0, 2); err != nil {
		return prepared{}, err
	}
	l := &loss{band: bandOf(scores, 1), softmax: o.Node.Op == "SoftmaxCrossEntropyLoss",
		ignores: o.Node.Attrs.Get("ignore_index") != nil, ignore: o.Node.Attrs.Int("ignore_index", 0),
		reduction: o.Node.Attrs.Str("reduction", "mean")}
	return asFloat32(func(o *backend.Op) (prepared, error) {
		if o.In[0].DType == tensor.Float64 {
			return run(lossOf[float64](l))
		}
		return run(lossOf[float32](l))
	})(o)
}

func lossOf[T wholeFloat](l *loss) backend.Kernel {
	return func(c *backend.Call) error {
		x, y, logs := elems[T](&c.In[0]), elems[T](&c.Out[0]), tensor.Cast[T](outData(c, 1))
		var weights []T
		if len(c.In) > 2 {
			weights = elems[T](&c.In[2])
		}
		sum, mass := 0.0, 0.0
		for i := range l.outer * l.inner {
			at := i/l.inner*l.n*l.inner + i%l.inner
			shift := 0.0
			if l.softmax && l.n > 0 {
				shift = logSum(x[at:], l.n, l.inner)
				for k := 0; len(logs) > 0 && k < l.n; k++ {
					logs[at+k*l.inner] = T(float64(x[at+k*l.inner]) - shift)
				}
			}
			class, weight, err := l.class(intAt(&c.In[1], i), i)
			if err != nil {
				return err
			}
			if weights != nil && weight != 0 {
				weight = float64(weights[class])
			}
			v := 0.0
			if class >= 0 {
				v = (shift - float64(x[at+class*l.inner])) * weight
			}
			sum, mass = sum+v, mass+weight
			if l.reduction == "none" {
				y[i] = T(v)
			}
		}
		switch l.reduction {
		case "sum":
			y[0] = T(sum)
		case "mean":
			y[0] = T(sum / mass)
		}
		return nil
	}
}

// class returns which score target i is about, and its weight as far as targets decide it: −1
// and 0 for one that is ignored.
func (l *loss) class(target int64, i int) (class int, weight float64, err error) {
	if l.ignores && target == l.ignore {
		return -1, 0, nil
	}
	if target < 0 || target >= int64(l.n) {
		return 0, 0, fmt.Errorf("target: element %d: got %d, want a class in [0, %d]", i, target, l.n-1)
	}
	return int(target), 1, nil
}

// logSum is the logarithm of the sum of the exponentials of n elements that are step apart.
func logSum[T wholeFloat](x []T, n, step int) float64 {
	m := float64(x[top(x, n, step)*step])
	if math.IsInf(m, 0) {
		m = 0
	}
	sum := 0.0
	for k := range n {
		sum += math.Exp(float64(x[k*step]) - m)
	}
	return math.Log(sum) + m
}
