package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/tensor"
)

// dims is a flag that gives extents to free dims by name: d=n,…; it may be repeated.
type dims map[string]int64

// Decode implements kong.MapperValue.
func (d *dims) Decode(ctx *kong.DecodeContext) error {
	var s string
	if err := ctx.Scan.PopValueInto("d=n", &s); err != nil {
		return err
	}
	all, err := parseDims(s)
	if err != nil {
		return err
	}
	if *d == nil {
		*d = dims{}
	}
	for _, c := range all {
		if len(c.sizes) != 1 {
			return fmt.Errorf("dim %q: got %d sizes, want one", c.name, len(c.sizes))
		}
		(*d)[c.name] = c.sizes[0]
	}
	return nil
}

// choice is a free dim and the sizes to try.
type choice struct {
	name  string
	sizes []int64
}

// parseDims reads d=n[/n…],…, in the order given.
func parseDims(s string) ([]choice, error) {
	var all []choice
	for part := range strings.SplitSeq(s, ",") {
		// A dim's name may be an expression, so the size is what comes after the last '='.
		eq := strings.LastIndex(part, "=")
		if eq < 1 {
			return nil, fmt.Errorf("got %q, want dim=size", part)
		}
		c := choice{name: strings.TrimSpace(part[:eq])}
		for size := range strings.SplitSeq(part[eq+1:], "/") {
			n, err := strconv.ParseInt(strings.TrimSpace(size), 10, 64)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("dim %q: got %q, want a whole number of 0 or more", c.name, size)
			}
			c.sizes = append(c.sizes, n)
		}
		all = append(all, c)
	}
	return all, nil
}

// sizes is a flag that gives several sets of extents: sets are separated by ';', and a dim with
// several sizes (d=n/m) stands for each in turn, the last dim's changing fastest. A repeated flag
// combines each of its sets with each before.
type sizes []dims

// Decode implements kong.MapperValue.
func (z *sizes) Decode(ctx *kong.DecodeContext) error {
	var s string
	if err := ctx.Scan.PopValueInto("d=n/m,…;…", &s); err != nil {
		return err
	}
	before := *z
	if len(before) == 0 {
		before = sizes{{}}
	}
	var all sizes
	for set := range strings.SplitSeq(s, ";") {
		choices, err := parseDims(set)
		if err != nil {
			return err
		}
		product, err := expand(before, choices)
		if err != nil {
			return err
		}
		all = append(all, product...)
	}
	*z = all
	return nil
}

// maxSizes is the most sets of extents that one flag may stand for.
const maxSizes = 10000

// expand returns every combination of the sets with the choices.
func expand(out sizes, all []choice) (sizes, error) {
	for _, c := range all {
		if len(out)*len(c.sizes) > maxSizes {
			return nil, fmt.Errorf("dim %q: got more than %d combinations", c.name, maxSizes)
		}
		var next sizes
		for _, d := range out {
			for _, n := range c.sizes {
				e := maps.Clone(d)
				e[c.name] = n
				next = append(next, e)
			}
		}
		out = next
	}
	return out, nil
}

// String lists the dims in order of name.
func (d dims) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(d)) {
		parts = append(parts, fmt.Sprintf("%s=%d", name, d[name]))
	}
	return strings.Join(parts, ",")
}

// product returns the product of the extents.
func (d dims) product() float64 {
	p := 1.0
	for _, name := range slices.Sorted(maps.Keys(d)) {
		p *= float64(d[name])
	}
	return p
}

// shapeOf resolves an input's or output's dims; free dims without a value are 1.
func shapeOf(info stowage.Info, d dims) tensor.Shape {
	shape := make(tensor.Shape, len(info.Dims))
	for i, dim := range info.Dims {
		shape[i] = dim.Size
		if dim.Size < 0 {
			shape[i] = 1
			if n, ok := d[dim.Name]; ok && dim.Name != "" {
				shape[i] = n
			}
		}
	}
	return shape
}

// learn adds the extents that t has where info's dims are free and have names.
func (d dims) learn(info stowage.Info, t *tensor.Tensor) {
	if len(info.Dims) != len(t.Shape()) {
		return
	}
	for i, dim := range info.Dims {
		if dim.Size < 0 && dim.Name != "" {
			d[dim.Name] = t.Shape()[i]
		}
	}
}

// describe gives an input's or output's type and dims as text, such as "float32[batch,3,?]".
func describe(info stowage.Info) string {
	parts := make([]string, len(info.Dims))
	for i, dim := range info.Dims {
		switch {
		case dim.Size >= 0:
			parts[i] = strconv.FormatInt(dim.Size, 10)
		case dim.Name != "":
			parts[i] = dim.Name
		default:
			parts[i] = "?"
		}
	}
	return info.DType.String() + "[" + strings.Join(parts, ",") + "]"
}
