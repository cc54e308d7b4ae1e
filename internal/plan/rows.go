package plan

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// launchNs is what one more launch of a kernel is taken to cost, in nanoseconds.
const launchNs = 300

// rower finds concatenations and splits on an inner axis whose parts can lie side by side in each
// row of the whole, a row being one index of the first axis. Whatever touches such a part then
// runs once for each row, on operands of one row.
type rower struct {
	c *compiler
	// maker and readers are the items that make and read each value; maker is −1 where none does.
	maker   []int
	readers [][]int
}

// splitRows decides which items run row by row. With several devices none does: their kernels are
// not known to take operands whose rows lie apart.
func (c *compiler) splitRows() {
	if c.several() {
		return
	}
	var r *rower
	for i := range c.items {
		it := &c.items[i]
		if !it.row.Joins && !it.row.Parts {
			continue
		}
		n := c.innerRows(it)
		if n < 2 {
			continue
		}
		if r == nil {
			r = newRower(c)
		}
		r.accept(i, n)
	}
}

// innerRows returns the number of rows of the whole of a concatenation or split, where everything
// outside of the axis but the rows has one index; else 0.
func (c *compiler) innerRows(it *item) int64 {
	axis, ok := c.axis(it)
	if !ok || axis == 0 {
		return 0
	}
	whole, _ := it.ends()
	s := c.of(whole).shape
	if outside(backend.RowMajor, s, axis) != s[0] || c.size(whole) == 0 {
		return 0
	}
	return s[0]
}

func newRower(c *compiler) *rower {
	n := len(c.u.Graph.Values)
	r := &rower{c: c, maker: make([]int, n), readers: make([][]int, n)}
	c.findOutside()
	c.rowPart = make([]bool, n)
	for v := range r.maker {
		r.maker[v] = -1
	}
	for i := range c.items {
		it := &c.items[i]
		for _, v := range it.node.Outputs {
			if v != graph.NoValue {
				r.maker[v] = i
			}
		}
		for _, v := range present(it.node.Inputs) {
			r.readers[v] = append(r.readers[v], i)
		}
	}
	return r
}

// accept gives the parts of item i their places in n rows, if all that touch them can run by rows
// and the launches that this takes cost less than the copy that it saves.
func (r *rower) accept(i int, n int64) {
	c := r.c
	it := &c.items[i]
	_, parts := it.ends()
	sliced := map[int][]bool{}
	if !r.slices(i, n, sliced) || it.row.Parts && len(parts) < len(it.node.Outputs) {
		return
	}
	seen := map[graph.ValueID]bool{}
	for _, v := range parts {
		if c.size(v) == 0 || c.fate[v] != made || c.rowPart[v] || c.outside[v] || seen[v] || !r.touch(v, i, n, sliced) {
			return
		}
		seen[v] = true
	}
	more := int64(0)
	for k := range sliced {
		if k != i && c.items[k].rows == 0 {
			more += (n - 1) * launchNs
		}
	}
	if more > r.copyNs(it) {
		return
	}
	for k, rows := range sliced {
		c.items[k].rows, c.items[k].sliced = n, rows
	}
	it.joinRows = true
	for _, v := range parts {
		c.rowPart[v] = true
	}
}

// touch reports whether everything that makes or reads part v of item i runs by rows, v being in rows,
// and adds it to sliced.
func (r *rower) touch(v graph.ValueID, i int, n int64, sliced map[int][]bool) bool {
	c := r.c
	touching := r.readers[v]
	if m := r.maker[v]; m >= 0 {
		touching = append(touching[:len(touching):len(touching)], m)
	}
	for _, k := range touching {
		if k == i {
			continue
		}
		if !r.slices(k, n, sliced) {
			return false
		}
		for j, in := range c.items[k].node.Inputs {
			if in == v && !sliced[k][j] {
				return false
			}
		}
	}
	return true
}

// slices reports whether item k runs by n rows, and notes which of its inputs are in rows.
func (r *rower) slices(k int, n int64, sliced map[int][]bool) bool {
	c := r.c
	it := &c.items[k]
	if sliced[k] != nil {
		return true
	}
	if it.view || it.row.Control || it.rows != 0 && it.rows != n {
		return false
	}
	ctx := c.inf.Ctx(it.node)
	for i, v := range it.node.Outputs {
		ctx.Out[i] = *c.inf.Fact(v)
		if v != graph.NoValue && (c.fate[v] != made || !byteSized(ctx.Out[i].DType)) {
			return false
		}
	}
	rows, ok := op.SplitsByRow(it.node, ctx.In, ctx.Out)
	if !ok {
		return false
	}
	for i, in := range rows {
		if v := it.node.Inputs[i]; in && (c.fate[v] == fixed || !byteSized(ctx.In[i].DType) || c.of(v).shape[0] != n) {
			return false
		}
	}
	sliced[k] = rows
	return true
}

func byteSized(dt tensor.DType) bool { return dt != tensor.String && dt.Bits()%8 == 0 }

// copyNs estimates the copy that an item is when its parts are not in its whole.
func (r *rower) copyNs(it *item) int64 {
	c := r.c
	o := c.operation(it)
	cands, err := c.u.backend.Candidates(o)
	if err != nil {
		return 0
	}
	w, least := c.work(it), int64(-1)
	for k := range cands {
		if ns, _ := c.u.coster.Kernel(o, w, &cands[k]); least < 0 || ns < least {
			least = ns
		}
	}
	return least
}

// Row says how a step that runs by rows finds one operand: row r of Bytes bytes lies r×Pitch behind
// the first. A nil Shape means that each row is given the whole operand.
type Row struct {
	Shape        tensor.Shape
	Bytes, Pitch int64
}

// rowsOf describes the operands of a step that runs by rows.
func (m *layout) rowsOf(it *item, vs []graph.ValueID, sliced []bool) []Row {
	out := make([]Row, len(vs))
	for i, v := range vs {
		if v == graph.NoValue || sliced != nil && !sliced[i] {
			continue
		}
		out[i] = Row{Shape: oneRow(m.c.of(v).shape), Bytes: m.c.size(v) / it.rows, Pitch: m.c.size(v) / it.rows}
		if m.lined[v] {
			out[i].Pitch = m.pitch[m.root(v)]
		}
	}
	return out
}

// oneRow returns the shape of one row of a tensor.
func oneRow(s tensor.Shape) tensor.Shape {
	s = s.Clone()
	s[0] = 1
	return s
}

// span returns the bytes from a value's first to its last.
func (m *layout) span(v graph.ValueID) int64 {
	if !m.lined[v] {
		return m.c.size(v)
	}
	n := m.c.of(v).shape[0]
	return (n-1)*m.pitch[m.root(v)] + m.c.size(v)/n
}

// joinRows puts the parts of a concatenation or split into the rows of the whole; false when they
// cannot lie there.
func (m *layout) joinRows(it *item) bool {
	whole, parts := it.out[0], it.in
	if it.row.Parts {
		whole, parts = it.in[0], it.out
	}
	r := m.root(whole)
	if m.cut[r] || it.row.Joins && m.c.fate[whole] != made ||
		!m.lined[whole] && (m.at(whole) != 0 || m.c.size(whole) != m.c.size(r)) {
		return false
	}
	for _, v := range parts {
		if it.row.Joins && (m.cut[m.root(v)] || m.lined[v] || !m.free(v, m.root(v))) ||
			it.row.Parts && m.c.fate[v] != made {
			return false
		}
	}
	if !m.lined[whole] {
		m.pitch[r] = m.c.size(whole) / it.rows
	}
	at := int64(0)
	for _, v := range parts {
		m.join(v, whole, at)
		m.lined[v] = true
		at += m.c.size(v) / it.rows
		if it.row.Parts {
			m.c.fate[v] = viewed
		}
	}
	if it.row.Joins {
		m.c.fate[whole] = viewed
	}
	return true
}
