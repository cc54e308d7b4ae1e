package main

import (
	"image"
	"image/color"
	"math"
)

// The picture's size in pixels, and the lines on which things stand.
const (
	width, height = 480, 320
	horizon       = 196
	waterline     = 252
	sunX, sunY    = 356, 128
)

// rgb is a color with components from 0 to 255.
type rgb struct{ r, g, b float64 }

func (c rgb) mix(o rgb, part float64) rgb {
	return rgb{c.r + (o.r-c.r)*part, c.g + (o.g-c.g)*part, c.b + (o.b-c.b)*part}
}

func (c rgb) dim(by float64) rgb { return rgb{c.r * by, c.g * by, c.b * by} }

// scene draws a loaded container ship at sunset: straight edges, corners, curves and gradients.
// Every pixel is the mean of a grid of samples.
func scene() *image.NRGBA {
	const grid = 4
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for py := range height {
		for px := range width {
			var sum rgb
			for i := range grid * grid {
				c := sample(float64(px)+(float64(i%grid)+0.5)/grid, float64(py)+(float64(i/grid)+0.5)/grid)
				sum = rgb{sum.r + c.r, sum.g + c.g, sum.b + c.b}
			}
			img.SetNRGBA(px, py, color.NRGBA{level(sum.r), level(sum.g), level(sum.b), 255})
		}
	}
	return img
}

// level rounds a sum of 16 samples.
func level(sum float64) uint8 { return uint8(min(max(sum/16, 0), 255) + 0.5) }

// sample returns the color at a point; y grows downwards.
func sample(x, y float64) rgb {
	if c, ok := ship(x, y); ok {
		return c
	}
	if y < horizon {
		return sky(x, y)
	}
	return sea(x, y)
}

// clouds are ellipses: where their middle is, and half of their width and height.
var clouds = [][4]float64{{90, 52, 88, 9}, {150, 64, 60, 6}, {300, 38, 110, 8}, {420, 70, 70, 7}, {230, 92, 64, 5}}

func sky(x, y float64) rgb {
	t := y / horizon
	c := rgb{28, 40, 96}.mix(rgb{214, 108, 112}, smooth(0.05, 0.75, t)).mix(rgb{255, 196, 120}, smooth(0.55, 1, t))
	d := math.Hypot(x-sunX, y-sunY)
	c = c.mix(rgb{255, 222, 160}, 0.75*math.Exp(-d/46))
	if d < 27 {
		return rgb{255, 244, 214}
	}
	for _, k := range clouds {
		e := math.Hypot((x-k[0])/k[2], (y-k[1])/k[3])
		c = c.mix(rgb{255, 214, 190}, 0.5*smooth(1, 0.3, e))
	}
	ridge := horizon - 13 - 9*math.Sin(x*0.021+0.6) - 5*math.Sin(x*0.057)
	if y > ridge {
		c = rgb{92, 66, 104}.mix(rgb{150, 96, 112}, (y-ridge)/40)
	}
	return c
}

func sea(x, y float64) rgb {
	t := (y - horizon) / (height - horizon)
	c := rgb{188, 120, 116}.mix(rgb{22, 40, 78}, smooth(0, 0.9, math.Sqrt(t)))
	scale := 3 + 16*t
	wave := math.Sin(y*9/scale+2*math.Sin(x/(3*scale))) * math.Sin(x/(1.7*scale)+y*0.31)
	c = c.mix(rgb{240, 190, 160}, 0.16*max(wave, 0))
	glint := math.Exp(-math.Pow((x-sunX)/(16+70*t), 2))
	c = c.mix(rgb{255, 226, 170}, 0.85*glint*smooth(-0.1, 0.7, wave)*(1-0.4*t))
	if y > waterline-6 {
		shift := 3 * math.Sin(y*0.9+x*0.05)
		if s, ok := ship(x+shift, 2*waterline-y-4); ok {
			c = c.mix(s.dim(0.6), 0.45*smooth(70, 0, y-waterline))
		}
	}
	return c
}

// ship returns the color of the ship at a point, if it is there.
func ship(x, y float64) (rgb, bool) {
	for _, part := range []func(x, y float64) (rgb, bool){hull, tower, funnel, containers, mast} {
		if c, ok := part(x, y); ok {
			return c, true
		}
	}
	return rgb{}, false
}

func hull(x, y float64) (rgb, bool) {
	deck := 210 - 12*smooth(360, 440, x)
	left, right := 50+(y-210)*0.55, 440-(y-198)*0.72
	if y < deck || y > waterline || x < left || x > right {
		return rgb{}, false
	}
	switch {
	case y > 243:
		return rgb{142, 44, 44}.mix(rgb{84, 24, 36}, (y-243)/12), true
	case y > deck+4 && y < deck+6:
		return rgb{226, 226, 226}, true
	}
	c := rgb{38, 56, 92}.mix(rgb{74, 80, 112}, smooth(150, 430, x))
	if math.Mod(x+400, 30) < 1 {
		c = c.dim(0.86)
	}
	return c, true
}

// tower is the house at the stern with the bridge on top.
func tower(x, y float64) (rgb, bool) {
	wall := rgb{222, 216, 208}.mix(rgb{250, 232, 206}, smooth(70, 128, x))
	switch {
	case in(x, y, 60, 118, 136, 132):
		if y > 121 && y < 128 && math.Mod(x-62, 9) < 7 {
			return rgb{44, 66, 104}, true
		}
		return wall.dim(0.95), true
	case !in(x, y, 72, 132, 126, 211):
		return rgb{}, false
	}
	if column, row := math.Mod(x-77, 12), math.Mod(y-139, 14); x > 77 && x < 122 && y > 139 && column < 7 && row < 8 {
		return rgb{60, 78, 112}.mix(rgb{255, 214, 140}, litWindow(x-77, y-139)), true
	}
	if math.Mod(y-132, 14) < 1 {
		return wall.dim(0.8), true
	}
	return wall, true
}

// litWindow says how bright the window is at a place of the wall.
func litWindow(x, y float64) float64 {
	if n := int(x/12)*5 + int(y/14)*3; n%4 == 0 {
		return 0.9
	}
	return 0
}

func funnel(x, y float64) (rgb, bool) {
	if !in(x, y, 80, 92, 104, 118) {
		return rgb{}, false
	}
	if y > 98 && y < 106 {
		return rgb{240, 236, 226}, true
	}
	return rgb{186, 52, 48}.mix(rgb{220, 92, 70}, (x-80)/24), true
}

func mast(x, y float64) (rgb, bool) {
	post := in(x, y, 412, 150, 414.5, 204) || in(x, y, 404, 162, 423, 164)
	return rgb{64, 62, 76}, post || in(x, y, 118, 88, 120, 118)
}

// stacks is how many containers stand on one another, from stern to bow.
var stacks = []int{4, 6, 6, 5, 6, 4, 3}

var paints = []rgb{
	{196, 66, 54}, {48, 108, 160}, {222, 156, 60}, {62, 134, 96}, {206, 200, 190}, {122, 74, 120}, {58, 148, 160},
}

func containers(x, y float64) (rgb, bool) {
	const left, bottom, w, h = 138, 209, 38, 15
	column, row := int(math.Floor((x-left)/w)), int(math.Floor((bottom-y)/h))
	if column < 0 || column >= len(stacks) || row < 0 || row >= stacks[column] {
		return rgb{}, false
	}
	u, v := x-left-float64(column*w), bottom-y-float64(row*h)
	if u > w-1.5 {
		return rgb{}, false
	}
	paint := paints[(column*5+row*3+column*row)%len(paints)]
	c := paint.mix(rgb{255, 226, 180}, 0.18*smooth(140, 400, x))
	switch {
	case u < 1.5 || u > w-3 || v < 1.2 || v > h-1.4:
		c = c.dim(0.55)
	case column%2 == row%2 && u > 12 && u < 25 && v > 5 && v < 10:
		c = c.mix(rgb{250, 246, 236}, 0.8)
	case math.Mod(u, 4) < 1.6:
		c = c.dim(0.84)
	}
	return c, true
}

func in(x, y, left, top, right, bottom float64) bool {
	return x >= left && x < right && y >= top && y < bottom
}

// smooth goes from 0 at a to 1 at b, with level ends; a may be the greater.
func smooth(a, b, x float64) float64 {
	t := min(max((x-a)/(b-a), 0), 1)
	return t * t * (3 - 2*t)
}
