// Package elem has the CPU's kernels for operators that work element by element, and for those
// that fold or normalise rows: chains of elementwise operators in one pass, comparisons and
// selections, reductions, softmax and normalisations. Extents are in elements, scratch memory in
// bytes.
package elem

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// source names the kind of code of a level.
func source(l simd.Level) string {
	if l == simd.Generic {
		return "go"
	}
	return l.String()
}

// floats returns the elements of an operand of type float32.
func floats(v *backend.View) []float32 { return tensor.Cast[float32](v.Data) }

// count returns the number of elements of a shape.
func count(s tensor.Shape) int {
	n, _ := s.Elements()
	return int(n)
}

// isFloat reports whether operands are float32 of known shapes.
func isFloat(args ...*backend.Arg) bool {
	for _, a := range args {
		if a.DType != tensor.Float32 || a.Shape == nil {
			return false
		}
	}
	return true
}

// made is a kernel's candidate: the shares of the machine's rates are what assembly reaches, and
// less on the level of Go alone.
func made(l simd.Level, name string, flops, stream float64) backend.Candidate {
	if l == simd.Generic {
		flops, stream = flops/16, stream/8
	}
	return backend.Candidate{Name: name, Source: source(l), Flops: flops, Stream: stream}
}

// taskWork is how many simple operations on elements are worth a task of their own.
const taskWork = 1 << 15

// cut divides rows of n elements each, which take so many operations for each element, into tasks.
type cut struct {
	n int
	// parts is how many tasks share a row, part the elements of each; 1 when tasks take whole rows.
	parts, part int
	// rows is how many rows a task takes, tasks the number of tasks.
	rows, all, tasks int
	// across says that tasks go through the rows part by part, so that those of one worker have the
	// same places in all rows.
	across bool
}

// newCut cuts so that every worker has a few tasks, none too small; parts of rows are multiples
// of unit elements.
func newCut(rows, n, operations, unit, threads int) cut {
	c := cut{n: n, parts: 1, part: n, rows: max(rows, 1), all: rows, tasks: 1}
	if rows == 0 || n == 0 {
		return cut{}
	}
	work := rows * n * operations
	want := min(work/taskWork, 4*threads)
	if threads <= 1 || want <= 1 {
		return c
	}
	if rows < want {
		c.parts = (want + rows - 1) / rows
		c.part = (n + c.parts - 1) / c.parts
		c.part = (c.part + unit - 1) / unit * unit
		c.parts = (n + c.part - 1) / c.part
		c.rows, c.tasks = 1, rows*c.parts
		return c
	}
	c.rows = (rows + want - 1) / want
	c.tasks = (rows + c.rows - 1) / c.rows
	return c
}

// spreadPlane is the pixels from which kernels of windows share planes by their rows.
const spreadPlane = 128

// newSpread cuts planes, of so many pixels in rows of some, by their rows first: what convolutions
// do as well, so that a worker finds in its own caches what it computed a step before. pixel is the
// elements of a pixel.
func newSpread(planes int, space tensor.Shape, pixel, operations, threads int) cut {
	n := count(space)
	c := newCut(planes, n*pixel, operations, pixel, threads)
	if threads <= 1 || c.tasks <= 1 || n < spreadPlane {
		return c
	}
	row := n / int(space[0]) * pixel
	if len(space) == 1 {
		row = pixel
	}
	groups := min(planes, (c.tasks+threads-1)/threads)
	c.across, c.rows = true, (planes+groups-1)/groups
	c.part = (n*pixel/row + threads - 1) / threads * row
	c.parts = (n*pixel + c.part - 1) / c.part
	c.tasks = c.parts * ((planes + c.rows - 1) / c.rows)
	return c
}

// task returns the rows first to last−1 and, of each, the elements from to to−1, that task i takes.
func (c *cut) task(i int) (first, last, from, to int) {
	if c.across {
		groups := c.tasks / c.parts
		first, from = i%groups*c.rows, i/groups*c.part
		return first, min(first+c.rows, c.all), from, min(from+c.part, c.n)
	}
	if c.parts == 1 {
		return i * c.rows, min((i+1)*c.rows, c.all), 0, c.n
	}
	first, from = i/c.parts, i%c.parts*c.part
	return first, first + 1, from, min(from+c.part, c.n)
}
