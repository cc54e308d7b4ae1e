package place

import "slices"

// message is a table in an elimination: its variables are those eliminated last first, so that the
// one eliminated first is the fastest.
type message struct {
	vars  []int32
	table []int64
}

// elimination is the state of solving a net by eliminating one variable after the other
// (Bertelè and Brioschi). It takes as many table entries as the order's work says, times the
// number of tables that meet in one.
type elimination struct {
	g    *net
	pos  []int32
	want [][]message
	// scratch holds the table of the variable in hand, and offset that of each table in it.
	scratch []int64
}

// eliminate returns the least sum of the net's tables and base, and the values that give it. Where
// several do, variables eliminated later have the lower value.
func (g *net) eliminate(order []int32) (cost int64, value []int32) {
	e := &elimination{g: g, pos: make([]int32, len(order)), want: make([][]message, len(order))}
	for i, v := range order {
		e.pos[v] = int32(i)
	}
	for i := range g.factors {
		e.give(e.orient(&g.factors[i]))
	}
	cost = g.base
	for i, v := range order {
		out := e.reduce(v, e.want[i])
		if len(out.vars) == 0 {
			cost = sum(cost, out.table[0])
			continue
		}
		e.give(out)
	}
	value = make([]int32, len(order))
	for i := len(order) - 1; i >= 0; i-- {
		value[order[i]] = e.choose(order[i], e.want[i], value)
	}
	return cost, value
}

// sum adds two costs, of which any may be never.
func sum(a, b int64) int64 {
	s := a + b
	if s > MaxCost {
		if a == never || b == never {
			return never
		}
		return MaxCost
	}
	return s
}

// give hands a table to the variable of it that is eliminated first.
func (e *elimination) give(t message) {
	at := e.pos[t.vars[len(t.vars)-1]]
	e.want[at] = append(e.want[at], t)
}

// orient turns a factor so that the variable eliminated first is the fastest.
func (e *elimination) orient(f *factor) message {
	if len(f.vars) == 1 || e.pos[f.vars[0]] > e.pos[f.vars[1]] {
		return message{f.vars, f.table}
	}
	rows, cols := len(e.g.values[f.vars[0]]), len(e.g.values[f.vars[1]])
	turned := make([]int64, len(f.table))
	for r := range rows {
		for c := range cols {
			turned[c*rows+r] = f.table[r*cols+c]
		}
	}
	return message{[]int32{f.vars[1], f.vars[0]}, turned}
}

// reduce adds the tables that hold v and leaves of each row the least.
func (e *elimination) reduce(v int32, tables []message) message {
	var vars []int32
	for _, t := range tables {
		vars = append(vars, t.vars[:len(t.vars)-1]...)
	}
	slices.SortFunc(vars, func(a, b int32) int { return int(e.pos[b] - e.pos[a]) })
	vars = slices.Compact(vars)
	inner := len(e.g.values[v])
	rows := 1
	for _, u := range vars {
		rows *= len(e.g.values[u])
	}
	if cap(e.scratch) < rows*inner {
		e.scratch = make([]int64, rows*inner)
	}
	all := e.scratch[:rows*inner]
	clear(all)
	for _, t := range tables {
		e.spread(all, vars, inner, t)
	}
	out := message{vars, make([]int64, rows)}
	for r := range out.table {
		row := all[r*inner : (r+1)*inner]
		least := row[0]
		for _, c := range row[1:] {
			least = min(least, c)
		}
		out.table[r] = least
	}
	return out
}

// spread adds a table to one over more variables: vars, and a fastest one of inner values that
// both have.
func (e *elimination) spread(all []int64, vars []int32, inner int, t message) {
	steps, sizes := make([]int, len(vars)), make([]int, len(vars))
	step, at := inner, len(t.vars)-2
	for i := len(vars) - 1; i >= 0; i-- {
		sizes[i] = len(e.g.values[vars[i]])
		if at >= 0 && t.vars[at] == vars[i] {
			steps[i] = step
			step *= sizes[i]
			at--
		}
	}
	count := make([]int, len(vars))
	from := 0
	for to := 0; to < len(all); to += inner {
		dst, src := all[to:to+inner], t.table[from:from+inner]
		for j, c := range src {
			s := dst[j] + c
			if s > MaxCost {
				s = sum(dst[j], c)
			}
			dst[j] = s
		}
		for i := len(vars) - 1; i >= 0; i-- {
			count[i]++
			from += steps[i]
			if count[i] < sizes[i] {
				break
			}
			from -= steps[i] * sizes[i]
			count[i] = 0
		}
	}
}

// choose returns the best value of v, when all variables that are eliminated later have theirs.
func (e *elimination) choose(v int32, tables []message, value []int32) int32 {
	best, least := int32(0), int64(-1)
	for c := range int32(len(e.g.values[v])) {
		total := int64(0)
		for _, t := range tables {
			at := 0
			for _, u := range t.vars[:len(t.vars)-1] {
				at = at*len(e.g.values[u]) + int(value[u])
			}
			total = sum(total, t.table[at*len(e.g.values[v])+int(c)])
		}
		if least < 0 || total < least {
			best, least = c, total
		}
	}
	return best
}
