package ref

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

var minifloats = setOf(tensor.Float8E4M3FN, tensor.Float8E4M3UZ, tensor.Float8E5M2, tensor.Float8E5M2UZ,
	tensor.Float8E8M0, tensor.Float4E2M1)

// castable is every type that Cast converts from and to.
var castable = numbers | bools | strs | minifloats | packed

var castKernels = checkedAll([]entry{
	{op: "Cast", types: []types{castable}, make: makeCast},
	{op: "CastLike", types: []types{castable}, make: makeCast},
	{op: "BitCast", types: []types{anything | packed}, make: makeCopy},
})

// castBlock is how many elements a cast converts at a time.
const castBlock = 256

// makeCast converts by way of int64, for integers and booleans, or float64.
func makeCast(o *backend.Op) (prepared, error) {
	from, to := o.In[0].DType, o.Out[0].DType
	if !castable.has(to) {
		return prepared{}, fmt.Errorf("ref: cast to %v: got a type without conversions, want %v", to, castable)
	}
	how := conversion{
		saturate: o.Node.Attrs.Int("saturate", 1) != 0,
		round:    o.Node.Attrs.Str("round_mode", "up"),
	}
	n := count(o.In[0].Shape)
	switch {
	case from == to:
		return makeCopy(o)
	case to == tensor.String:
		return run(formatKernel(from, n))
	case from == tensor.String:
		return prepared{run: parseKernel(to, how, n), scratch: 16}, nil
	case isWhole(from) && !(from == tensor.Uint64 && to.IsFloat()):
		return castVia(n, loadInts(from), how.storeInts(to)), nil
	}
	return castVia(n, loadFloats(from), how.storeFloats(to)), nil
}

// isWhole reports whether a type is converted by way of int64. Of the integers only uint64 has
// values that an int64 lacks; its bits go through unharmed to other integers, not to floats.
func isWhole(dt tensor.DType) bool { return dt == tensor.Bool || dt.IsInt() }

type (
	load[T any]  = func(dst []T, v *backend.View, at int)
	store[T any] = func(v *backend.View, at int, src []T)
)

func castVia[T int64 | float64](n int, from load[T], to store[T]) prepared {
	k := func(c *backend.Call) error {
		buf := tensor.Cast[T](c.Scratch)[:castBlock]
		if c.Out[0].DType.Bits() < 8 {
			clear(c.Out[0].Data)
		}
		for at := 0; at < n; at += castBlock {
			part := buf[:min(castBlock, n-at)]
			from(part, &c.In[0], at)
			to(&c.Out[0], at, part)
		}
		return nil
	}
	return prepared{run: k, scratch: castBlock * 8}
}

// conversion is how numbers are fitted into a type that cannot hold them.
type conversion struct {
	saturate bool
	round    string
}

func loadInts(dt tensor.DType) load[int64] {
	if bits := dt.Bits(); bits < 8 {
		return func(dst []int64, v *backend.View, at int) {
			for i := range dst {
				dst[i] = widenPacked(dt, packedAt(v.Data, bits, at+i))
			}
		}
	}
	if dt == tensor.Bool {
		return func(dst []int64, v *backend.View, at int) {
			for i, x := range v.Data[at : at+len(dst)] {
				dst[i] = int64(min(x, 1))
			}
		}
	}
	return intLoads.of(dt)
}

func loadFloats(dt tensor.DType) load[float64] {
	if dt == tensor.Float8E8M0 {
		return func(dst []float64, v *backend.View, at int) {
			for i := range dst {
				dst[i] = decodeE8M0(v.Data[at+i])
			}
		}
	}
	if f, ok := minifloatOf(dt); ok {
		return func(dst []float64, v *backend.View, at int) {
			for i := range dst {
				dst[i] = f.decode(packedAt(v.Data, f.bits, at+i))
			}
		}
	}
	return floatLoads.of(dt)
}

// setSmall returns what stores one number in a type of at most a byte that Go lacks; nil for
// other types.
func (how conversion) setSmall(dt tensor.DType) func(v *backend.View, i int, x float64) {
	if bits := dt.Bits(); dt.IsInt() && bits < 8 {
		return func(v *backend.View, i int, x float64) { setPacked(v.Data, bits, i, byte(toInt(x))) }
	}
	if dt == tensor.Float8E8M0 {
		return func(v *backend.View, i int, x float64) { v.Data[i] = encodeE8M0(x, how.round, how.saturate) }
	}
	if f, ok := minifloatOf(dt); ok {
		return func(v *backend.View, i int, x float64) { setPacked(v.Data, f.bits, i, f.encode(x, how.saturate)) }
	}
	return nil
}

func (how conversion) storeInts(dt tensor.DType) store[int64] {
	if bits := dt.Bits(); dt.IsInt() && bits < 8 {
		return func(v *backend.View, at int, src []int64) {
			for i, x := range src {
				setPacked(v.Data, bits, at+i, byte(x))
			}
		}
	}
	if set := how.setSmall(dt); set != nil {
		return func(v *backend.View, at int, src []int64) {
			for i, x := range src {
				set(v, at+i, float64(x))
			}
		}
	}
	return intStores.of(dt)
}

func (how conversion) storeFloats(dt tensor.DType) store[float64] {
	if set := how.setSmall(dt); set != nil {
		return func(v *backend.View, at int, src []float64) {
			for i, x := range src {
				set(v, at+i, x)
			}
		}
	}
	return floatStores.of(dt)
}

// formatKernel writes numbers as text: integers in decimal, floating-point numbers with as many
// digits as tell them apart, and NaN, INF and -INF.
func formatKernel(from tensor.DType, n int) backend.Kernel {
	format := func(v *backend.View, i int) string { return strconv.FormatInt(intAt(v, i), 10) }
	switch {
	case from == tensor.Bool:
		format = func(v *backend.View, i int) string {
			if v.Data[i] != 0 {
				return "True"
			}
			return "False"
		}
	case from == tensor.Uint64:
		format = func(v *backend.View, i int) string {
			return strconv.FormatUint(tensor.Cast[uint64](v.Data)[i], 10)
		}
	case from.IsInt() && from.Bits() < 8:
		format = func(v *backend.View, i int) string {
			return strconv.FormatInt(widenPacked(from, packedAt(v.Data, from.Bits(), i)), 10)
		}
	case !from.IsInt():
		get := loadFloats(from)
		format = func(v *backend.View, i int) string {
			var x [1]float64
			get(x[:], v, i)
			return formatFloat(x[0], from)
		}
	}
	return func(c *backend.Call) error {
		for i := range n {
			c.Out[0].Strs[i] = format(&c.In[0], i)
		}
		return nil
	}
}

func formatFloat(x float64, dt tensor.DType) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "INF"
	case math.IsInf(x, -1):
		return "-INF"
	case dt == tensor.Float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 32)
}

// parseKernel reads numbers from text; what is no number is an error.
func parseKernel(to tensor.DType, how conversion, n int) backend.Kernel {
	putInts, putFloats := how.storeInts(to), how.storeFloats(to)
	return func(c *backend.Call) error {
		clear(c.Out[0].Data)
		whole, fraction := tensor.Cast[int64](c.Scratch)[:1], tensor.Cast[float64](c.Scratch)[1:2]
		for i := range n {
			s := strings.TrimSpace(c.In[0].Strs[i])
			if to.IsInt() && !strings.ContainsAny(s, ".eEnN") {
				if x, err := parseInt(s, to); err == nil {
					whole[0] = x
					putInts(&c.Out[0], i, whole)
					continue
				}
			}
			x, err := strconv.ParseFloat(s, 64)
			if err != nil && !math.IsInf(x, 0) {
				return fmt.Errorf("ref: cast of string element %d: got %q, want a number", i, s)
			}
			fraction[0] = x
			putFloats(&c.Out[0], i, fraction)
		}
		return nil
	}
}

func parseInt(s string, dt tensor.DType) (int64, error) {
	if dt == tensor.Uint64 {
		x, err := strconv.ParseUint(s, 10, 64)
		return int64(x), err
	}
	return strconv.ParseInt(s, 10, 64)
}
