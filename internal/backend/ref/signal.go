package ref

import (
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

var signalKernels = []entry{
	{op: "DFT", types: []types{floats, indices}, make: withContents(makeDFT, 1, 2)},
	{op: "STFT", types: []types{floats, indices, floats, indices}, make: withContents(makeSTFT, 1, 3)},
	{op: "HannWindow", types: []types{indices}, make: makeWindow(0.5, 0.5, 0)},
	{op: "HammingWindow", types: []types{indices}, make: makeWindow(25./46, 21./46, 0)},
	{op: "BlackmanWindow", types: []types{indices}, make: makeWindow(0.42, 0.5, 0.08)},
	{op: "MelWeightMatrix", types: []types{indices, indices, indices, floats, floats}, make: makeMel},
	{op: "Det", types: []types{floats}, make: makeDet},
	{op: "Einsum", types: []types{numbers}, make: asFloat32(makeEinsum)},
}

// makeWindow makes a sum of three cosines over one period. A symmetric window has its last
// element at the end of the period, a periodic one has it one step before.
func makeWindow(a0, a1, a2 float64) maker {
	return func(o *backend.Op) (prepared, error) {
		if !numbers.has(o.Out[0].DType) {
			return prepared{}, fmt.Errorf("output_datatype: got %v, want %v", o.Out[0].DType, numbers)
		}
		n := count(o.Out[0].Shape)
		period := float64(n)
		if o.Node.Attrs.Int("periodic", 1) == 0 {
			period--
		}
		return run(func(c *backend.Call) error {
			for i := range n {
				v := 1.0
				if n > 1 {
					angle := 2 * math.Pi * float64(i) / period
					v = a0 - a1*math.Cos(angle) + a2*math.Cos(2*angle)
				}
				setNumber(&c.Out[0], i, v)
			}
			return nil
		})
	}
}

// setNumber stores x, rounded to a float or without its fraction, as element i.
func setNumber(v *backend.View, i int, x float64) {
	if floats.has(v.DType) {
		setFloat(v.DType, v.Data, i, x)
		return
	}
	storing.of(v.DType)(v.Data, i, x)
}

var storing = perType[func([]byte, int, float64)]{
	I8: storeAs[int8], I16: storeAs[int16], I32: storeAs[int32], I64: storeAs[int64],
	U8: storeAs[uint8], U16: storeAs[uint16], U32: storeAs[uint32], U64: storeAs[uint64],
}

func storeAs[T signedInt | unsignedInt](data []byte, i int, x float64) {
	tensor.Cast[T](data)[i] = T(x)
}

// mel is the bank of triangular filters whose corners are evenly spread on the mel scale.
type mel struct{ bins, lines int }

func makeMel(o *backend.Op) (prepared, error) {
	if !numbers.has(o.Out[0].DType) {
		return prepared{}, fmt.Errorf("output_datatype: got %v, want %v", o.Out[0].DType, numbers)
	}
	for i := range 5 {
		if n := count(o.In[i].Shape); n != 1 {
			return prepared{}, fmt.Errorf("input %d: got %d numbers, want 1", i, n)
		}
	}
	m := mel{bins: int(o.Out[0].Shape[1]), lines: int(o.Out[0].Shape[0])}
	return run(m.run)
}

func (m mel) run(c *backend.Call) error {
	length, rate := float64(intAt(&c.In[1], 0)), float64(intAt(&c.In[2], 0))
	low := 2595 * math.Log10(1+floatAt(c.In[3].DType, c.In[3].Data, 0)/700)
	high := 2595 * math.Log10(1+floatAt(c.In[4].DType, c.In[4].Data, 0)/700)
	step := (high - low) / float64(m.bins+2)
	corner := func(i int) (int, error) {
		hertz := 700 * (math.Pow(10, (low+float64(i)*step)/2595) - 1)
		line := math.Floor((length + 1) * hertz / rate)
		if !(line >= 0 && line < float64(m.lines)) {
			return 0, fmt.Errorf("frequencies: corner %d of %d: got line %v, want one in [0, %d]", i, m.bins+2, line, m.lines-1)
		}
		return int(line), nil
	}
	clear(c.Out[0].Data)
	for i := range m.bins {
		left, err := corner(i)
		if err != nil {
			return err
		}
		middle, err := corner(i + 1)
		if err != nil {
			return err
		}
		right, err := corner(i + 2)
		if err != nil {
			return err
		}
		m.triangle(&c.Out[0], i, left, middle, right)
	}
	return nil
}

// triangle fills the column of one filter.
func (m mel) triangle(v *backend.View, column, left, middle, right int) {
	if left == middle {
		setNumber(v, middle*m.bins+column, 1)
	}
	for j := left; j <= middle && left < middle; j++ {
		setNumber(v, j*m.bins+column, float64(j-left)/float64(middle-left))
	}
	for j := middle; j < right; j++ {
		setNumber(v, j*m.bins+column, float64(right-j)/float64(right-middle))
	}
}

// makeDet computes determinants by elimination with partial pivoting, in float64.
func makeDet(o *backend.Op) (prepared, error) {
	shape := o.In[0].Shape
	n := int(shape[len(shape)-1])
	if shape[len(shape)-2] != int64(n) {
		return prepared{}, fmt.Errorf("X: got shape %v, want square matrices", shape)
	}
	matrices := count(shape[:len(shape)-2])
	return prepared{scratch: int64(n*n) * 8, run: func(c *backend.Call) error {
		m := tensor.Cast[float64](c.Scratch)
		for k := range matrices {
			for i := range n * n {
				m[i] = floatAt(c.In[0].DType, c.In[0].Data, k*n*n+i)
			}
			setFloat(c.Out[0].DType, c.Out[0].Data, k, det(m, n))
		}
		return nil
	}}, nil
}

// det returns the determinant of an n × n matrix, which it overwrites.
func det(m []float64, n int) float64 {
	d := 1.0
	for i := range n {
		p := i
		for r := i + 1; r < n; r++ {
			if math.Abs(m[r*n+i]) > math.Abs(m[p*n+i]) {
				p = r
			}
		}
		pivot := m[p*n+i]
		if pivot == 0 {
			return 0
		}
		if p != i {
			d = -d
			for k := i; k < n; k++ {
				m[p*n+k], m[i*n+k] = m[i*n+k], m[p*n+k]
			}
		}
		d *= pivot
		for r := i + 1; r < n; r++ {
			f := m[r*n+i] / pivot
			for k := i; k < n; k++ {
				m[r*n+k] -= f * m[i*n+k]
			}
		}
	}
	return d
}
