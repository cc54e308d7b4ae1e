package opencl

import (
	"fmt"
	"strings"
)

// walk is how a kernel's items share the elements of an output: x runs along the innermost
// dimension, the outer ones are coordinates c0, c1 …, outermost first.
type walk struct {
	rank int
	cpu  bool
	// small says that the innermost dimension is too short to be a run of its own.
	small bool
}

// span is how many elements an item does at a time at most, where the device is a processor.
const span = 4096

// walk sets the grid for an output of the given dimensions, and adds them as numbers d0, d1 ….
func (b *builder) walk(c *code, dims []int64) *walk {
	r := len(dims)
	w := &walk{rank: r, cpu: b.d.id.cpu}
	outer := product(dims[:r-1])
	n := dims[r-1]
	for i, d := range dims {
		c.num(fmt.Sprintf("d%d", i), d)
	}
	c.num("total", product(dims))
	if w.small = n < 16 && r > 1; w.small {
		if run := int64(256); w.cpu {
			c.grid([3]int64{(product(dims) + run - 1) / run}, [3]int64{1}, 1)
		} else {
			c.grid([3]int64{product(dims)}, [3]int64{64}, 1)
		}
		return w
	}
	if w.cpu {
		run := int64(span)
		if outer == 1 {
			run = min(run, max(256, (n/int64(4*b.d.id.info.Units)+63)/64*64))
		}
		c.num("run_n", run)
		c.grid([3]int64{(n + run - 1) / run, outer}, [3]int64{1, 1}, 2)
	} else {
		c.grid([3]int64{n, outer}, [3]int64{64, 1}, 2)
	}
	return w
}

// index is the place of an element of an operand that moves by the given steps. The steps become
// numbers, but for 0, and for 1 in the innermost dimension.
func (w *walk) index(c *code, name string, steps []int64) string {
	var terms []string
	for i, s := range steps {
		coordinate := fmt.Sprintf("c%d", i)
		if i == w.rank-1 {
			coordinate = "x"
		}
		switch {
		case s == 0:
		case s == 1 && i == w.rank-1:
			terms = append(terms, coordinate)
		default:
			n := fmt.Sprintf("%s_s%d", name, i)
			c.num(n, s)
			terms = append(terms, coordinate+" * "+n)
		}
	}
	if len(terms) == 0 {
		return "0"
	}
	return strings.Join(terms, " + ")
}

// linear is the number of the element in the output, which is row-major.
func (w *walk) linear() string { return "lin" }

// open begins the loop over an item's elements.
func (w *walk) open(c *code) {
	if w.small {
		c.f("int w_g = get_global_id(0);")
		if w.cpu {
			c.f("int w_end = min(total, w_g * 256 + 256);\nfor (int lin = w_g * 256; lin < w_end; lin++) {")
		} else {
			c.f("for (int lin = w_g; lin < total; lin = total) {")
		}
		c.f("int w_q = lin;")
		for i := w.rank - 1; i >= 0; i-- {
			name := fmt.Sprintf("c%d", i)
			if i == w.rank-1 {
				name = "x"
			}
			c.f("int %s = w_q %% d%d; w_q /= d%d;", name, i, i)
		}
		return
	}
	c.f("int w_q = get_global_id(1), w_row = w_q;")
	for i := w.rank - 2; i >= 0; i-- {
		if i == 0 {
			c.f("int c0 = w_q;")
			break
		}
		c.f("int c%d = w_q %% d%d; w_q /= d%d;", i, i, i)
	}
	last := w.rank - 1
	if w.cpu {
		c.f("int x0 = get_global_id(0) * run_n, x1 = min(d%d, x0 + run_n);", last)
		c.f("#pragma clang loop vectorize(assume_safety)\nfor (int x = x0; x < x1; x++) {")
	} else {
		c.f("int x0 = get_global_id(0);\nfor (int x = x0; x < d%d; x = d%d) {", last, last)
	}
	c.f("int lin = w_row * d%d + x;", last)
}

func (w *walk) close(c *code) { c.f("}") }
