package op

import (
	"github.com/stowage-ml/stowage/internal/graph"
)

// wantRank fails when the rank of input i is known and another.
func (c *Ctx) wantRank(i int, name string, rank int) error {
	if s := c.Arg(i).Shape; !s.Unranked() && len(s) != rank {
		return c.Errf("%s: got shape %v, want rank %d", name, s, rank)
	}
	return nil
}

func inferGridSample(c *Ctx) error {
	x, grid := c.Arg(0), c.Arg(1)
	c.Set(0, x.DType, nil)
	if x.Shape.Unranked() || grid.Shape.Unranked() {
		return nil
	}
	rank := len(x.Shape)
	if rank < 3 || len(grid.Shape) != rank {
		return c.Errf("grid: got shape %v, want rank %d as in X %v, which is at least 3", grid.Shape, rank, x.Shape)
	}
	if n, ok := grid.Shape[rank-1].Int(); ok && n != int64(rank-2) {
		return c.Errf("grid: got shape %v, want %d coordinates for X %v", grid.Shape, rank-2, x.Shape)
	}
	c.Set(0, x.DType, graph.Join(x.Shape[:2], grid.Shape[1:rank-1]))
	return nil
}

func inferAffineGrid(c *Ctx) error {
	theta := c.Arg(0)
	c.Set(0, theta.DType, nil)
	size, ok := c.Arg(1).Dims()
	if !ok {
		return nil
	}
	if len(size) != 4 && len(size) != 5 {
		return c.Errf("size: got %d numbers, want 4 or 5", len(size))
	}
	space := int64(len(size) - 2)
	if s := theta.Shape; !s.Unranked() {
		if len(s) != 3 || differs(s[1], space) || differs(s[2], space+1) {
			return c.Errf("theta: got shape %v, want [%v,%d,%d]", s, size[0], space, space+1)
		}
	}
	out := graph.Join(graph.Shape{size[0]}, size[2:], graph.Of(space))
	c.Set(0, theta.DType, out)
	return wantSizes(c, "size", out)
}

// differs reports whether d is known not to be n.
func differs(d graph.Dim, n int64) bool {
	k, ok := d.Int()
	return ok && k != n
}

// wantSizes fails when one of the dims is known to be negative.
func wantSizes(c *Ctx, name string, dims []graph.Dim) error {
	for i, d := range dims {
		if n, ok := d.Int(); ok && n < 0 {
			return c.Errf("%s: element %d: got %d, want at least 0", name, i, n)
		}
	}
	return nil
}

// regions sets the output of an operator that cuts windows of a fixed size out of images.
func regions(c *Ctx, boxes int, height, width int64) error {
	x, rois := c.Arg(0), c.Arg(1)
	c.Set(0, x.DType, nil)
	if height < 1 || width < 1 {
		return c.Errf("output: got %d×%d, want positive extents", height, width)
	}
	if err := c.wantRank(0, "X", 4); err != nil {
		return err
	}
	if err := c.wantRank(1, "rois", 2); err != nil || rois.Shape.Unranked() {
		return err
	}
	if differs(rois.Shape[1], int64(boxes)) {
		return c.Errf("rois: got shape %v, want %d numbers each", rois.Shape, boxes)
	}
	channels := graph.Unknown()
	if !x.Shape.Unranked() {
		channels = x.Shape[1]
	}
	c.Set(0, x.DType, graph.Shape{rois.Shape[0], channels, graph.Known(height), graph.Known(width)})
	return nil
}

func inferRoiAlign(c *Ctx) error {
	if err := c.wantRank(2, "batch_indices", 1); err != nil {
		return err
	}
	return regions(c, 4, c.Node.Attrs.Int("output_height", 1), c.Node.Attrs.Int("output_width", 1))
}

func inferMaxRoiPool(c *Ctx) error {
	shape := c.Node.Attrs.Ints("pooled_shape", nil)
	if len(shape) != 2 {
		return c.Errf("pooled_shape: got %v, want two numbers", shape)
	}
	return regions(c, 5, shape[0], shape[1])
}

func inferCol2Im(c *Ctx) error {
	in := c.Arg(0)
	c.Set(0, in.DType, nil)
	if err := c.wantRank(0, "input", 3); err != nil {
		return err
	}
	image, iok := c.Arg(1).Dims()
	block, bok := c.Arg(2).Dims()
	if !iok {
		return nil
	}
	if bok && len(block) != len(image) {
		return c.Errf("block_shape: got %d numbers, want %d as in image_shape", len(block), len(image))
	}
	batch, channels := graph.Unknown(), graph.Unknown()
	if !in.Shape.Unranked() {
		batch = in.Shape[0]
		if bok {
			channels = in.Shape[1].Div(graph.Shape(block).Elements())
		}
	}
	c.Set(0, in.DType, graph.Join(graph.Shape{batch, channels}, image))
	return wantSizes(c, "image_shape", image)
}
