package ref

import (
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// roi is a prepared RoiAlign or MaxRoiPool: images of channels × height × width, windows of
// rows × cols.
type roi struct {
	images, channels, height, width int
	regions, rows, cols             int
	scale                           float64
	// half shifts coordinates by half an element; largest takes maxima, not means.
	half, largest bool
	sampling      int
}

func roiOf(o *backend.Op) roi {
	x, out := o.In[0].Shape, o.Out[0].Shape
	return roi{images: int(x[0]), channels: int(x[1]), height: int(x[2]), width: int(x[3]), regions: int(out[0]),
		rows: int(out[2]), cols: int(out[3]), scale: float64(o.Node.Attrs.Float("spatial_scale", 1))}
}

func makeRoiAlign(o *backend.Op) (prepared, error) {
	r := roiOf(o)
	if len(o.In[2].Shape) != 1 || o.In[2].Shape[0] != int64(r.regions) {
		return prepared{}, fmt.Errorf("batch_indices: got shape %v, want [%d]", o.In[2].Shape, r.regions)
	}
	mode := "half_pixel"
	if o.Node.Version < 16 {
		mode = "output_half_pixel"
	}
	r.half = o.Node.Attrs.Str("coordinate_transformation_mode", mode) == "half_pixel"
	r.largest = o.Node.Attrs.Str("mode", "avg") == "max"
	r.sampling = int(o.Node.Attrs.Int("sampling_ratio", 0))
	return run(r.align)
}

// maxSamples bounds how many points of one region are looked at.
const maxSamples = 1 << 24

// binning is one dimension of a region: bins of size, each with that many samples.
type binning struct {
	start, size float64
	samples     int
}

func (r *roi) span(low, high float64, bins int) (binning, error) {
	shift := 0.0
	if r.half {
		shift = 0.5
	}
	s := binning{start: low*r.scale - shift}
	extent := (high - low) * r.scale
	if !r.half {
		extent = max(extent, 1)
	}
	s.size = extent / float64(bins)
	s.samples = r.sampling
	if s.samples <= 0 {
		n := math.Ceil(s.size)
		if !(n <= maxSamples) {
			return s, fmt.Errorf("rois: got a region from %v to %v, want at most %d samples", low, high, maxSamples)
		}
		s.samples = int(max(n, 0))
	}
	return s, nil
}

// at is where sample i of a bin lies.
func (s *binning) at(bin, i int) float64 {
	return s.start + float64(bin)*s.size + (float64(i)+0.5)*s.size/float64(s.samples)
}

func (r *roi) align(c *backend.Call) error {
	x, y, boxes := &c.In[0], &c.Out[0], &c.In[1]
	for k := range r.regions {
		image, err := imageOf(intAt(&c.In[2], k), r.images, k)
		if err != nil {
			return err
		}
		var box [4]float64
		for i := range box {
			box[i] = floatAt(boxes.DType, boxes.Data, k*4+i)
		}
		sy, err := r.span(box[1], box[3], r.rows)
		if err != nil {
			return err
		}
		sx, err := r.span(box[0], box[2], r.cols)
		if err != nil {
			return err
		}
		if sy.samples*sx.samples > maxSamples {
			return fmt.Errorf("rois: region %d: got %d×%d samples, want at most %d", k, sy.samples, sx.samples, maxSamples)
		}
		for ch := range r.channels {
			for i := range r.rows * r.cols {
				v := r.bin(x, (image*r.channels+ch)*r.height*r.width, &sy, &sx, i/r.cols, i%r.cols)
				setFloat(y.DType, y.Data, (k*r.channels+ch)*r.rows*r.cols+i, v)
			}
		}
	}
	return nil
}

// imageOf checks which image a region belongs to.
func imageOf(i int64, images, region int) (int, error) {
	if i < 0 || i >= int64(images) {
		return 0, fmt.Errorf("region %d: got image %d, want one in [0, %d]", region, i, images-1)
	}
	return int(i), nil
}

// bin returns the mean, or the largest, of the samples in one bin. The largest is, as in other
// implementations, that of the four weighted corners of all samples.
func (r *roi) bin(x *backend.View, plane int, sy, sx *binning, row, col int) float64 {
	sum, most := 0.0, math.Inf(-1)
	for i := range sy.samples {
		for j := range sx.samples {
			for _, v := range r.corners(x, plane, sy.at(row, i), sx.at(col, j)) {
				sum += v
				most = max(most, v)
			}
		}
	}
	n := sy.samples * sx.samples
	switch {
	case n == 0:
		return 0
	case r.largest:
		return most
	}
	return sum / float64(n)
}

// corners returns the four elements around a point, each times its bilinear weight; zeros for a
// point more than one element outside.
func (r *roi) corners(x *backend.View, plane int, py, px float64) (out [4]float64) {
	if !(py >= -1 && py <= float64(r.height) && px >= -1 && px <= float64(r.width)) || r.height == 0 || r.width == 0 {
		return out
	}
	y0, y1, fy := between(py, r.height)
	x0, x1, fx := between(px, r.width)
	for i, p := range [4]struct {
		y, x int
		w    float64
	}{{y0, x0, (1 - fy) * (1 - fx)}, {y0, x1, (1 - fy) * fx}, {y1, x0, fy * (1 - fx)}, {y1, x1, fy * fx}} {
		out[i] = p.w * floatAt(x.DType, x.Data, plane+p.y*r.width+p.x)
	}
	return out
}

// between returns the elements before and after a coordinate, and how far it is past the first.
func between(v float64, n int) (low, high int, past float64) {
	v = max(v, 0)
	low = int(v)
	if low >= n-1 {
		return n - 1, n - 1, 0
	}
	return low, low + 1, v - float64(low)
}

func makeMaxRoiPool(o *backend.Op) (prepared, error) {
	r := roiOf(o)
	return run(r.pool)
}

func (r *roi) pool(c *backend.Call) error {
	x, y, boxes := &c.In[0], &c.Out[0], &c.In[1]
	for k := range r.regions {
		var box [5]float64
		for i := range box {
			box[i] = floatAt(boxes.DType, boxes.Data, k*5+i)
			if i > 0 {
				box[i] = math.Round(box[i] * r.scale)
			}
			if !(math.Abs(box[i]) < 1<<31) {
				return fmt.Errorf("rois: region %d: got %v, want a coordinate", k, box[i])
			}
		}
		image, err := imageOf(int64(box[0]), r.images, k)
		if err != nil {
			return err
		}
		for ch := range r.channels {
			plane := (image*r.channels + ch) * r.height * r.width
			for i := range r.rows * r.cols {
				y0, y1 := window(box[2], box[4], i/r.cols, r.rows, r.height)
				x0, x1 := window(box[1], box[3], i%r.cols, r.cols, r.width)
				v := r.most(x, plane, y0, y1, x0, x1)
				setFloat(y.DType, y.Data, (k*r.channels+ch)*r.rows*r.cols+i, v)
			}
		}
	}
	return nil
}

// window returns the elements, of n, that bin i of a region covers.
func window(low, high float64, i, bins, n int) (from, to int) {
	size := max(high-low+1, 1) / float64(bins)
	from = int(low + math.Floor(float64(i)*size))
	to = int(low + math.Ceil(float64(i+1)*size))
	return min(max(from, 0), n), min(max(to, 0), n)
}

// most returns the largest element of a window; 0 for an empty one.
func (r *roi) most(x *backend.View, plane, y0, y1, x0, x1 int) float64 {
	if y0 >= y1 || x0 >= x1 {
		return 0
	}
	v := math.Inf(-1)
	for i := y0; i < y1; i++ {
		for j := x0; j < x1; j++ {
			v = max(v, floatAt(x.DType, x.Data, plane+i*r.width+j))
		}
	}
	return v
}

// col2im is a prepared Col2Im, with one entry for each dimension of the image.
type col2im struct {
	images, channels    int
	image, block, holds []int
	stride, dilate, pad []int
	steps               steps
}

func makeCol2Im(o *backend.Op) (prepared, error) {
	image, block := constInts(o, 1), constInts(o, 2)
	n := len(image)
	strides, dilations := o.Node.Attrs.Ints("strides", nil), o.Node.Attrs.Ints("dilations", nil)
	pads := o.Node.Attrs.Ints("pads", nil)
	if len(block) != n || n > tensor.MaxRank-2 || strides != nil && len(strides) != n ||
		dilations != nil && len(dilations) != n || pads != nil && len(pads) != 2*n {
		return prepared{}, fmt.Errorf("col2im of %d dimensions: got block %v, strides %v, dilations %v, pads %v",
			n, block, strides, dilations, pads)
	}
	k := &col2im{steps: stepsOf(image)}
	for i := range n {
		p, stride, dilation := [2]int64{}, int64(1), int64(1)
		if pads != nil {
			p = [2]int64{pads[i], pads[n+i]}
		}
		if strides != nil {
			stride = strides[i]
		}
		if dilations != nil {
			dilation = dilations[i]
		}
		if block[i] < 1 || stride < 1 || dilation < 1 || image[i] < 0 || max(block[i], stride, dilation, image[i]) >= 1<<31 {
			return prepared{}, fmt.Errorf("col2im: dimension %d: got image %d, block %d, stride %d, dilation %d",
				i, image[i], block[i], stride, dilation)
		}
		holds := max((image[i]+p[0]+p[1]-dilation*(block[i]-1)-1+stride)/stride, 0)
		k.image, k.block = append(k.image, int(image[i])), append(k.block, int(block[i]))
		k.holds, k.pad = append(k.holds, int(holds)), append(k.pad, int(p[0]))
		k.stride, k.dilate = append(k.stride, int(stride)), append(k.dilate, int(dilation))
	}
	k.images, k.channels = int(o.Out[0].Shape[0]), int(o.Out[0].Shape[1])
	want := tensor.Shape{int64(k.images), int64(k.channels * extentOf(k.block)), int64(extentOf(k.holds))}
	if in := o.In[0].Shape; !in.Equal(want) {
		return prepared{}, fmt.Errorf("input: got shape %v, want %v", in, want)
	}
	return run(col2imTable.of(o.In[0].DType)(k))
}

func extentOf(ns []int) int {
	p := 1
	for _, n := range ns {
		p *= n
	}
	return p
}

var col2imTable = perType[func(*col2im) backend.Kernel]{
	F32: col2imOf[float32], F64: col2imOf[float64], I8: col2imOf[int8], I16: col2imOf[int16], I32: col2imOf[int32],
	I64: col2imOf[int64], U8: col2imOf[uint8], U16: col2imOf[uint16], U32: col2imOf[uint32], U64: col2imOf[uint64],
}

func col2imOf[T number](k *col2im) backend.Kernel {
	places, blocks, plane := extentOf(k.holds), extentOf(k.block), extentOf(k.image)
	return func(c *backend.Call) error {
		x, y := elems[T](&c.In[0]), elems[T](&c.Out[0])
		clear(y)
		for i := range k.images * k.channels {
			for b := range blocks {
				for p := range places {
					if at, ok := k.at(b, p); ok {
						y[i*plane+at] += x[(i*blocks+b)*places+p]
					}
				}
			}
		}
		return nil
	}
}

// at returns where in the image element b of the block at place p lies; ok is false outside.
func (k *col2im) at(b, p int) (at int, ok bool) {
	for d := len(k.image) - 1; d >= 0; d-- {
		i := p%k.holds[d]*k.stride[d] + b%k.block[d]*k.dilate[d] - k.pad[d]
		if i < 0 || i >= k.image[d] {
			return 0, false
		}
		at += i * k.steps[d]
		b, p = b/k.block[d], p/k.holds[d]
	}
	return at, true
}
