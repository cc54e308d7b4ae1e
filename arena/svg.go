package arena

import (
	"cmp"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
)

// WriteSVG draws a plan: time to the right, bytes upwards, a panel for each pool. Every buffer is a
// rectangle for each piece of its life, in a colour that follows from its name; a member of a row
// pack is one for each row while they can be told apart. The peak is marked, and a legend
// lists what is live there. The picture is one SVG without scripts or outside references; the same
// plan gives the same bytes. A plan that Explain refuses is its error.
func WriteSVG(w io.Writer, p *Problem, plan *Plan) error {
	x, err := Explain(p, plan)
	if err != nil {
		return err
	}
	d := newDrawing(p, plan, x)
	d.open()
	for i := range x.Pools {
		d.panel(i)
	}
	d.text("</svg>\n")
	if _, err := w.Write(d.Bytes()); err != nil {
		return fmt.Errorf("arena: write SVG: %w", err)
	}
	return nil
}

// The measures of a picture, in hundredths of a pixel.
const (
	svgPx     = 100
	svgLeft   = 90 * svgPx
	svgTop    = 60 * svgPx
	svgWide   = 860 * svgPx
	svgLegend = 330 * svgPx
	svgBelow  = 40 * svgPx
	// svgTall is the height of a single panel, svgLow that of one of several.
	svgTall = 600 * svgPx
	svgLow  = 300 * svgPx
	// svgThin is the least extent of a rectangle, so that none vanishes.
	svgThin = 20
)

const (
	// svgEach is the number of pieces up to which each is an element with a title of its own.
	// More are one path for each colour.
	svgEach = 4000
	// svgRows is the number of rows up to which a row pack's member is drawn row by row.
	svgRows = 64
	// svgLabels is the number of pieces that may have labels, the largest of them.
	svgLabels = 400
)

// svgColours are light enough for dark text; a name picks one.
var svgColours = [...]string{
	"#e4a9a9", "#8ca6d9", "#c9f3ba", "#d1a9ea", "#d9b88c", "#baf0f3", "#eaa9c3", "#8f8cd9", "#daf3ba",
	"#a9eac8", "#d98ccd", "#f3dcba", "#a9d6ea", "#d98c99", "#c4baf3", "#bdeaa9", "#8cd9b1", "#f3bae1",
	"#eae4a9", "#8cbfd9", "#f3c1ba", "#b0a9ea", "#a1d98c", "#bad8f3",
}

// colourOf picks the colour of a name: FNV-1a, 32 bits.
func colourOf(name string) int {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return int((h ^ h>>16) % uint32(len(svgColours)))
}

// svgPiece is a piece of a buffer's life; its corners are those of the rectangle around it.
type svgPiece struct {
	i            int
	life         Span
	x, y, wide   int64
	high         int64
	lo, hi       int64
	rows, stride int64
	peak         bool
}

// drawing is a picture that grows.
type drawing struct {
	jsonWriter
	p    *Problem
	plan *Plan
	x    *Explanation
	// start and span are the stretch of time drawn.
	start int64
	span  uint64
	// tall is the height of a panel; pieces counts those of all panels.
	tall   int64
	pieces [][]svgPiece
	count  int
}

func newDrawing(p *Problem, plan *Plan, x *Explanation) *drawing {
	d := &drawing{p: p, plan: plan, x: x, span: 1, tall: svgTall, pieces: make([][]svgPiece, len(x.Pools))}
	if len(x.Pools) > 1 {
		d.tall = svgLow
	}
	index := make(map[string]int)
	for k := range x.Pools {
		index[x.Pools[k].Name] = k
	}
	var first, last int64
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if plan.Offsets[i] == Unplaced || b.Size == 0 {
			continue
		}
		k, ok := index[b.Pool]
		for _, life := range append([]Span{{b.Start, b.End}}, b.More...) {
			if !ok || life.Start >= life.End {
				continue
			}
			if d.count == 0 {
				first, last = life.Start, life.End
			}
			first, last = min(first, life.Start), max(last, life.End)
			d.count++
			d.pieces[k] = append(d.pieces[k], svgPiece{i: i, life: life})
		}
	}
	if d.count > 0 {
		d.start, d.span = first, uint64(last)-uint64(first)
	}
	for k := range d.pieces {
		d.layOut(k)
	}
	return d
}

// portion is v of whole, drawn on length; the arithmetic is exact.
func portion(v, whole uint64, length int64) int64 {
	hi, lo := bits.Mul64(min(v, whole), uint64(length))
	q, _ := bits.Div64(hi, lo, whole)
	return int64(q)
}

// timeAt is the place of an instant, from the left edge of the panel.
func (d *drawing) timeAt(t int64) int64 {
	return portion(uint64(max(t, d.start))-uint64(d.start), d.span, svgWide)
}

// byteAt is the place of an offset in panel k, from its lower edge.
func (d *drawing) byteAt(k int, at int64) int64 {
	return portion(uint64(at), uint64(max(d.x.Pools[k].Arena, 1)), d.tall)
}

// layOut finds the rectangles of panel k.
func (d *drawing) layOut(k int) {
	pool := &d.x.Pools[k]
	live := make(map[int]bool)
	for _, b := range pool.Live {
		live[b.Index] = true
	}
	for j := range d.pieces[k] {
		c := &d.pieces[k][j]
		b := &d.p.Buffers[c.i]
		c.lo, c.rows, c.stride = d.plan.Offsets[c.i], 1, b.Size
		c.hi = c.lo + b.Size
		rows, stride := max(b.Rows, 1), d.plan.RowStride[c.i]
		if width := b.Size / rows; rows > 1 && stride > width && (pool.Arena-c.lo-width)/stride >= rows-1 {
			c.rows, c.stride = rows, stride
			c.hi = c.lo + (rows-1)*stride + width
		}
		c.peak = pool.Reason == Peak && live[c.i] && c.life.Start <= pool.Time && pool.Time < c.life.End
		c.x = d.timeAt(c.life.Start)
		c.wide = max(d.timeAt(c.life.End)-c.x, svgThin)
		top := d.byteAt(k, c.hi)
		c.y = d.tall - top
		c.high = max(top-d.byteAt(k, c.lo), svgThin)
	}
}

// px writes hundredths of a pixel as pixels.
func px(v int64) string {
	s := strconv.FormatInt(v/svgPx, 10)
	if r := v % svgPx; r != 0 {
		s += "." + strconv.FormatInt(svgPx+r, 10)[1:]
		if r%10 == 0 {
			s = s[:len(s)-1]
		}
	}
	return s
}

func (d *drawing) open() {
	high := int64(0)
	for range d.x.Pools {
		high += svgTop + d.tall + svgBelow
	}
	wide := px(svgLeft + svgWide + svgLegend)
	d.text(`<svg xmlns="http://www.w3.org/2000/svg" width="`, wide, `" height="`, px(high), `" viewBox="0 0 `, wide, " ",
		px(high), `" font-family="sans-serif" font-size="11" fill="#222">`, "\n",
		`<rect width="100%" height="100%" fill="#fff"/>`, "\n")
}

// panel draws pool k.
func (d *drawing) panel(k int) {
	d.text(`<g transform="translate(`, px(svgLeft), " ", px(svgTop+int64(k)*(svgTop+d.tall+svgBelow)), `)">`, "\n")
	d.axes(k)
	if d.count <= svgEach {
		d.each(k)
	} else {
		d.byColour(k)
	}
	d.peak(k)
	d.labels(k)
	d.legend(k)
	d.text("</g>\n")
}

// each draws every piece as an element that says what it is.
func (d *drawing) each(k int) {
	stroke := min(50, max(5, 20000/max(1, d.count)))
	d.text(`<g stroke="#fff" stroke-width="`, px(int64(stroke)), `">`, "\n")
	for j := range d.pieces[k] {
		c := &d.pieces[k][j]
		d.text(`<path fill="`, svgColours[colourOf(d.p.name(c.i))], `"`)
		if c.peak {
			d.text(` stroke="#444"`)
		}
		if c.rows > svgRows {
			d.text(` fill-opacity=".5"`)
		}
		d.text(` d="`)
		d.outline(k, c)
		b := &d.p.Buffers[c.i]
		d.text(`"><title>`, escaped(d.p.name(c.i)), fmt.Sprintf(": %d B at %d, live %d to %d", b.Size, c.lo, c.life.Start,
			c.life.End), "</title></path>\n")
	}
	d.text("</g>\n")
}

// byColour draws all pieces of a colour as one element.
func (d *drawing) byColour(k int) {
	var of [len(svgColours)][]int
	for j := range d.pieces[k] {
		colour := colourOf(d.p.name(d.pieces[k][j].i))
		of[colour] = append(of[colour], j)
	}
	for colour, list := range of {
		if len(list) == 0 {
			continue
		}
		d.text(`<path fill="`, svgColours[colour], `" d="`)
		for _, j := range list {
			d.outline(k, &d.pieces[k][j])
		}
		d.text("\"/>\n")
	}
}

// outline writes the rectangles of a piece as path data.
func (d *drawing) outline(k int, c *svgPiece) {
	rect := func(y, high int64) {
		d.text("M", px(c.x), " ", px(y), "h", px(c.wide), "v", px(high), "h-", px(c.wide), "z")
	}
	if c.rows == 1 || c.rows > svgRows {
		rect(c.y, c.high)
		return
	}
	width := d.p.Buffers[c.i].Size / c.rows
	for r := range c.rows {
		lo := c.lo + r*c.stride
		top := d.byteAt(k, lo+width)
		rect(d.tall-top, max(top-d.byteAt(k, lo), svgThin))
	}
}

// peak marks the instant of the bound, and the bound itself where the arena is above it.
func (d *drawing) peak(k int) {
	pool := &d.x.Pools[k]
	if pool.Reason == Peak && len(pool.Live) > 0 {
		end := int64(-1)
		for j := range d.pieces[k] {
			if c := &d.pieces[k][j]; c.peak && (end < 0 || c.x+c.wide < end) {
				end = c.x + c.wide
			}
		}
		x := d.timeAt(pool.Time)
		wide := max(end-x, svgThin)
		d.text(`<rect x="`, px(x), `" width="`, px(wide), `" height="`, px(d.tall), `" fill="#d00" fill-opacity=".12"/>`,
			"\n", `<path d="M`, px(x), ` -8V`, px(d.tall), `" stroke="#d00" stroke-dasharray="4 3"/>`, "\n")
		anchor := "start"
		if x > svgWide/2 {
			anchor = "end"
		}
		d.text(`<text x="`, px(x), `" y="-11" fill="#d00" text-anchor="`, anchor, `">peak: `, sizeText(pool.Bound),
			" live at ", strconv.FormatInt(pool.Time, 10), "</text>\n")
	}
	if pool.Bound < pool.Arena {
		y := px(d.tall - d.byteAt(k, pool.Bound))
		d.text(`<path d="M0 `, y, "H", px(svgWide), `" stroke="#d00" stroke-dasharray="2 3"/>`, "\n")
	}
}

// largest returns the pieces of panel k that may have labels, larger ones first.
func (d *drawing) largest(k int) []*svgPiece {
	list := make([]*svgPiece, 0, len(d.pieces[k]))
	for j := range d.pieces[k] {
		if c := &d.pieces[k][j]; min(c.wide, c.high) >= 10*svgPx && max(c.wide, c.high) >= 26*svgPx {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *svgPiece) int { return cmp.Compare(b.wide*b.high, a.wide*a.high) })
	return list[:min(len(list), svgLabels)]
}
