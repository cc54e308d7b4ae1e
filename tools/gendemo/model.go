package main

import (
	"math"

	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// The numbers that the model is built around; colors and gradients are on a scale of 0 to 1.
const (
	opset = 17
	// softEdge and hardEdge are the gradients at which an edge begins to show and is full.
	softEdge, hardEdge = 0.012, 0.09
	// harrisK weighs the trace of the structure tensor, and cornerMin is the least response,
	// relative to the greatest, of a corner (Harris and Stephens, "A combined corner and edge
	// detector", 1988).
	harrisK, cornerMin = 0.05, 0.04
)

// binomial is a Gaussian of five taps, which sum to 1.
var binomial = []float32{1. / 16, 4. / 16, 6. / 16, 4. / 16, 1. / 16}

// builder is the model under construction; part is what the nodes being added are named after.
type builder struct {
	*testkit.Model
	part string
}

// node adds a node with a name of its own and returns its output.
func (b *builder) node(op string, in []string, parts ...testkit.Part) string {
	name := b.NewName(b.part + "/" + op)
	return b.Node(op, in, append([]testkit.Part{testkit.Named(name), testkit.Outs(name)}, parts...)...)
}

// model builds the network that the demonstration runs: from a picture [1,3,height,width] with
// values from 0 to 1, it computes
//
//   - edges: the picture, dark, with its edges in a color for their direction, their glow, and a
//     ring around every corner;
//   - half, quarter, eighth: the picture's blur pyramid;
//   - corners: the row and column of every corner, int64 [found,2].
func model() *testkit.Model {
	b := &builder{Model: testkit.NewModel(opset)}
	b.Name, b.Producer = "edges", "stowage"
	b.Graph.Doc = "Edges by direction, with glow and Harris corners, and a blur pyramid."
	x := b.Input("picture", tensor.Float32, 1, 3, "height", "width")
	b.part = "ground"
	luma := b.mixChannels("luma", x, 3, []float32{0.299, 0.587, 0.114})
	smooth := b.blur("smooth", luma, 1)
	gx, gy := b.gradients(smooth)
	edges := b.colorEdges(gx, gy)
	corners := b.corners(gx, gy)
	glow := b.glow(edges)
	ring := b.ring(corners)
	b.part = "scene"
	ground := b.binary("Mul", luma, b.tensor("night", tensor.Shape{1, 3, 1, 1}, 0.15, 0.18, 0.3))
	scene := b.binary("Add", b.binary("Add", ground, edges), glow)
	scene = b.node("Where", []string{ring, b.tensor("white", tensor.Shape{1, 3, 1, 1}, 1, 0.97, 0.85), scene})
	b.node("Clip", []string{scene, b.scalar("zero", 0), b.scalar("one", 1)}, testkit.Outs("edges"))
	b.Output("edges", tensor.Float32, 1, 3, "height", "width")
	b.part = "pyramid"
	for _, name := range []string{"half", "quarter", "eighth"} {
		x = b.halve(name, x, 3)
		b.Output(name, tensor.Float32, 1, 3, nil, nil)
	}
	b.list(corners)
	return b.Model
}

func (b *builder) tensor(name string, shape tensor.Shape, data ...float32) string {
	return b.Init(name, tensor.Must(shape, data))
}

func (b *builder) scalar(name string, v float32) string { return b.tensor(name, tensor.Shape{}, v) }

func (b *builder) ints(name string, vs ...int64) string { return b.Init(name, tensor.Of(vs...)) }

func (b *builder) unary(op, x string, parts ...testkit.Part) string {
	return b.node(op, []string{x}, parts...)
}

func (b *builder) binary(op, x, y string) string { return b.node(op, []string{x, y}) }

// mixChannels makes one channel out of several.
func (b *builder) mixChannels(name, x string, channels int64, weights []float32) string {
	w := b.tensor(name+".weight", tensor.Shape{1, channels, 1, 1}, weights...)
	return b.node("Conv", []string{x, w}, testkit.Named(name), testkit.Ints("kernel_shape", 1, 1))
}

// extend repeats the border n times on every side, so that a filter does not see black there.
func (b *builder) extend(name, x string, n int64) string {
	return b.node("Pad", []string{x, b.ints(name+".pads", 0, 0, n, n, 0, 0, n, n)}, testkit.String("mode", "edge"))
}

// blur smooths every channel by itself, along rows and then along columns.
func (b *builder) blur(name, x string, channels int64) string {
	var w []float32
	for range channels {
		w = append(w, binomial...)
	}
	x = b.extend(name, x, 2)
	x = b.node("Conv", []string{x, b.tensor(name+".row", tensor.Shape{channels, 1, 1, 5}, w...)},
		testkit.Named(name+"/row"), testkit.Int("group", channels), testkit.Ints("kernel_shape", 1, 5))
	return b.node("Conv", []string{x, b.tensor(name+".column", tensor.Shape{channels, 1, 5, 1}, w...)},
		testkit.Named(name+"/column"), testkit.Int("group", channels), testkit.Ints("kernel_shape", 5, 1))
}

// halve blurs and takes the mean of every 2×2 pixels; it names the result.
func (b *builder) halve(name, x string, channels int64) string {
	return b.unary("AveragePool", b.blur(name+"/blur", x, channels), testkit.Named(name), testkit.Outs(name),
		testkit.Ints("kernel_shape", 2, 2), testkit.Ints("strides", 2, 2))
}

// gradients returns the slopes along rows and along columns (Sobel's filters).
func (b *builder) gradients(x string) (gx, gy string) {
	b.part = "gradients"
	w := b.tensor("sobel.weight", tensor.Shape{2, 1, 3, 3},
		-1./8, 0, 1./8, -2./8, 0, 2./8, -1./8, 0, 1./8,
		-1./8, -2./8, -1./8, 0, 0, 0, 1./8, 2./8, 1./8)
	g := b.node("Conv", []string{b.extend("sobel", x, 1), w}, testkit.Named("sobel"), testkit.Ints("kernel_shape", 3, 3))
	gs := b.Nodes("Split", []string{g, b.ints("sobel.split", 1, 1)}, 2, testkit.Named("gradients/Split"),
		testkit.Int("axis", 1))
	return gs[0], gs[1]
}

// colorEdges thins edges to the crest of the gradient and colors them by twice its angle, so that
// opposite directions look the same.
func (b *builder) colorEdges(gx, gy string) string {
	b.part = "edges"
	xx, yy := b.binary("Mul", gx, gx), b.binary("Mul", gy, gy)
	square := b.binary("Add", b.binary("Add", xx, yy), b.scalar("tiny", 1e-8))
	size := b.unary("Sqrt", square)
	crest := func(kernel, pads []int64) string {
		most := b.unary("MaxPool", size, testkit.Ints("kernel_shape", kernel...), testkit.Ints("pads", pads...))
		return b.binary("GreaterOrEqual", size, most)
	}
	across := b.binary("GreaterOrEqual", b.unary("Abs", gx), b.unary("Abs", gy))
	keep := b.node("Where", []string{
		across, crest([]int64{1, 3}, []int64{0, 1, 0, 1}), crest([]int64{3, 1}, []int64{1, 0, 1, 0}),
	})
	strength := b.binary("Sub", size, b.scalar("soft", softEdge))
	strength = b.binary("Mul", strength, b.scalar("slope", 1/(hardEdge-softEdge)))
	strength = b.node("Clip", []string{strength, b.scalar("least", 0), b.scalar("most", 1)})
	strength = b.binary("Mul", strength, b.unary("Cast", keep, testkit.Int("to", int64(tensor.Float32))))

	cos := b.binary("Sub", xx, yy)
	sin := b.binary("Mul", b.binary("Mul", gx, gy), b.scalar("two", 2))
	angle := b.node("Concat", []string{cos, sin}, testkit.Int("axis", 1))
	angle = b.binary("Div", angle, square)
	hue := b.node("Conv", []string{
		angle, b.Init("hue.weight", hueWeights()), b.tensor("hue.bias", tensor.Shape{3}, 0.6, 0.6, 0.6),
	}, testkit.Named("hue"), testkit.Ints("kernel_shape", 1, 1))
	return b.binary("Mul", hue, strength)
}

// hueWeights turns the cosine and sine of an angle into red, green and blue, a third of a turn
// apart.
func hueWeights() *tensor.Tensor {
	half := math.Sqrt(3) / 2
	dirs := [][2]float64{{-0.5, half}, {1, 0}, {-0.5, -half}}
	var w []float32
	for _, d := range dirs {
		w = append(w, float32(0.4*d[0]), float32(0.4*d[1]))
	}
	return tensor.Must(tensor.Shape{3, 2, 1, 1}, w)
}

// glow makes the edges smaller three times, and adds up the levels on the way back.
func (b *builder) glow(edges string) string {
	b.part = "glow"
	one := b.halve("glow1", edges, 3)
	two := b.halve("glow2", one, 3)
	three := b.halve("glow3", two, 3)
	two = b.binary("Add", two, b.resizeLike(three, two))
	one = b.binary("Add", one, b.resizeLike(two, one))
	return b.binary("Mul", b.resizeLike(one, edges), b.scalar("glow.strength", 0.6))
}

// resizeLike gives x the height and width of like.
func (b *builder) resizeLike(x, like string) string {
	size := b.unary("Shape", like)
	return b.node("Resize", []string{x, "", "", size}, testkit.String("mode", "linear"),
		testkit.String("coordinate_transformation_mode", "half_pixel"))
}

// corners marks the pixels where the picture changes most in every direction around.
func (b *builder) corners(gx, gy string) string {
	b.part = "corners"
	parts := []string{b.binary("Mul", gx, gx), b.binary("Mul", gy, gy), b.binary("Mul", gx, gy)}
	structure := b.node("Concat", parts, testkit.Int("axis", 1))
	structure = b.blur("structure", structure, 3)
	s := b.Nodes("Split", []string{structure, b.ints("structure.split", 1, 1, 1)}, 3, testkit.Named("corners/Split"),
		testkit.Int("axis", 1))
	det := b.binary("Sub", b.binary("Mul", s[0], s[1]), b.binary("Mul", s[2], s[2]))
	trace := b.binary("Add", s[0], s[1])
	trace = b.binary("Mul", b.binary("Mul", trace, trace), b.scalar("harris.k", harrisK))
	response := b.binary("Sub", det, trace)
	peak := b.unary("MaxPool", response, testkit.Ints("kernel_shape", 9, 9), testkit.Ints("pads", 4, 4, 4, 4))
	most := b.unary("ReduceMax", response, testkit.Int("keepdims", 1))
	strong := b.binary("Greater", response, b.binary("Mul", most, b.scalar("corner.least", cornerMin)))
	return b.binary("And", strong, b.binary("GreaterOrEqual", response, peak))
}

// ring marks the pixels two away from a corner, along rows, columns or both.
func (b *builder) ring(corners string) string {
	b.part = "ring"
	x := b.unary("Cast", corners, testkit.Int("to", int64(tensor.Float32)))
	wide := b.unary("MaxPool", x, testkit.Ints("kernel_shape", 5, 5), testkit.Ints("pads", 2, 2, 2, 2))
	near := b.unary("MaxPool", x, testkit.Ints("kernel_shape", 3, 3), testkit.Ints("pads", 1, 1, 1, 1))
	return b.binary("Greater", wide, near)
}

// list turns the marks into rows and columns.
func (b *builder) list(corners string) {
	b.part = "list"
	at := b.unary("NonZero", corners)
	at = b.node("Slice", []string{at, b.ints("list.start", 2), b.ints("list.end", 4), b.ints("list.axis", 0)})
	b.unary("Transpose", at, testkit.Ints("perm", 1, 0), testkit.Outs("corners"))
	b.Output("corners", tensor.Int64, "found", 2)
}
