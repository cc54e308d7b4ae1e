package report

import (
	"fmt"
	"html"
	"strings"
)

// drawGraph draws the page's inputs, steps and outputs as SVG. Boxes have their index in data-i:
// steps by number, and inputs and outputs behind them. Edges have those of both ends.
func drawGraph(p *Page, colour map[string]int) string {
	steps := len(p.Steps)
	labels := make([][2]string, 0, len(p.Inputs)+steps+len(p.Outputs))
	for _, name := range p.Inputs {
		labels = append(labels, [2]string{clip(name, 26), "input"})
	}
	base := len(labels)
	var edges [][2]int
	for i := range p.Steps {
		s := &p.Steps[i]
		title := s.Op
		if s.Name != "" && strings.Contains(s.Name, "+") {
			title, _, _ = strings.Cut(s.Name, " ")
		}
		labels = append(labels, [2]string{clip(title, 26), clip(fmt.Sprintf("%s · %s", s.Kernel, duration(s.EstNs)), 32)})
		for _, k := range s.Inputs {
			edges = append(edges, [2]int{k, base + i})
		}
		for _, r := range s.Reads {
			edges = append(edges, [2]int{base + r, base + i})
		}
	}
	for k, o := range p.Outputs {
		labels = append(labels, [2]string{clip(o.Name, 26), "output"})
		for _, r := range o.From {
			edges = append(edges, [2]int{base + r, base + steps + k})
		}
	}
	wide := make([]float64, len(labels))
	for i, l := range labels {
		// Letters of the two sizes are about 8 and 6 pixels wide.
		wide[i] = max(90, 20+8.4*float64(len([]rune(l[0]))), 22+5.9*float64(len([]rune(l[1]))))
	}
	d := layers(wide, edges)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg id="graph" role="img" aria-label="the graph of steps" data-w="%.0f" data-h="%.0f"><g id="view">`,
		d.wide, d.high)
	b.WriteString("\n")
	for i := range d.edges {
		d.writeEdge(&b, &d.edges[i], base)
	}
	var most int64
	for i := range p.Steps {
		most = max(most, p.Steps[i].EstNs)
	}
	for i, l := range labels {
		part := 0.0
		if k := i - base; k >= 0 && k < steps && most > 0 {
			part = float64(max(p.Steps[k].EstNs, 0)) / float64(most)
		}
		writeBox(&b, &d.nodes[i], l, i-base, part, classOf(p, i-base, colour))
	}
	b.WriteString("</g></svg>")
	return b.String()
}

// classOf is the style of a box, counted from the first step.
func classOf(p *Page, i int, colour map[string]int) string {
	if i < 0 || i >= len(p.Steps) {
		return "io"
	}
	class := paint(colour[p.Steps[i].Device])
	if p.Steps[i].Copy {
		class += " copy"
	}
	return class
}

// writeBox draws a box with its two labels, and a bar as long as its part of the longest time.
func writeBox(b *strings.Builder, n *node, label [2]string, i int, part float64, class string) {
	left, top := -n.wide/2, -boxHigh/2
	fmt.Fprintf(b, `<g class="n %s" data-i="%d" transform="translate(%.1f,%.1f)">`, class, i, n.x, n.y)
	fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.0f" rx="6"/>`, left, top, n.wide, boxHigh)
	if bar := part * (n.wide - 12); bar >= 0.5 {
		fmt.Fprintf(b, `<path class="t" d="M%.1f %.1fh%.1f"/>`, left+6, boxHigh/2-3.5, bar)
	}
	fmt.Fprintf(b, `<text y="-4">%s</text><text class="k" y="10">%s</text></g>`+"\n", html.EscapeString(label[0]),
		html.EscapeString(label[1]))
}

// writeEdge draws a smooth line through the bends.
func (d *drawing) writeEdge(b *strings.Builder, e *edge, base int) {
	from, to := &d.nodes[e.from], &d.nodes[e.to]
	fmt.Fprintf(b, `<path class="e" data-a="%d" data-b="%d" d="M%.1f %.1f`, e.from-base, e.to-base, from.x,
		from.y+boxHigh/2)
	x, y := from.x, from.y+boxHigh/2
	curve := func(tox, toy float64) {
		if x == tox {
			fmt.Fprintf(b, "V%.1f", toy)
		} else {
			mid := (y + toy) / 2
			fmt.Fprintf(b, "C%.1f %.1f %.1f %.1f %.1f %.1f", x, mid, tox, mid, tox, toy)
		}
		x, y = tox, toy
	}
	for _, k := range e.through {
		n := &d.nodes[k]
		curve(n.x, n.y-boxHigh/2)
		fmt.Fprintf(b, "V%.1f", n.y+boxHigh/2)
		y = n.y + boxHigh/2
	}
	curve(to.x, to.y-boxHigh/2)
	b.WriteString("\"/>\n")
}

// clip shortens a text to n letters.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
