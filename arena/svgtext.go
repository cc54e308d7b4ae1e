package arena

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// svgChar is the width that a character of a label is taken to have.
const svgChar = 6 * svgPx

// labels writes names on the larger pieces: in the middle, upright where there is no room across,
// and none over another.
func (d *drawing) labels(k int) {
	type area struct{ x0, y0, x1, y1 int64 }
	var taken []area
	d.text(`<g font-size="10" text-anchor="middle" pointer-events="none">`, "\n")
next:
	for _, c := range d.largest(k) {
		along, across := c.wide, c.high
		full := int64(utf8.RuneCountInString(d.p.name(c.i)))*svgChar + 4*svgPx
		upright := c.wide < min(full, 40*svgPx) && c.high > c.wide
		if upright {
			along, across = c.high, c.wide
		}
		name := shortened(d.p.name(c.i), int((along-4*svgPx)/svgChar))
		if name == "" || across < 10*svgPx {
			continue
		}
		x, y := c.x+c.wide/2, c.y+c.high/2
		half, up := int64(utf8.RuneCountInString(name))*svgChar/2, int64(5*svgPx)
		mine := area{x - half, y - up, x + half, y + up}
		if upright {
			mine = area{x - up, y - half, x + up, y + half}
		}
		for _, a := range taken {
			if mine.x0 < a.x1 && a.x0 < mine.x1 && mine.y0 < a.y1 && a.y0 < mine.y1 {
				continue next
			}
		}
		taken = append(taken, mine)
		d.text(`<text transform="translate(`, px(x), " ", px(y))
		if upright {
			d.text(`) rotate(-90`)
		}
		d.text(`)" y="3.5">`, escaped(name), "</text>\n")
	}
	d.text("</g>\n")
}

// shortened is a name in at most n characters: its beginning and its end. Of less than three
// characters nothing is left, unless the name has no more.
func shortened(name string, n int) string {
	runes := []rune(name)
	switch {
	case len(runes) <= n:
		return name
	case n < 3:
		return ""
	}
	head := (n - 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(n-1-head):])
}

// escaped is text that XML may hold; characters that it may not become U+FFFD.
func escaped(s string) string {
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic("BUG: escape text: " + err.Error())
	}
	return b.String()
}

// sizeText is a number of bytes in the largest unit that it fills.
func sizeText(n int64) string {
	const units = "KMGTPE"
	size, unit := float64(n), -1
	for size >= 1024 && unit < len(units)-1 {
		size /= 1024
		unit++
	}
	if unit < 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %ciB", size, units[unit])
}

// axes draws the frame of panel k, with its ticks.
func (d *drawing) axes(k int) {
	tall := px(d.tall)
	d.text(`<rect width="`, px(svgWide), `" height="`, tall, `" fill="#f6f6f6" stroke="#999"/>`, "\n",
		`<g stroke="#ddd" stroke-width=".5"><path d="`)
	arena := uint64(max(d.x.Pools[k].Arena, 1))
	step, shift := uint64(1), 0
	for arena/step > 8 {
		step *= 2
	}
	for shift+10 < bits.Len64(step) && shift < 60 {
		shift += 10
	}
	unit := [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}[shift/10]
	var marks jsonWriter
	for at := uint64(0); at <= arena; at += step {
		y := px(d.tall - portion(at, arena, d.tall))
		d.text("M0 ", y, "H", px(svgWide))
		marks.text(`<text x="-6" y="`, y, `" dy="4" text-anchor="end">`, strconv.FormatUint(at>>shift, 10), " ", unit,
			"</text>\n")
	}
	every := timeStep(d.span)
	from := (every - uint64(((d.start%int64(every))+int64(every))%int64(every))) % every
	for off := from; off <= d.span && off >= from; off += every {
		x := px(portion(off, d.span, svgWide))
		d.text("M", x, " 0V", tall)
		marks.text(`<text x="`, x, `" y="`, px(d.tall+16*svgPx), `" text-anchor="middle">`,
			strconv.FormatInt(int64(uint64(d.start)+off), 10), "</text>\n")
	}
	d.text(`"/></g>`, "\n", marks.String())
	d.text(`<text x="`, px(svgWide), `" y="`, px(d.tall+30*svgPx), `" text-anchor="end" fill="#777">time</text>`, "\n")
}

// timeStep is the distance of ticks on the time axis: 1, 2 or 5 times a power of ten, so that
// there are at most ten of them.
func timeStep(span uint64) uint64 {
	step := uint64(1)
	for {
		for _, m := range [...]uint64{1, 2, 5} {
			if span/(step*m) < 10 {
				return step * m
			}
		}
		step *= 10
	}
}

// legend writes the totals of pool k, and what is live at its peak.
func (d *drawing) legend(k int) {
	pool := &d.x.Pools[k]
	x, y := int64(svgWide+24*svgPx), int64(0)
	line := func(attr, text string) {
		d.text(`<text x="`, px(x), `" y="`, px(y+10*svgPx), `"`, attr, ">", escaped(text), "</text>\n")
		y += 16 * svgPx
	}
	title := "arena " + sizeText(pool.Arena)
	if pool.Name != "" || len(d.x.Pools) > 1 {
		title = fmt.Sprintf("pool %q: %s", pool.Name, title)
	}
	line(` font-size="14" font-weight="bold"`, shortened(title, 38))
	line("", fmt.Sprintf("%d B; lower bound %d B", pool.Arena, pool.Bound))
	if pool.Arena == pool.Bound {
		line("", "proven: no plan needs less")
	} else {
		line(` fill="#d00"`, fmt.Sprintf("not proven: %d B above the bound", pool.Arena-pool.Bound))
	}
	line("", shortened(fmt.Sprintf("%d pieces; %s: %s", len(d.pieces[k]), d.plan.Strategy, pool.Rule), 50))
	y += 6 * svgPx
	line(` font-weight="bold"`, map[Reason]string{
		Peak: "live at the peak", Whole: "the bound is one piece", Fixed: "the bound is a fixed buffer",
	}[pool.Reason])
	for j, b := range pool.Live {
		if y+32*svgPx > d.tall && j < len(pool.Live)-1 {
			line("", fmt.Sprintf("and %d more", len(pool.Live)-j))
			return
		}
		d.text(`<rect x="`, px(x), `" y="`, px(y+svgPx), `" width="10" height="10" fill="`, svgColours[colourOf(b.Name)],
			`" stroke="#444" stroke-width=".5"/>`, "\n",
			`<text x="`, px(svgWide+svgLegend-16*svgPx), `" y="`, px(y+10*svgPx), `" text-anchor="end">`, sizeText(b.Size),
			"</text>\n")
		x += 16 * svgPx
		line("", shortened(b.Name, 30))
		x -= 16 * svgPx
	}
}
