package report

import (
	"cmp"
	"math"
	"slices"
)

// drawing is a layered graph: every node lies in a row below those it reads from, and edges that
// pass through a row have a place there, so that they lead around nodes (Sugiyama, Tagawa and Toda
// 1981: layers, fewer crossings, coordinates).
type drawing struct {
	nodes []node
	edges []edge
	// rows holds the nodes of each row, from left to right.
	rows [][]int
	// wide and high are the extents of the picture.
	wide, high float64
}

// node is a box, or a bend: the place where an edge passes through a row.
type node struct {
	row, at int
	bend    bool
	wide    float64
	x, y    float64
	up      []int
	down    []int
}

// edge leads from one box to another, through bends.
type edge struct {
	from, to int
	through  []int
}

const (
	boxHigh  = 40.0
	rowPitch = 76.0
	gap      = 18.0
	bendGap  = 6.0
	// maxBends bounds the bends; beyond it, edges are drawn straight.
	maxBends = 30_000
	// sweeps is how often rows are put in order, and moved.
	sweeps = 8
)

// layers draws a graph of boxes of the given widths. Every edge leads from a lower index to a higher
// one. The cost is linear in nodes, edges and bends, but for sorting.
func layers(wide []float64, edges [][2]int) *drawing {
	d := &drawing{nodes: make([]node, len(wide))}
	for i := range wide {
		d.nodes[i].wide = wide[i]
	}
	for _, e := range edges {
		d.nodes[e[1]].row = max(d.nodes[e[1]].row, d.nodes[e[0]].row+1)
	}
	d.sink(edges)
	d.connect(edges)
	d.fill()
	for i := range sweeps {
		d.arrange(i%2 == 0)
	}
	d.place()
	return d
}

// sink moves boxes that read nothing down to right above the first that reads them.
func (d *drawing) sink(edges [][2]int) {
	first := make([]int, len(d.nodes))
	reads := make([]bool, len(d.nodes))
	for i := range first {
		first[i] = math.MaxInt
	}
	for _, e := range edges {
		first[e[0]] = min(first[e[0]], d.nodes[e[1]].row)
		reads[e[1]] = true
	}
	for i := range d.nodes {
		if !reads[i] && first[i] < math.MaxInt {
			d.nodes[i].row = max(first[i]-1, 0)
		}
	}
}

// connect makes the edges, each once, with their bends.
func (d *drawing) connect(edges [][2]int) {
	bends := 0
	for _, e := range edges {
		bends += d.nodes[e[1]].row - d.nodes[e[0]].row - 1
	}
	seen := map[[2]int]bool{}
	for _, e := range edges {
		if seen[e] {
			continue
		}
		seen[e] = true
		x := edge{from: e[0], to: e[1]}
		last := e[0]
		for row := d.nodes[e[0]].row + 1; row < d.nodes[e[1]].row && bends <= maxBends; row++ {
			d.nodes = append(d.nodes, node{row: row, bend: true})
			b := len(d.nodes) - 1
			d.link(last, b)
			x.through = append(x.through, b)
			last = b
		}
		d.link(last, e[1])
		d.edges = append(d.edges, x)
	}
}

func (d *drawing) link(a, b int) {
	d.nodes[a].down = append(d.nodes[a].down, b)
	d.nodes[b].up = append(d.nodes[b].up, a)
}

// fill puts the nodes in rows in order of index: that of the graph.
func (d *drawing) fill() {
	rows := 0
	for i := range d.nodes {
		rows = max(rows, d.nodes[i].row+1)
	}
	d.rows = make([][]int, rows)
	for i := range d.nodes {
		n := &d.nodes[i]
		n.at = len(d.rows[n.row])
		d.rows[n.row] = append(d.rows[n.row], i)
	}
}

// arrange orders each row by the mean place of its nodes' neighbours in the row before: from above,
// or from below. Nodes without such neighbours keep their places.
func (d *drawing) arrange(down bool) {
	for k := range d.rows {
		row := d.rows[k]
		if !down {
			row = d.rows[len(d.rows)-1-k]
		}
		weight := make(map[int]float64, len(row))
		for _, i := range row {
			near := d.nodes[i].up
			if !down {
				near = d.nodes[i].down
			}
			weight[i] = float64(d.nodes[i].at)
			if len(near) == 0 {
				continue
			}
			sum := 0.0
			for _, j := range near {
				// Relative to the row's length, so that places in rows of different lengths compare.
				sum += (float64(d.nodes[j].at) + 0.5) / float64(len(d.rows[d.nodes[j].row]))
			}
			weight[i] = sum/float64(len(near))*float64(len(row)) - 0.5
		}
		slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(weight[a], weight[b]) })
		for at, i := range row {
			d.nodes[i].at = at
		}
	}
}

// place gives the nodes coordinates: as near as possible to the middle of their neighbours, in the
// order of their rows.
func (d *drawing) place() {
	for _, row := range d.rows {
		x := 0.0
		for _, i := range row {
			n := &d.nodes[i]
			n.x = x + n.wide/2
			n.y = float64(n.row)*rowPitch + boxHigh/2
			x += n.wide + d.space(i)
		}
		for _, i := range row {
			d.nodes[i].x -= x / 2
		}
	}
	for s := range 2 * sweeps {
		for k := range d.rows {
			if s%2 == 0 {
				d.pull(d.rows[k], true)
			} else {
				d.pull(d.rows[len(d.rows)-1-k], false)
			}
		}
	}
	left, right := math.Inf(1), math.Inf(-1)
	for i := range d.nodes {
		left = min(left, d.nodes[i].x-d.nodes[i].wide/2)
		right = max(right, d.nodes[i].x+d.nodes[i].wide/2)
	}
	for i := range d.nodes {
		d.nodes[i].x -= left
	}
	if len(d.nodes) > 0 {
		d.wide, d.high = right-left, float64(len(d.rows)-1)*rowPitch+boxHigh
	}
}

func (d *drawing) space(i int) float64 {
	if d.nodes[i].bend {
		return bendGap
	}
	return gap
}

// pull moves the nodes of a row towards the middle of their neighbours above, or below. Where two
// want the same place, they stand side by side around the mean of where they want to be: least
// squares under the order, by pooling adjacent violators.
func (d *drawing) pull(row []int, up bool) {
	type block struct {
		sum, offset float64
		n           int
		first       int
	}
	// offset is how far a node is from the first of the row when all stand close.
	offset := make([]float64, len(row))
	for k := 1; k < len(row); k++ {
		a, b := row[k-1], row[k]
		offset[k] = offset[k-1] + (d.nodes[a].wide+d.nodes[b].wide)/2 + min(d.space(a), d.space(b))
	}
	var blocks []block
	for k, i := range row {
		want := d.wish(i, up) - offset[k]
		blocks = append(blocks, block{sum: want, n: 1, first: k})
		for m := len(blocks); m > 1; m = len(blocks) {
			a, b := &blocks[m-2], &blocks[m-1]
			if a.sum/float64(a.n) <= b.sum/float64(b.n) {
				break
			}
			a.sum, a.n = a.sum+b.sum, a.n+b.n
			blocks = blocks[:m-1]
		}
	}
	for b := range blocks {
		x := blocks[b].sum / float64(blocks[b].n)
		for k := blocks[b].first; k < blocks[b].first+blocks[b].n; k++ {
			d.nodes[row[k]].x = x + offset[k]
		}
	}
}

// wish is where a node would be with no others in its row.
func (d *drawing) wish(i int, up bool) float64 {
	near := d.nodes[i].up
	if !up {
		near = d.nodes[i].down
	}
	if len(near) == 0 {
		return d.nodes[i].x
	}
	xs := make([]float64, len(near))
	for k, j := range near {
		xs[k] = d.nodes[j].x
	}
	slices.Sort(xs)
	return (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2
}
