package stowage

import (
	"slices"

	"github.com/stowage-ml/stowage/tensor"
)

// anyType draws an element type of any width.
func (c *opCase) anyType() tensor.DType {
	return pick(c, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float64, tensor.Int8,
		tensor.Bool,
		tensor.Float16, tensor.Int64, tensor.Uint16, tensor.String)
}

func moveCase(c *opCase) []string {
	rank := 1 + c.r.IntN(5)
	s, dt := c.shape(rank, 6000), c.anyType()
	x := func() string { return c.feed(c.random(dt, s...)) }
	switch c.r.IntN(7) {
	case 0, 1:
		perm := make([]int64, rank)
		for i, p := range c.r.Perm(rank) {
			perm[i] = int64(p)
		}
		return c.add("Transpose", []string{x()}, 1, "perm", perm)
	case 2:
		axis := c.axis(rank)
		in := []string{x()}
		for range c.r.IntN(4) {
			other := slices.Clone(s)
			other[(axis+int64(rank))%int64(rank)] = c.small() - 1
			in = append(in, c.either(c.random(dt, other...)))
		}
		return c.add("Concat", in, 1, "axis", axis)
	case 3:
		return splitCase(c, x(), s)
	case 4:
		to := slices.Clone(s)
		for i := range to {
			if to[i] == 1 && c.chance(2) {
				to[i] = c.small()
			}
		}
		return c.add("Expand", []string{x(), c.ints(c.broadcast(append([]int64{c.small(), 1}[:c.r.IntN(3)],
			to...))...)}, 1)
	case 5:
		times := make([]int64, rank)
		for i := range times {
			times[i] = pick[int64](c, 1, 1, 2, 3)
		}
		return c.add("Tile", []string{x(), c.ints(times...)}, 1)
	}
	b := pick[int64](c, 1, 2, 2, 3)
	n, ch, h, w := c.small(), c.small(), c.small(), c.small()
	if c.chance(2) {
		return c.add("SpaceToDepth", []string{c.feed(c.random(dt, n, ch, h*b, w*b))}, 1, "blocksize", b)
	}
	var kv []any
	if c.opset >= 11 && c.chance(2) {
		kv = []any{"mode", "CRD"}
	}
	return c.add("DepthToSpace", []string{c.feed(c.random(dt, n, ch*b*b, h, w))}, 1, append(kv, "blocksize", b)...)
}

func splitCase(c *opCase, x string, s []int64) []string {
	axis := c.axis(len(s))
	left, parts := s[(axis+int64(len(s)))%int64(len(s))], []int64{}
	for left > 0 {
		n := 1 + c.r.Int64N(left)
		if c.chance(8) {
			n = 0
		}
		parts, left = append(parts, n), left-n
	}
	if len(parts) == 0 || len(parts) > 9 {
		return nil
	}
	if c.opset < 13 {
		return c.add("Split", []string{x}, len(parts), "axis", axis, "split", parts)
	}
	if c.opset >= 18 && c.chance(3) {
		n := 1 + c.r.Int64N(4)
		return c.add("Split", []string{x}, int(n), "axis", axis, "num_outputs", n)
	}
	return c.add("Split", []string{x, c.ints(parts...)}, len(parts), "axis", axis)
}

func sliceCase(c *opCase) []string {
	rank := 1 + c.r.IntN(4)
	s := c.shape(rank, 6000)
	x := c.feed(c.random(c.anyType(), s...))
	var axes, from, to, steps []int64
	for _, a := range c.r.Perm(rank)[:1+c.r.IntN(rank)] {
		axes = append(axes, int64(a)-int64(rank)*c.r.Int64N(2))
		from = append(from, c.r.Int64N(2*s[a]+3)-s[a]-1)
		to = append(to, pick(c, c.r.Int64N(2*s[a]+3)-s[a]-1, 1<<62, -1<<62))
		steps = append(steps, pick[int64](c, 1, 1, 1, 2, 3, -1, -2, 7))
	}
	if c.opset < 10 {
		for i := range axes {
			axes[i] = (axes[i] + int64(rank)) % int64(rank)
		}
		return c.add("Slice", []string{x}, 1, "axes", axes, "starts", from, "ends", to)
	}
	if c.chance(4) {
		return c.add("Slice", []string{x, c.ints(from...), c.ints(to...), c.ints(axes...)}, 1)
	}
	return c.add("Slice", []string{x, c.ints(from...), c.ints(to...), c.ints(axes...), c.ints(steps...)}, 1)
}

func padCase(c *opCase) []string {
	rank := 1 + c.r.IntN(4)
	s := c.shape(rank, 4000)
	dt := pick(c, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float64, tensor.Int64, tensor.Int8,
		tensor.Float16)
	x := []string{c.feed(c.random(dt, s...))}
	pads := make([]int64, 2*rank)
	for i := range pads {
		if c.chance(2) {
			pads[i] = c.r.Int64N(5) - 1
		}
	}
	modes := []string{"constant", "constant", "edge", "reflect"}
	if c.opset >= 19 {
		modes = append(modes, "wrap")
	}
	kv := []any{"mode", pick(c, modes...)}
	if c.opset < 11 {
		return c.add("Pad", x, 1, append(kv, "pads", pads, "value", 0.5)...)
	}
	if c.opset >= 18 && c.chance(3) {
		a := c.axis(rank)
		return c.add("Pad", append(x, c.ints(pads[0], pads[1]), "", c.ints(a)), 1, kv...)
	}
	x = append(x, c.ints(pads...))
	if c.chance(2) {
		x = append(x, c.either(c.random(dt)))
	}
	return c.add("Pad", x, 1, kv...)
}

func gatherCase(c *opCase) []string {
	rank := 1 + c.r.IntN(4)
	s := c.shape(rank, 4000)
	axis := c.axis(rank)
	n := s[(axis+int64(rank))%int64(rank)]
	if n == 0 {
		return nil
	}
	index := c.random(tensor.Int64, c.shape(c.r.IntN(3), 40)...)
	for i := range tensor.Cast[int64](index.Bytes()) {
		tensor.Cast[int64](index.Bytes())[i] = c.r.Int64N(n)
		if c.opset >= 11 {
			tensor.Cast[int64](index.Bytes())[i] -= n * c.r.Int64N(2)
		}
	}
	if c.chance(3) {
		short := c.random(tensor.Int32, index.Shape()...)
		for i, v := range tensor.Cast[int64](index.Bytes()) {
			tensor.Cast[int32](short.Bytes())[i] = int32(v)
		}
		index = short
	}
	return c.add("Gather", []string{c.either(c.random(c.anyType(), s...)), c.either(index)}, 1, "axis", axis)
}

// layersCase stacks convolutions, pools, concatenations and activations, which stay in blocks.
func layersCase(c *opCase) []string {
	n, h, w := c.small(), 2+c.r.Int64N(14), 2+c.r.Int64N(14)
	ch := pick[int64](c, 3, 8, 16, 17, 32)
	x := c.fedFloats(n, ch, h, w)
	type value struct {
		name string
		ch   int64
	}
	vals := []value{{x, ch}}
	for range 2 + c.r.IntN(6) {
		v := vals[max(0, len(vals)-1-c.r.IntN(3))]
		switch c.r.IntN(6) {
		case 0, 1:
			m, k := pick[int64](c, 1, 7, 8, 16, 24, 32), pick[int64](c, 1, 3, 5)
			k2 := k / 2
			y := c.add("Conv", []string{v.name, c.constant(c.weights(m, v.ch, k, k)),
				c.constant(c.random(tensor.Float32, m))},
				1, "pads", []int64{k2, k2, k2, k2})
			vals = append(vals, value{y[0], m})
		case 2:
			y := c.add("Conv", []string{v.name, c.constant(c.weights(v.ch, 1, 3, 3))}, 1, "pads", []int64{1, 1, 1, 1},
				"group", v.ch)
			vals = append(vals, value{y[0], v.ch})
		case 3:
			vals = append(vals, value{c.add(pick(c, "Relu", "Sigmoid", "Neg", "HardSigmoid"), []string{v.name},
				1)[0], v.ch})
		case 4:
			o := vals[c.r.IntN(len(vals))]
			if o.ch == v.ch {
				vals = append(vals, value{c.add(pick(c, "Add", "Mul"), []string{o.name, v.name}, 1)[0], v.ch})
			} else if o.ch+v.ch < 80 {
				vals = append(vals, value{c.add("Concat", []string{o.name, v.name}, 1, "axis", int64(1))[0],
					o.ch + v.ch})
			}
		case 5:
			y := c.add(pick(c, "MaxPool", "AveragePool"), []string{v.name}, 1, "kernel_shape", []int64{3, 3},
				"pads", []int64{1, 1, 1, 1})
			vals = append(vals, value{y[0], v.ch})
		}
	}
	if len(vals) == 1 {
		return nil
	}
	return []string{vals[len(vals)-1].name}
}
