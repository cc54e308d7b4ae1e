package opencl

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stowage-ml/stowage/tensor"
)

// typeNames are the element types that kernels know, as OpenCL C calls them.
var typeNames = map[tensor.DType]string{
	tensor.Float32: "float", tensor.Int32: "int", tensor.Int64: "long", tensor.Bool: "uchar", tensor.Uint8: "uchar",
	tensor.Int8: "char",
}

// wordNames are types as wide as so many bits, for kernels that only move elements.
var wordNames = map[int]string{8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}

// prelude is what all kernels may call. NaNs pass through all of it.
const prelude = `
float st_max(float a, float b) { return a > b || a != a ? a : b; }
float st_min(float a, float b) { return a < b || a != a ? a : b; }
float st_softplus(float x) { return x > 0.0f ? x + log1p(exp(-x)) : log1p(exp(x)); }
`

// code is a kernel's source while it is written.
type code struct {
	t      *task
	params []string
	nums   []string
	decls  []string
	body   strings.Builder
}

func newCode(d *Device) *code { return &code{t: &task{d: d}} }

// operand adds a range of bytes as a pointer called name to elements of an OpenCL type.
func (c *code) operand(name, kind string, o operand, written bool) {
	constant := "const "
	if written {
		constant = ""
	}
	c.t.operands = append(c.t.operands, o)
	c.params = append(c.params, fmt.Sprintf("__global char *%s_b, ulong %s_o", name, name))
	c.decls = append(c.decls, fmt.Sprintf("__global %s%s *%s = (__global %s%s *)(%s_b + %s_o);", constant, kind, name,
		constant, kind, name, name))
}

// read adds a value that is read, write one that is written.
func (c *code) read(name string, v *value)  { c.operand(name, typeNames[v.dtype], v.at, false) }
func (c *code) write(name string, v *value) { c.operand(name, typeNames[v.dtype], v.at, true) }

// num adds a number that the source does not depend on.
func (c *code) num(name string, n int64) {
	c.t.numbers = append(c.t.numbers, int32(n))
	c.nums = append(c.nums, "int "+name)
}

// f adds a line.
func (c *code) f(format string, args ...any) {
	fmt.Fprintf(&c.body, format+"\n", args...)
}

// grid sets the number of work-groups' items in each dimension: n is rounded up to whole groups.
func (c *code) grid(n, local [3]int64, dims int) {
	c.t.dims = dims
	for i := range 3 {
		l := max(local[i], 1)
		c.t.local[i] = uintptr(l)
		c.t.global[i] = uintptr((n[i] + l - 1) / l * l)
	}
}

// task returns the finished launch.
func (c *code) task() *task {
	l := c.t.local
	group := fmt.Sprintf("__attribute__((reqd_work_group_size(%d, %d, %d)))", l[0], max(l[1], 1), max(l[2], 1))
	c.t.source = fmt.Sprintf("__kernel %s\nvoid $(%s) {\n%s\n%s}\n", group,
		strings.Join(append(c.params, c.nums...), ", "), strings.Join(c.decls, "\n"), c.body.String())
	return c.t
}

// float writes a number so that it is read back as the same one.
func float(x float32) string {
	switch f := float64(x); {
	case math.IsNaN(f):
		return "NAN"
	case math.IsInf(f, 1):
		return "INFINITY"
	case math.IsInf(f, -1):
		return "(-INFINITY)"
	}
	return "(" + strconv.FormatFloat(float64(x), 'x', -1, 32) + "f)"
}

// value is an operand of a node: where it is, and what is known of it. The zero value is absent.
type value struct {
	dtype tensor.DType
	shape tensor.Shape
	at    operand
	// data is the contents when they are known.
	data *tensor.Tensor
}

func (v *value) present() bool { return v.dtype != tensor.Undefined }

// count is the number of elements; of absent operands 0.
func (v *value) count() int64 {
	if !v.present() {
		return 0
	}
	return product(v.shape)
}

func product(s []int64) int64 {
	n := int64(1)
	for _, d := range s {
		n *= d
	}
	return n
}
