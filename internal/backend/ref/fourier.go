package ref

import (
	"fmt"
	"math"
	"math/cmplx"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// maxFourier is the longest transform, in elements.
const maxFourier = 1 << 28

// fourier transforms lines of n complex numbers.
type fourier struct {
	n int
	// roots has the n-th roots of unity, of the forward or the inverse transform.
	roots []complex128
}

func newFourier(n int64, inverse bool) (*fourier, error) {
	if n < 0 || n > maxFourier {
		return nil, fmt.Errorf("transform length: got %d, want between 0 and %d", n, maxFourier)
	}
	f := &fourier{n: int(n), roots: make([]complex128, n)}
	for k := range f.roots {
		s, c := math.Sincos(2 * math.Pi * float64(k) / float64(n))
		if !inverse {
			s = -s
		}
		f.roots[k] = complex(c, s)
	}
	return f, nil
}

// scratch is the memory that a transform needs, in bytes: the line, the result, and room for one
// group of a step.
func (f *fourier) scratch() int64 { return int64(f.n) * 3 * 16 }

// buffers divides scratch memory.
func (f *fourier) buffers(scratch []byte) (line, spectrum, group []complex128) {
	b := tensor.Cast[complex128](scratch)
	return b[:f.n], b[f.n : 2*f.n], b[2*f.n : 3*f.n]
}

// transform writes the transform of n elements of in, apart step elements, to out. It splits n
// by its smallest prime factor (Cooley and Tukey, "An Algorithm for the Machine Calculation of
// Complex Fourier Series", 1965): n·Σp operations for the primes p of n.
func (f *fourier) transform(out, in, group []complex128, n, step int) {
	if n <= 1 {
		copy(out[:n], in)
		return
	}
	p := smallestFactor(n)
	m := n / p
	for r := range p {
		f.transform(out[r*m:(r+1)*m], in[r*step:], group, m, step*p)
	}
	for k := range m {
		for q := range p {
			sum := complex128(0)
			at, turn := 0, (k+q*m)*step
			for r := range p {
				sum += out[r*m+k] * f.roots[at]
				at = (at + turn) % f.n
			}
			group[q] = sum
		}
		for q := range p {
			out[q*m+k] = group[q]
		}
	}
}

func smallestFactor(n int) int {
	for p := 2; p*p <= n; p++ {
		if n%p == 0 {
			return p
		}
	}
	return n
}

// dft is a prepared DFT; lines are outer × length × inner × parts.
type dft struct {
	*fourier
	band
	parts, outParts, outN int
	inverse, onesided     bool
}

func makeDFT(o *backend.Op) (prepared, error) {
	in, out := o.In[0].Shape, o.Out[0].Shape
	rank := len(in)
	axis, ok, err := op.DFTAxis(o.Node, constInts(o, 2), o.Arg(2).Present(), rank)
	if err != nil {
		return prepared{}, err
	}
	if !ok {
		return prepared{}, fmt.Errorf("axis: got %v, want one dimension", constInts(o, 2))
	}
	d := &dft{band: bandOf(in[:rank-1], axis), parts: int(in[rank-1]), outParts: int(out[rank-1]), outN: int(out[axis]),
		inverse: o.Node.Attrs.Int("inverse", 0) != 0, onesided: o.Node.Attrs.Int("onesided", 0) != 0}
	if d.parts != 1 && d.parts != 2 {
		return prepared{}, fmt.Errorf("input: got shape %v, want a last dimension of 1 or 2", in)
	}
	n := in[axis]
	switch list := constInts(o, 1); {
	case len(list) == 1:
		n = list[0]
	case d.inverse && d.onesided:
		n = 2 * (n - 1)
	}
	if n == 0 && d.outN > 0 {
		return prepared{}, fmt.Errorf("input: got shape %v, want at least one element along axis %d", in, axis)
	}
	if d.fourier, err = newFourier(n, d.inverse); err != nil {
		return prepared{}, err
	}
	return prepared{run: d.run, scratch: d.scratch()}, nil
}

func (d *dft) run(c *backend.Call) error {
	x, y := &c.In[0], &c.Out[0]
	line, spectrum, group := d.buffers(c.Scratch)
	scale := 1.0
	if d.inverse {
		scale = 1 / float64(d.fourier.n)
	}
	for i := range d.outer * d.inner {
		from := i/d.inner*d.band.n*d.inner + i%d.inner
		to := i/d.inner*d.outN*d.inner + i%d.inner
		d.load(line, x, from)
		d.transform(spectrum, line, group, d.fourier.n, 1)
		for k := range d.outN {
			at := (to + k*d.inner) * d.outParts
			v := spectrum[k]
			setFloat(y.DType, y.Data, at, real(v)*scale)
			if d.outParts == 2 {
				setFloat(y.DType, y.Data, at+1, imag(v)*scale)
			}
		}
	}
	return nil
}

// load reads one line, cut or filled with zeros to the transform's length. What is missing of a
// one-sided spectrum mirrors the rest.
func (d *dft) load(line []complex128, x *backend.View, from int) {
	clear(line)
	n := min(d.band.n, len(line))
	if d.inverse && d.onesided {
		n = min(n, len(line)/2+1)
	}
	for k := range n {
		at := (from + k*d.inner) * d.parts
		re, im := floatAt(x.DType, x.Data, at), 0.0
		if d.parts == 2 {
			im = floatAt(x.DType, x.Data, at+1)
		}
		line[k] = complex(re, im)
	}
	if d.inverse && d.onesided {
		for k := len(line)/2 + 1; k < len(line); k++ {
			line[k] = cmplx.Conj(line[len(line)-k])
		}
	}
}

// stft is a prepared STFT: frames of a signal of length × parts.
type stft struct {
	*fourier
	batch, length, parts, frames, bins, step int
}

func makeSTFT(o *backend.Op) (prepared, error) {
	in, out := o.In[0].Shape, o.Out[0].Shape
	s := &stft{batch: int(in[0]), length: int(in[1]), parts: 1, frames: int(out[1]), bins: int(out[2])}
	if len(in) == 3 {
		s.parts = int(in[2])
	}
	frame := int64(0)
	if w := o.Arg(2); w.Present() {
		frame = int64(count(w.Shape))
	}
	window := frame
	if list := constInts(o, 3); len(list) == 1 {
		frame = list[0]
	}
	step := constInts(o, 1)
	if s.parts < 1 || s.parts > 2 || len(step) != 1 || step[0] < 1 || frame < 1 || window != 0 && window != frame ||
		frame > in[1] && s.frames > 0 || s.parts == 2 && int64(s.bins) != frame {
		return prepared{}, fmt.Errorf("frames of %d every %v with a window of %d: want ones that fit the signal %v",
			frame, step, window, in)
	}
	s.step = int(min(step[0], maxFourier))
	var err error
	if s.fourier, err = newFourier(frame, false); err != nil {
		return prepared{}, err
	}
	return prepared{run: s.run, scratch: s.scratch()}, nil
}

func (s *stft) run(c *backend.Call) error {
	x, y := &c.In[0], &c.Out[0]
	line, spectrum, group := s.buffers(c.Scratch)
	for i := range s.batch * s.frames {
		from := i/s.frames*s.length + i%s.frames*s.step
		for k := range line {
			at := (from + k) * s.parts
			v := complex(floatAt(x.DType, x.Data, at), 0)
			if s.parts == 2 {
				v += complex(0, floatAt(x.DType, x.Data, at+1))
			}
			if fed(c, 2) {
				v *= complex(floatAt(c.In[2].DType, c.In[2].Data, k), 0)
			}
			line[k] = v
		}
		s.transform(spectrum, line, group, s.n, 1)
		for k, v := range spectrum[:s.bins] {
			setFloat(y.DType, y.Data, (i*s.bins+k)*2, real(v))
			setFloat(y.DType, y.Data, (i*s.bins+k)*2+1, imag(v))
		}
	}
	return nil
}
