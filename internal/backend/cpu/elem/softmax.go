package elem

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/vec"
	"github.com/stowage-ml/stowage/tensor"
)

const (
	// columns is how many lines that lie side by side are worked on at once.
	columns = 256
	// shortLine is up to which length lines one behind the other are laid side by side first.
	shortLine = 16
)

// softmax is Softmax or LogSoftmax of outer × inner lines of n elements, inner apart.
type softmax struct {
	fn              *vec.Funcs
	outer, n, inner int
	log             bool
	// turned says that inner is 1, and that columns lines at a time are turned in scratch memory.
	turned bool
	cut    cut
	// scratch is how many floats each worker has.
	scratch int
}

// Softmax returns the kernels for Softmax and LogSoftmax of float32.
func Softmax(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	if len(o.In) != 1 || len(o.Out) != 1 || !isFloat(&o.In[0], &o.Out[0]) {
		return nil, nil
	}
	shape := o.In[0].Shape
	axis, err := op.SoftmaxAxis(o.Node, len(shape))
	if err != nil {
		return nil, err
	}
	s := &softmax{fn: vec.For(l), log: o.Node.Op == "LogSoftmax", n: 1, inner: 1, outer: 1}
	switch {
	case o.Node.Version < 13:
		s.outer, s.n = count(shape[:axis]), count(shape[axis:])
	case len(shape) > 0:
		s.outer, s.n, s.inner = count(shape[:axis]), int(shape[axis]), count(shape[axis+1:])
	}
	const operations = 12
	switch {
	case s.n == 0:
	case s.inner == 1 && s.n <= shortLine && s.outer >= columns:
		s.turned = true
		s.cut = newCut((s.outer+columns-1)/columns, columns, s.n*operations, columns, o.Threads)
		s.scratch = (s.n + 3) * columns
	case s.inner == 1:
		s.cut = newCut(s.outer, 1, s.n*operations, 1, o.Threads)
		s.scratch = columns
	default:
		s.cut = newCut(s.outer, s.inner, s.n*operations, 16, o.Threads)
		s.scratch = 3 * columns
	}
	c := made(l, "softmax", 0.3, 0.5)
	c.Scratch = 4 * int64(s.scratch) * int64(max(o.Threads, 1))
	task := s.task
	c.Kernel = func(c *backend.Call) error {
		c.Par(s.cut.tasks, task)
		return nil
	}
	return []backend.Candidate{c}, nil
}

func (s *softmax) task(c *backend.Call, i, worker int) {
	x, y := floats(&c.In[0]), floats(&c.Out[0])
	mem := tensor.Cast[float32](c.Scratch)[worker*s.scratch:][:s.scratch]
	first, last, from, to := s.cut.task(i)
	for row := first; row < last; row++ {
		switch {
		case s.turned:
			at, end := row*columns, min((row+1)*columns, s.outer)
			s.turn(y[at*s.n:end*s.n], x[at*s.n:end*s.n], mem)
		case s.inner == 1:
			s.line(y[row*s.n:][:s.n], x[row*s.n:][:s.n], mem)
		default:
			at := row * s.n * s.inner
			for j := from; j < to; j += columns {
				s.columns(y[at+j:], x[at+j:], mem, min(columns, to-j), s.inner)
			}
		}
	}
}

// line computes one line of neighbours.
func (s *softmax) line(y, x, mem []float32) {
	m := s.fn.MaxOf(x)
	if !s.log {
		s.fn.Unary[vec.Affine](y, y, 1/s.fn.ExpSum(y, x, m), 0)
		return
	}
	sum := 0.0
	for i := 0; i < len(x); i += len(mem) {
		part := x[i:min(i+len(mem), len(x))]
		sum += float64(s.fn.ExpSum(mem[:len(part)], part, m))
	}
	s.fn.Unary[vec.Standardize](y, x, m, 1)
	s.fn.Unary[vec.Affine](y, y, 1, -float32(math.Log(sum)))
}

// columns computes w lines that lie side by side, whose elements are step apart.
func (s *softmax) columns(y, x, mem []float32, w, step int) {
	top, sum, e := mem[:w], mem[columns:][:w], mem[2*columns:][:w]
	copy(top, x[:w])
	for k := 1; k < s.n; k++ {
		s.fn.VV[vec.Max](top, top, x[k*step:][:w])
	}
	clear(sum)
	for k := range s.n {
		to := y[k*step:][:w]
		s.fn.VV[vec.Sub](to, x[k*step:][:w], top)
		if s.log {
			s.fn.Unary[vec.Exp](e, to, 0, 0)
			s.fn.VV[vec.Add](sum, sum, e)
			continue
		}
		s.fn.Unary[vec.Exp](to, to, 0, 0)
		s.fn.VV[vec.Add](sum, sum, to)
	}
	last := vec.Div
	if s.log {
		s.fn.Unary[vec.Log](sum, sum, 0, 0)
		last = vec.Sub
	}
	for k := range s.n {
		s.fn.VV[last](y[k*step:][:w], y[k*step:][:w], sum)
	}
}

// turn computes short lines that lie one behind the other.
func (s *softmax) turn(y, x, mem []float32) {
	w := len(x) / s.n
	t := mem[3*columns:]
	for i := range w {
		for k, v := range x[i*s.n:][:s.n] {
			t[k*columns+i] = v
		}
	}
	s.columns(t, t, mem, w, columns)
	for i := range w {
		line := y[i*s.n:][:s.n]
		for k := range line {
			line[k] = t[k*columns+i]
		}
	}
}
