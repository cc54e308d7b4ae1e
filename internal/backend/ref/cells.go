package ref

import (
	"fmt"
	"math"
	"strings"

	"github.com/stowage-ml/stowage/internal/graph"
)

// activation is a function with its parameters.
type activation struct {
	f           func(x, alpha, beta float64) float64
	alpha, beta float64
}

// activationKinds lists the functions that a recurrent cell may use. The defaults are those
// that their operators have.
var activationKinds = []struct {
	name string
	// takes is the number of parameters: alpha, then beta.
	takes       int
	alpha, beta float64
	f           func(x, a, b float64) float64
}{
	{"relu", 0, 0, 0, func(x, _, _ float64) float64 { return max(x, 0) }},
	{"tanh", 0, 0, 0, func(x, _, _ float64) float64 { return math.Tanh(x) }},
	{"sigmoid", 0, 0, 0, func(x, _, _ float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	{"softsign", 0, 0, 0, func(x, _, _ float64) float64 { return x / (1 + math.Abs(x)) }},
	{"softplus", 0, 0, 0, func(x, _, _ float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }},
	{"affine", 2, 1, 0, func(x, a, b float64) float64 { return a*x + b }},
	{"scaledtanh", 2, 1, 1, func(x, a, b float64) float64 { return a * math.Tanh(b*x) }},
	{"hardsigmoid", 2, 0.2, 0.5, func(x, a, b float64) float64 { return max(0, min(1, a*x+b)) }},
	{"leakyrelu", 1, 0.01, 0, func(x, a, _ float64) float64 {
		if x < 0 {
			return a * x
		}
		return x
	}},
	{"thresholdedrelu", 1, 1, 0, func(x, a, _ float64) float64 {
		if x > a {
			return x
		}
		return 0
	}},
	{"elu", 1, 1, 0, func(x, a, _ float64) float64 {
		if x < 0 {
			return a * math.Expm1(x)
		}
		return x
	}},
}

// activations reads the functions of each direction. The parameters in activation_alpha and
// activation_beta are used up, in order, by the functions that take them.
func activations(as *graph.Attrs, dirs int, defaults []string) (acts [2][]activation, err error) {
	names := as.Strs("activations", nil)
	if len(names) == 0 {
		for range dirs {
			names = append(names, defaults...)
		}
	}
	if len(names) != dirs*len(defaults) {
		return acts, fmt.Errorf("activations: got %d, want %d", len(names), dirs*len(defaults))
	}
	alphas, betas := as.Floats("activation_alpha", nil), as.Floats("activation_beta", nil)
	next := func(list *[]float32, def float64) float64 {
		if len(*list) == 0 {
			return def
		}
		v := (*list)[0]
		*list = (*list)[1:]
		return float64(v)
	}
	for i, name := range names {
		found := false
		for _, k := range activationKinds {
			if k.name != strings.ToLower(name) {
				continue
			}
			a := activation{k.f, k.alpha, k.beta}
			if k.takes > 0 {
				a.alpha = next(&alphas, k.alpha)
			}
			if k.takes > 1 {
				a.beta = next(&betas, k.beta)
			}
			d := i / len(defaults)
			acts[d], found = append(acts[d], a), true
		}
		if !found {
			return acts, fmt.Errorf("activations: got %q, want a known function", name)
		}
	}
	return acts, nil
}

// activate clips x and applies activation i.
func activate[T wholeFloat](c *cell[T], i int, x T) T {
	v := float64(x)
	if clip := c.net.clip; clip > 0 {
		v = max(-clip, min(clip, v))
	}
	a := &c.acts[i]
	return T(a.f(v, a.alpha, a.beta))
}

// start sets gates lo to hi of sums to their biases plus the product with the data.
func (c *cell[T]) start(x []T, lo, hi int) {
	h := c.net.hidden
	sums := c.sums[lo*h : hi*h]
	clear(sums)
	for i := range sums {
		if c.wb != nil {
			sums[i] = c.wb[lo*h+i]
		}
	}
	mulAdd(matrix[T]{sums, len(sums), 1}, matrix[T]{x, len(x), 1}, matrix[T]{c.w[lo*h*len(x):], 1, len(x)},
		1, len(x), len(sums))
}

// recurse adds to dst the recurrence biases of gates from lo on and the product with a state.
func (c *cell[T]) recurse(dst, state []T, lo int) {
	h := len(state)
	for i := range dst {
		if c.rb != nil {
			dst[i] += c.rb[lo*h+i]
		}
	}
	mulAdd(matrix[T]{dst, len(dst), 1}, matrix[T]{state, h, 1}, matrix[T]{c.r[lo*h*h:], 1, h}, 1, h, len(dst))
}

// step moves the state on by one element of the sequence.
func step[T wholeFloat](c *cell[T], x []T) {
	switch c.net.gates {
	case 1:
		stepRNN(c, x)
	case 3:
		stepGRU(c, x)
	case 4:
		stepLSTM(c, x)
	}
}

func stepRNN[T wholeFloat](c *cell[T], x []T) {
	c.start(x, 0, 1)
	c.recurse(c.sums, c.h, 0)
	for j, v := range c.sums {
		c.h[j] = activate(c, 0, v)
	}
}

// stepGRU has the gates update, reset and hidden, in this order.
func stepGRU[T wholeFloat](c *cell[T], x []T) {
	h := c.net.hidden
	c.start(x, 0, 3)
	c.recurse(c.sums[:2*h], c.h, 0)
	update, reset, fresh := c.sums[:h], c.sums[h:2*h], c.sums[2*h:]
	for j := range update {
		update[j] = activate(c, 0, update[j])
		reset[j] = activate(c, 0, reset[j])
	}
	if c.net.resetAfter {
		clear(c.room)
		c.recurse(c.room, c.h, 2)
		for j := range fresh {
			fresh[j] += reset[j] * c.room[j]
		}
	} else {
		for j := range c.room {
			c.room[j] = reset[j] * c.h[j]
		}
		c.recurse(fresh, c.room, 2)
	}
	for j := range fresh {
		c.h[j] = (1-update[j])*activate(c, 1, fresh[j]) + update[j]*c.h[j]
	}
}

// stepLSTM has the gates input, output, forget and cell, in this order; peepholes look from the
// cell into the first three.
func stepLSTM[T wholeFloat](c *cell[T], x []T) {
	h := c.net.hidden
	c.start(x, 0, 4)
	c.recurse(c.sums, c.h, 0)
	in, out, forget, fresh := c.sums[:h], c.sums[h:2*h], c.sums[2*h:3*h], c.sums[3*h:]
	for j := range in {
		if c.peep != nil {
			in[j] += c.peep[j] * c.c[j]
			forget[j] += c.peep[2*h+j] * c.c[j]
		}
		i := activate(c, 0, in[j])
		f := activate(c, 0, forget[j])
		if c.net.coupled {
			f = 1 - i
		}
		c.c[j] = f*c.c[j] + i*activate(c, 1, fresh[j])
		if c.peep != nil {
			out[j] += c.peep[h+j] * c.c[j]
		}
		a := &c.acts[2]
		c.h[j] = activate(c, 0, out[j]) * T(a.f(float64(c.c[j]), a.alpha, a.beta))
	}
}
