// Package picture turns pictures into tensors that a vision model takes, and tensors that look
// like pictures into pictures. It knows nothing of models: only element types and dims. Sizes
// are in pixels; a dim of −1 is free.
package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	_ "image/jpeg" // registers the decoder
	_ "image/png"  // registers the decoder
	"slices"

	"github.com/stowage-ml/stowage/tensor"
)

// maxPixels is the largest picture read or made, in pixels.
const maxPixels = 1 << 26

// Decode reads a PNG or JPEG file of at most 2^26 pixels.
func Decode(b []byte) (image.Image, error) {
	c, format, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("picture: %w", err)
	}
	if c.Width <= 0 || c.Height <= 0 || c.Width > maxPixels/c.Height {
		return nil, fmt.Errorf("picture: %s of %d×%d: want at least 1 and at most %d pixels",
			format, c.Width, c.Height, maxPixels)
	}
	img, _, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("picture: %w", err)
	}
	return img, nil
}

// Layout says where a tensor keeps the rows, columns and channels of one picture.
type Layout struct {
	// Planar means that channels come before rows (CHW), else after columns (HWC).
	Planar bool
	// Batched means that a batch dim of 1 comes first.
	Batched bool
	// Channels is 1, 3 or 4. Height and Width are −1 when free.
	Channels, Height, Width int64
}

// LayoutOf finds the layout that dims stand for. They look like a picture when they are three,
// or four of which the first is 1 or free, and one end of the last three is 1, 3 or 4 channels;
// when both ends are, the channels come first.
func LayoutOf(dims []int64) (Layout, bool) {
	l := Layout{Batched: len(dims) == 4}
	if l.Batched {
		if dims[0] != 1 && dims[0] != -1 {
			return l, false
		}
		dims = dims[1:]
	}
	if len(dims) != 3 {
		return l, false
	}
	switch channels := []int64{1, 3, 4}; {
	case slices.Contains(channels, dims[0]):
		l.Planar = true
		l.Channels, l.Height, l.Width = dims[0], dims[1], dims[2]
	case slices.Contains(channels, dims[2]):
		l.Height, l.Width, l.Channels = dims[0], dims[1], dims[2]
	default:
		return l, false
	}
	return l, l.Height != 0 && l.Width != 0
}

func (l Layout) shape() tensor.Shape {
	s := tensor.Shape{l.Height, l.Width, l.Channels}
	if l.Planar {
		s = tensor.Shape{l.Channels, l.Height, l.Width}
	}
	if l.Batched {
		s = append(tensor.Shape{1}, s...)
	}
	return s
}

// index returns the position of channel c of pixel (x, y) among a tensor's elements.
func (l Layout) index(x, y, c int) int {
	if l.Planar {
		return (c*int(l.Height)+y)*int(l.Width) + x
	}
	return (y*int(l.Width)+x)*int(l.Channels) + c
}

// Options says how 8-bit channel values become elements: (value·Scale − Mean) / Std.
type Options struct {
	// Scale is 1/255 for floats and 1 for uint8 when it is 0.
	Scale float64
	// Mean and Std have one number, or one for each channel in the model's order; none means 0
	// and 1.
	Mean, Std []float64
	// BGR swaps red and blue.
	BGR bool
}

// Tensor makes a tensor from a picture. A layout with a fixed height or width resizes it, each
// side on its own; free ones take the picture's size. Transparency is dropped, unless there are
// four channels; one channel is the luma of BT.601. dt is a float or uint8, which rounds and
// saturates.
func Tensor(img image.Image, l Layout, dt tensor.DType, o Options) (*tensor.Tensor, error) {
	if !dt.IsFloat() && dt != tensor.Uint8 || dt.Bits() < 16 && dt != tensor.Uint8 {
		return nil, fmt.Errorf("picture: element type: got %v, want uint8 or a float of 16 bits or more", dt)
	}
	norm, err := o.channels(l.Channels, dt)
	if err != nil {
		return nil, err
	}
	p := planesOf(img, int(l.Channels), o.BGR)
	if l.Height < 0 {
		l.Height = int64(p.h)
	}
	if l.Width < 0 {
		l.Width = int64(p.w)
	}
	// Between its two steps, resizing holds the new width at the old height.
	if l.Height < 1 || l.Width < 1 || max(l.Height, int64(p.h)) > maxPixels/l.Width {
		return nil, fmt.Errorf("picture: %d×%d to %d×%d: want at least 1 and at most %d pixels",
			p.w, p.h, l.Width, l.Height, maxPixels)
	}
	p = p.resize(int(l.Width), int(l.Height))
	t, err := tensor.Zeros(dt, l.shape())
	if err != nil {
		return nil, fmt.Errorf("picture: %w", err)
	}
	put := store(t)
	for y := range p.h {
		for x := range p.w {
			for c := range p.c {
				v := float64(p.px[(y*p.w+x)*p.c+c])
				put(l.index(x, y, c), (v*norm[c].scale-norm[c].mean)/norm[c].std)
			}
		}
	}
	return t, nil
}

type affine struct{ scale, mean, std float64 }

// channels spreads the options over the channels.
func (o Options) channels(n int64, dt tensor.DType) ([]affine, error) {
	scale := o.Scale
	if scale == 0 {
		scale = 1
		if dt.IsFloat() {
			scale = 1.0 / 255
		}
	}
	out := make([]affine, n)
	for c := range out {
		out[c] = affine{scale, 0, 1}
		for _, set := range []struct {
			what string
			from []float64
			to   *float64
		}{{"mean", o.Mean, &out[c].mean}, {"std", o.Std, &out[c].std}} {
			switch len(set.from) {
			case 0:
			case 1:
				*set.to = set.from[0]
			case int(n):
				*set.to = set.from[c]
			default:
				return nil, fmt.Errorf("picture: %s: got %d numbers, want 1 or %d", set.what, len(set.from), n)
			}
		}
		if out[c].std == 0 {
			return nil, fmt.Errorf("picture: std of channel %d: got 0, want another number", c)
		}
	}
	return out, nil
}

// store returns a writer of the elements of a float or uint8 tensor.
func store(t *tensor.Tensor) func(i int, v float64) {
	b := t.Bytes()
	switch t.DType() {
	case tensor.Float32:
		s := tensor.Cast[float32](b)
		return func(i int, v float64) { s[i] = float32(v) }
	case tensor.Float64:
		s := tensor.Cast[float64](b)
		return func(i int, v float64) { s[i] = v }
	case tensor.Float16:
		s := tensor.Cast[tensor.Half](b)
		return func(i int, v float64) { s[i] = tensor.HalfOf(float32(v)) }
	case tensor.BFloat16:
		s := tensor.Cast[tensor.Brain](b)
		return func(i int, v float64) { s[i] = tensor.BrainOf(float32(v)) }
	}
	return func(i int, v float64) { b[i] = uint8(min(max(v, 0), 255) + 0.5) }
}

// planesOf reads the channels of a picture as numbers from 0 to 255.
func planesOf(img image.Image, channels int, bgr bool) planes {
	r := img.Bounds()
	rgba := image.NewNRGBA(image.Rect(0, 0, r.Dx(), r.Dy()))
	draw.Draw(rgba, rgba.Rect, img, r.Min, draw.Src)
	p := newPlanes(r.Dx(), r.Dy(), channels)
	for i := range r.Dx() * r.Dy() {
		px := rgba.Pix[4*i : 4*i+4]
		if channels == 1 {
			p.px[i] = 0.299*float32(px[0]) + 0.587*float32(px[1]) + 0.114*float32(px[2])
			continue
		}
		to := p.px[i*channels : (i+1)*channels]
		for c := range to {
			to[c] = float32(px[c])
		}
		if bgr {
			to[0], to[2] = to[2], to[0]
		}
	}
	return p
}
