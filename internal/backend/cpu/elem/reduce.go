package elem

import (
	"math"
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/vec"
	"github.com/stowage-ml/stowage/tensor"
)

const (
	// lanes is how many results are folded side by side.
	lanes = 512
	// flush is after how many terms a lane's sum is added to a second one, so that errors do not grow
	// with the number of terms.
	flush = 64
)

// reducing is what a reduction does: lane folds vectors into accumulators that start as start,
// line folds neighbours, join and two put results together, and end makes the result of n terms.
type reducing struct {
	start float32
	lane  func(fn *vec.Funcs, acc, x []float32)
	line  func(fn *vec.Funcs, x []float32) float64
	join  vec.Binary
	two   func(a, b float64) float64
	end   func(sum float64, n int) float32
}

func plus(a, b float64) float64 { return a + b }

func addLane(fn *vec.Funcs, acc, x []float32) { fn.VV[vec.Add](acc, acc, x) }

func squareLane(fn *vec.Funcs, acc, x []float32) { fn.MulAdd(acc, x, x, acc) }

func sumLine(fn *vec.Funcs, x []float32) float64 { return pieces(x, fn.Sum) }

func squareLine(fn *vec.Funcs, x []float32) float64 { return squares(fn, x, 0) }

func plainEnd(sum float64, _ int) float32 { return float32(sum) }

// pieces adds up what f makes of pieces of x.
func pieces(x []float32, f func(x []float32) float32) float64 {
	sum := 0.0
	for i := 0; i < len(x); i += part {
		sum += float64(f(x[i:min(i+part, len(x))]))
	}
	return sum
}

var reductions = map[string]*reducing{
	"ReduceSum": {join: vec.Add, two: plus, lane: addLane, line: sumLine, end: plainEnd},
	"ReduceMean": {join: vec.Add, two: plus, lane: addLane, line: sumLine,
		end: func(sum float64, n int) float32 { return float32(sum / float64(n)) }},
	"ReduceSumSquare": {join: vec.Add, two: plus, lane: squareLane, line: squareLine, end: plainEnd},
	"ReduceL2": {join: vec.Add, two: plus, lane: squareLane, line: squareLine,
		end: func(sum float64, _ int) float32 { return float32(math.Sqrt(sum)) }},
	"ReduceL1": {join: vec.Add, two: plus, end: plainEnd,
		lane: func(fn *vec.Funcs, acc, x []float32) {
			for i, v := range x[:len(acc)] {
				acc[i] += float32(math.Abs(float64(v)))
			}
		},
		line: func(fn *vec.Funcs, x []float32) float64 { return pieces(x, fn.SumAbs) }},
	"ReduceProd": {start: 1, join: vec.Mul, end: plainEnd,
		two:  func(a, b float64) float64 { return a * b },
		lane: func(fn *vec.Funcs, acc, x []float32) { fn.VV[vec.Mul](acc, acc, x) },
		line: func(_ *vec.Funcs, x []float32) float64 {
			p := 1.0
			for _, v := range x {
				p *= float64(v)
			}
			return p
		}},
	"ReduceMax": {start: float32(math.Inf(-1)), join: vec.Max, end: plainEnd,
		two:  func(a, b float64) float64 { return max(a, b) },
		lane: func(fn *vec.Funcs, acc, x []float32) { fn.VV[vec.Max](acc, acc, x) },
		line: func(fn *vec.Funcs, x []float32) float64 { return float64(fn.MaxOf(x)) }},
	"ReduceMin": {start: float32(math.Inf(1)), join: vec.Min, end: plainEnd,
		two:  func(a, b float64) float64 { return min(a, b) },
		lane: func(fn *vec.Funcs, acc, x []float32) { fn.VV[vec.Min](acc, acc, x) },
		line: func(fn *vec.Funcs, x []float32) float64 { return float64(fn.MinOf(x)) }},
}

// reduce folds a tensor whose dimensions, joined where they can be, are outer dimensions that
// stay, dropped ones, and one innermost of w elements.
type reduce struct {
	fn *vec.Funcs
	*reducing
	// kept and dropped are the dimensions around the innermost one.
	kept, dropped level
	// w is the innermost extent; keepsInner says that it stays.
	w          int
	keepsInner bool
	terms      int
	// perImage is how many channels and how many vectors of w places an image has when channels are
	// in blocks; places of no channel become 0.
	channels, perImage int
	cut                cut
}

// level is the numbers and steps of some dimensions of the input, outermost first.
type level struct {
	dims, steps []int
	n           int
}

// at returns where element i of the dimensions is.
func (l *level) at(i int) int {
	sum := 0
	for k := len(l.dims) - 1; k >= 0; k-- {
		sum += i % l.dims[k] * l.steps[k]
		i /= l.dims[k]
	}
	return sum
}

// Reduce returns the kernels for reductions of float32.
func Reduce(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	how := reductions[o.Node.Op]
	list, known := axesOf(o)
	if how == nil || !known || !isFloat(&o.In[0], &o.Out[0]) || count(o.In[0].Shape) == 0 {
		return nil, nil
	}
	axes, err := op.ReduceAxes(o.Node, list, len(o.In[0].Shape))
	if err != nil {
		return nil, err
	}
	r := newReduce(o.In[0].Shape, axes)
	r.fn, r.reducing = vec.For(l), how
	out := []backend.Candidate{r.candidate(l, o)}
	if b := blockedReduce(l, o, axes); b != nil {
		b.fn, b.reducing = r.fn, how
		c := b.candidate(l, o)
		c.In, c.Out = make([]backend.Layout, len(o.In)), []backend.Layout{backend.Layout(l.Block())}
		c.In[0] = c.Out[0]
		out = append(out, c)
	}
	return out, nil
}

// axesOf returns the axes that the attribute or a constant lists; known is false when an input
// does that is no constant.
func axesOf(o *backend.Op) (list []int64, known bool) {
	if !o.Arg(1).Present() {
		return o.Node.Attrs.Ints("axes", nil), true
	}
	t := o.In[1].Const
	if t == nil {
		return nil, false
	}
	switch t.DType() {
	case tensor.Int64:
		return tensor.Cast[int64](t.Bytes()), true
	case tensor.Int32:
		for _, v := range tensor.Cast[int32](t.Bytes()) {
			list = append(list, int64(v))
		}
		return list, true
	}
	return nil, false
}

// newReduce joins neighbouring dimensions that stay, or that go, together.
func newReduce(shape tensor.Shape, axes []int) *reduce {
	var dims []int
	var goes []bool
	for i, d := range shape {
		gone := slices.Contains(axes, i)
		switch last := len(dims) - 1; {
		case d == 1:
		case last >= 0 && goes[last] == gone:
			dims[last] *= int(d)
		default:
			dims, goes = append(dims, int(d)), append(goes, gone)
		}
	}
	if len(dims) == 0 {
		dims, goes = []int{1}, []bool{len(axes) > 0}
	}
	return joined(dims, goes)
}

func joined(dims []int, goes []bool) *reduce {
	last := len(dims) - 1
	r := &reduce{w: dims[last], keepsInner: !goes[last], kept: level{n: 1}, dropped: level{n: 1}, terms: 1}
	step := 1
	steps := make([]int, len(dims))
	for i := last; i >= 0; i-- {
		steps[i] = step
		step *= dims[i]
		if goes[i] {
			r.terms *= dims[i]
		}
	}
	for i := range last {
		l := &r.kept
		if goes[i] {
			l = &r.dropped
		}
		l.dims, l.steps, l.n = append(l.dims, dims[i]), append(l.steps, steps[i]), l.n*dims[i]
	}
	return r
}

// blockedReduce is the reduction of all dimensions behind the channels of a blocked tensor, with a
// blocked result; nil for others.
func blockedReduce(l simd.Level, o *backend.Op, axes []int) *reduce {
	s, b := o.In[0].Shape, l.Block()
	if !backend.Layout(b).Fits(tensor.Float32, s) || len(o.Out[0].Shape) != len(s) || len(axes) != len(s)-2 ||
		axes[0] != 2 {
		return nil
	}
	per := (int(s[1]) + b - 1) / b
	r := joined([]int{int(s[0]) * per, count(s[2:]), b}, []bool{false, true, false})
	r.channels, r.perImage = int(s[1]), per
	return r
}

// candidate prepares the kernel. A result takes w elements of scratch memory when the innermost
// dimension stays.
func (r *reduce) candidate(l simd.Level, o *backend.Op) backend.Candidate {
	c := made(l, "reduce", 0.2, 0.7)
	if r.keepsInner {
		r.cut = newCut(r.kept.n, r.w, r.dropped.n, lanes, o.Threads)
		c.Scratch = 4 * 2 * lanes * int64(max(o.Threads, 1))
	} else {
		r.cut = newCut(r.kept.n, 1, r.terms, 1, o.Threads)
	}
	task := r.lineTask
	if r.keepsInner {
		task = r.laneTask
	}
	c.Kernel = func(c *backend.Call) error {
		c.Par(r.cut.tasks, task)
		return nil
	}
	return c
}

// lineTask folds lines of neighbours.
func (r *reduce) lineTask(c *backend.Call, i, _ int) {
	x, y := floats(&c.In[0]), floats(&c.Out[0])
	first, last, _, _ := r.cut.task(i)
	for k := first; k < last; k++ {
		at := r.kept.at(k)
		sum := r.line(r.fn, x[at:][:r.w])
		for j := 1; j < r.dropped.n; j++ {
			sum = r.two(sum, r.line(r.fn, x[at+r.dropped.at(j):][:r.w]))
		}
		y[k] = r.end(sum, r.terms)
	}
}

// laneTask folds vectors of w results that lie side by side.
func (r *reduce) laneTask(c *backend.Call, i, worker int) {
	x, y := floats(&c.In[0]), floats(&c.Out[0])
	mem := tensor.Cast[float32](c.Scratch)[worker*2*lanes:][:2*lanes]
	first, last, from, to := r.cut.task(i)
	for k := first; k < last; k++ {
		at := r.kept.at(k)
		for j := from; j < to; j += lanes {
			w := min(lanes, to-j)
			if m := lanes / r.w; m > 1 && len(r.dropped.dims) == 1 && r.dropped.steps[0] == r.w {
				r.stacked(y[k*r.w:][:r.w], x[at:][:r.dropped.n*r.w], mem, m)
				continue
			}
			r.side(y[k*r.w+j:][:w], x[at+j:], mem)
		}
		if r.perImage > 0 {
			clear(y[k*r.w:][:r.w][min(r.channels-k%r.perImage*r.w, r.w):])
		}
	}
}

// side folds all that belongs to len(y) results into them.
func (r *reduce) side(y, x, mem []float32) {
	acc, total := mem[:len(y)], mem[lanes:][:len(y)]
	r.begin(total)
	for j := 0; j < r.dropped.n; j += flush {
		r.begin(acc)
		for i := j; i < min(j+flush, r.dropped.n); i++ {
			r.lane(r.fn, acc, x[r.dropped.at(i):][:len(y)])
		}
		r.fn.VV[r.join](total, total, acc)
	}
	for i, v := range total {
		y[i] = r.end(float64(v), r.terms)
	}
}

// stacked folds rows of len(y) elements, m of them at once, that lie one behind the other.
func (r *reduce) stacked(y, x, mem []float32, m int) {
	w := m * len(y)
	acc, total := mem[:w], mem[lanes:][:w]
	r.begin(total)
	for at := 0; at < len(x); at += flush * w {
		r.begin(acc)
		for i := at; i < min(at+flush*w, len(x)); i += w {
			row := x[i:min(i+w, len(x))]
			r.lane(r.fn, acc[:len(row)], row)
		}
		r.fn.VV[r.join](total, total, acc)
	}
	for i := range y {
		sum := float64(total[i])
		for j := i + len(y); j < w; j += len(y) {
			sum = r.two(sum, float64(total[j]))
		}
		y[i] = r.end(sum, r.terms)
	}
}

// begin makes accumulators those of no terms.
func (r *reduce) begin(acc []float32) {
	for i := range acc {
		acc[i] = r.start
	}
}
