package picture

import (
	"image"
	"image/color"
	"math"

	"github.com/stowage-ml/stowage/cmd/stowage/internal/values"
	"github.com/stowage-ml/stowage/tensor"
)

// minSide is the least height and width that a tensor without a channel dim needs to look like a
// picture.
const minSide = 8

// Paint makes a picture of a tensor that looks like one: dims as in LayoutOf, or two dims of at
// least 8. Bytes are taken as they are and bools as black and white; other numbers go from 0..1
// to black..white when they lie there, else from their least to their greatest. The range says
// which values became black and white. ok is false when the tensor does not look like a picture.
func Paint(t *tensor.Tensor) (img image.Image, black, white float64, ok bool) {
	l, ok := LayoutOf(t.Shape())
	if s := t.Shape(); !ok && len(s) == 2 && s[0] >= minSide && s[1] >= minSide {
		l, ok = Layout{Planar: true, Channels: 1, Height: s[0], Width: s[1]}, true
	}
	at := values.Numbers(t)
	if !ok || at == nil || t.Len() == 0 || l.Height > maxPixels/l.Width {
		return nil, 0, 0, false
	}
	black, white = span(t, at)
	level := func(x, y, c int) uint8 {
		v := (at(l.index(x, y, c)) - black) / (white - black)
		if math.IsNaN(v) {
			return 0
		}
		return uint8(min(max(v, 0), 1)*255 + 0.5)
	}
	r := image.Rect(0, 0, int(l.Width), int(l.Height))
	if l.Channels == 1 {
		gray := image.NewGray(r)
		for y := range r.Dy() {
			for x := range r.Dx() {
				gray.SetGray(x, y, color.Gray{Y: level(x, y, 0)})
			}
		}
		return gray, black, white, true
	}
	rgba := image.NewNRGBA(r)
	for y := range r.Dy() {
		for x := range r.Dx() {
			c := color.NRGBA{level(x, y, 0), level(x, y, 1), level(x, y, 2), 255}
			if l.Channels == 4 {
				c.A = level(x, y, 3)
			}
			rgba.SetNRGBA(x, y, c)
		}
	}
	return rgba, black, white, true
}

// span returns the values that become black and white; they are finite and differ.
func span(t *tensor.Tensor, at values.At) (black, white float64) {
	switch t.DType() {
	case tensor.Uint8:
		return 0, 255
	case tensor.Bool:
		return 0, 1
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range t.Len() {
		if v := at(i); !math.IsNaN(v) && !math.IsInf(v, 0) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if lo >= 0 && hi <= 1 || lo > hi {
		return 0, 1
	}
	if lo == hi {
		return lo, max(lo+1, math.Nextafter(lo, math.Inf(1)))
	}
	return lo, hi
}
