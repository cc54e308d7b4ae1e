package place

// Carry is a placement in the making: a table that carries the least cost of arriving at each node
// with its result on each device from producers to consumers, while the graph is still being read.
// It is exact on chains and trees. Where branches share an ancestor it takes their choices to be
// independent, and where several nodes read one result only the first extends it: the others'
// copies have no price. Rows take O(chain inputs × devices²) time.
//
// Nodes and devices are any integers of the caller's. Nothing panics: what is not known is left
// out of the sum, and sums of costs that are not negative end at MaxCost. Ties go to the device
// that is listed first.
type Carry struct {
	transfer func(from, to int, bytes int64) int64
	rows     []row
	byNode   map[int]int
	aliases  map[int]int
	options  pool[Option]
	costs    pool[int64]
	ints     pool[int]
}

// Option is a device that can run a node, and the time that the node takes there.
type Option struct {
	Device int
	Cost   int64
}

// Resident is an input whose device is known.
type Resident struct {
	Device int
	Bytes  int64
}

// Feed is an input from a node with an open row: the bytes of each edge between the two.
type Feed struct {
	Node  int
	Edges []int64
}

// Commit is a node and the device that was decided for it.
type Commit struct{ Node, Device int }

// state is how far a row is.
type state uint8

const (
	// open rows can be extended by a reader, and are priced at the exit if none does.
	open state = iota
	// chained rows are decided by the row that extends them.
	chained
	committed
)

type row struct {
	node    int
	options []Option
	// best holds the least cost of arriving at each option.
	best []int64
	// feeds lists the rows that this one extends; back holds, for each option and each of them,
	// the device that it then has.
	feeds  []int
	back   []int
	state  state
	device int
}

// pool hands out slices of one array after the other.
type pool[T any] struct{ free []T }

func (p *pool[T]) take(n int) []T {
	if len(p.free) < n {
		p.free = make([]T, max(n, 1024))
	}
	out := p.free[:n:n]
	p.free = p.free[n:]
	return out
}

// NewCarry returns an empty table. transfer gives the time of a copy between two devices; it is
// also asked about copies from a device to itself.
func NewCarry(transfer func(from, to int, bytes int64) int64) *Carry {
	return &Carry{transfer: transfer, byNode: make(map[int]int), aliases: make(map[int]int)}
}

// Empty reports whether no row was ever pushed.
func (c *Carry) Empty() bool { return len(c.rows) == 0 }

// Resolve returns the node whose bytes a node's result is: itself, unless it is an alias.
func (c *Carry) Resolve(node int) int {
	if to, ok := c.aliases[node]; ok {
		return to
	}
	return node
}

// Alias says that the bytes of view are those of src, which may itself be an alias.
func (c *Carry) Alias(view, src int) { c.aliases[view] = c.Resolve(src) }

// Open reports whether a node, which is no alias, has a row that can still be extended.
func (c *Carry) Open(node int) bool {
	at, ok := c.byNode[node]
	return ok && c.rows[at].state == open
}

// Committed returns the device that was decided for a node, which is no alias.
func (c *Carry) Committed(node int) (device int, ok bool) {
	at, ok := c.byNode[node]
	if !ok || c.rows[at].state != committed {
		return 0, false
	}
	return c.rows[at].device, true
}

// cross returns the sum of what several edges cost from one device to another, on top of a cost.
func (c *Carry) cross(sum int64, from, to int, edges []int64) int64 {
	for _, bytes := range edges {
		sum = add(sum, c.transfer(from, to, bytes))
	}
	return sum
}

// Push opens a row for a node. Every input that is resident adds its copy, once for each time it
// is listed; every feed adds the cheapest way to arrive from it, and is no longer open. A feed
// without a row adds nothing.
func (c *Carry) Push(node int, options []Option, resident []Resident, feeds []Feed) {
	r := row{node: node, options: c.options.take(len(options)), best: c.costs.take(len(options))}
	copy(r.options, options)
	r.feeds = c.ints.take(len(feeds))[:0]
	for _, f := range feeds {
		if at, ok := c.byNode[f.Node]; ok {
			if c.rows[at].state == open {
				c.rows[at].state = chained
			}
			if len(c.rows[at].options) > 0 {
				r.feeds = append(r.feeds, at)
			}
		}
	}
	r.back = c.ints.take(len(options) * len(r.feeds))[:0]
	for i, o := range options {
		sum := add(o.Cost, 0)
		for _, in := range resident {
			sum = add(sum, c.transfer(in.Device, o.Device, in.Bytes))
		}
		for _, f := range feeds {
			at, ok := c.byNode[f.Node]
			if !ok || len(c.rows[at].options) == 0 {
				continue
			}
			device, cost := c.cheapest(at, o.Device, f.Edges)
			sum = add(sum, cost)
			r.back = append(r.back, device)
		}
		r.best[i] = sum
	}
	c.byNode[node] = len(c.rows)
	c.rows = append(c.rows, r)
}

// cheapest returns the device of a row from which it is cheapest to arrive at another, and what
// that costs. The row has options.
func (c *Carry) cheapest(at, to int, edges []int64) (device int, cost int64) {
	r := &c.rows[at]
	for j, o := range r.options {
		if t := c.cross(r.best[j], o.Device, to, edges); j == 0 || t < cost {
			device, cost = o.Device, t
		}
	}
	return device, cost
}

// CloseToward decides an open row whose reader is on a known device, and all rows behind it. It
// returns what was decided: nothing when the row is not open.
func (c *Carry) CloseToward(node, device int, edges []int64) []Commit {
	at, ok := c.byNode[node]
	if !ok || c.rows[at].state != open || len(c.rows[at].options) == 0 {
		return nil
	}
	from, _ := c.cheapest(at, device, edges)
	return c.commit(nil, at, from)
}

// Finish decides every row that is left and returns what was decided. Open rows add the copy of
// exitBytes to the exit, unless it is NoExit.
func (c *Carry) Finish(exit int, exitBytes func(node int) int64) []Commit {
	var out []Commit
	for at := range c.rows {
		r := &c.rows[at]
		if r.state != open || len(r.options) == 0 {
			continue
		}
		device := r.cheapest()
		if exit != NoExit {
			device, _ = c.cheapest(at, exit, []int64{exitBytes(r.node)})
		}
		out = c.commit(out, at, device)
	}
	for at := range c.rows {
		if r := &c.rows[at]; r.state != committed && len(r.options) > 0 {
			out = c.commit(out, at, r.cheapest())
		}
	}
	return out
}

// cheapest returns the device of a row, which has options, where it is cheapest to arrive.
func (r *row) cheapest() int {
	best := 0
	for j := range r.best {
		if r.best[j] < r.best[best] {
			best = j
		}
	}
	return r.options[best].Device
}

// commit decides a row, and all behind it that are not decided yet.
func (c *Carry) commit(out []Commit, at, device int) []Commit {
	type arrival struct{ at, device int }
	for todo := []arrival{{at, device}}; len(todo) > 0; {
		a := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		r := &c.rows[a.at]
		if r.state == committed {
			continue
		}
		r.state, r.device = committed, a.device
		out = append(out, Commit{r.node, a.device})
		for i, o := range r.options {
			if o.Device == a.device {
				for j, feed := range r.feeds {
					todo = append(todo, arrival{feed, r.back[i*len(r.feeds)+j]})
				}
				break
			}
		}
	}
	return out
}
