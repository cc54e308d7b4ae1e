package arena

// ValidateOrder checks an order against its DAG, from the DAG's text alone: it shares no code with
// Schedule. It finds an order that is none, a wrong peak, a given peak that is not the given
// order's, and totals that contradict each other. That no order is under Bound it cannot see.
// Errors unwrap to ErrInvalid.
func ValidateOrder(d *DAG, o *Order) error {
	given := make([]int, len(d.Nodes))
	for n := range given {
		given[n] = n
	}
	for _, one := range []struct {
		what string
		list []int
		want int64
	}{{"given order", given, o.Given}, {"order", o.Nodes, o.Peak}} {
		v := orderVerifier{d: d, what: one.what}
		got, err := v.peak(one.list)
		if err != nil {
			return err
		}
		if got != one.want {
			return v.bad("got a peak of %d B, want %d B", one.want, got)
		}
	}
	v := orderVerifier{d: d, what: "order"}
	if o.Peak > o.Given || o.Bound > o.Peak || o.Proven != (o.Bound == o.Peak) {
		return v.bad("got peak %d B, bound %d B, proven %t and %d B as given", o.Peak, o.Bound, o.Proven, o.Given)
	}
	return nil
}

// orderVerifier is the state of one check.
type orderVerifier struct {
	d    *DAG
	what string
	// when is the time of each node.
	when []int
	// store names the storage of each value, by the lowest one in it; from and to are the first
	// and the last time at which a storage is used, kept whether it is live to the end.
	store    []int
	from, to []int
	kept     []bool
	// old says whether a storage is there from the beginning.
	old []bool
}

func (v *orderVerifier) bad(format string, args ...any) error {
	p := Problem{}
	return p.failAll(ErrInvalid, v.what+": "+format, args...)
}

// peak returns the most that is live at once when the nodes run in that order.
func (v *orderVerifier) peak(list []int) (int64, error) {
	if err := v.times(list); err != nil {
		return 0, err
	}
	if err := v.lives(list); err != nil {
		return 0, err
	}
	steps := max(len(list), 1)
	// change holds what becomes live at a time and what has ceased to be.
	change := make([]int64, steps+1)
	for s, size := range v.d.Values {
		if v.store[s] == s && v.from[s] < v.to[s] {
			change[v.from[s]] += size.Size
			change[v.to[s]] -= size.Size
		}
	}
	var live, top int64
	for t := range steps {
		live += change[t]
		now := live
		if t < len(list) {
			now += v.d.Nodes[list[t]].Scratch - v.written(list[t], t)
		}
		if live < 0 || now < 0 {
			return 0, v.bad("got more than 63 bits of live bytes at %d", t)
		}
		top = max(top, now)
	}
	return top, nil
}

// times checks that every node is there once, behind those that it names.
func (v *orderVerifier) times(list []int) error {
	v.when = make([]int, len(v.d.Nodes))
	if len(list) != len(v.when) {
		return v.bad("got %d nodes, want %d", len(list), len(v.when))
	}
	done := make([]bool, len(list))
	for t, n := range list {
		if n < 0 || n >= len(done) || done[n] {
			return v.bad("got node %d at %d, want every node once", n, t)
		}
		for _, b := range v.d.Nodes[n].After {
			if b < 0 || b >= len(done) || !done[b] {
				return v.bad("node %d at %d runs before node %d", n, t, b)
			}
		}
		done[n], v.when[n] = true, t
	}
	return nil
}

// lives finds the storages and their lives, and checks that values are made before they are read.
func (v *orderVerifier) lives(list []int) error {
	values := v.d.Values
	v.stores()
	v.old, v.kept = make([]bool, len(values)), make([]bool, len(values))
	v.from, v.to = make([]int, len(values)), make([]int, len(values))
	maker := make([]int, len(values))
	for s := range values {
		maker[s], v.from[s] = -1, len(list)
		v.kept[v.store[s]] = v.kept[v.store[s]] || values[s].Keep
	}
	for t, n := range list {
		for _, s := range v.d.Nodes[n].Makes {
			maker[s] = n
			v.from[v.store[s]] = min(v.from[v.store[s]], t)
			v.to[v.store[s]] = t + 1
		}
		for _, s := range v.d.Nodes[n].Reads {
			v.to[v.store[s]] = t + 1
		}
	}
	for s := range values {
		if maker[s] < 0 {
			v.from[v.store[s]], v.old[v.store[s]] = 0, true
		}
		if v.kept[v.store[s]] {
			v.to[v.store[s]] = max(len(list), 1)
		}
	}
	for n := range v.d.Nodes {
		for _, s := range v.d.Nodes[n].Reads {
			if maker[s] >= 0 && v.when[maker[s]] >= v.when[n] {
				return v.bad("node %d at %d reads value %d, which is made at %d", n, v.when[n], s, v.when[maker[s]])
			}
		}
	}
	return nil
}

// stores spreads the lowest value of each storage along the views, until nothing changes.
func (v *orderVerifier) stores() {
	values := v.d.Values
	v.store = make([]int, len(values))
	for s := range values {
		v.store[s] = s
	}
	for again := true; again; {
		again = false
		for s := range values {
			if of := values[s].Of; of != nil && v.store[s] != v.store[*of] {
				low := min(v.store[s], v.store[*of])
				v.store[s], v.store[*of] = low, low
				again = true
			}
		}
	}
}

// written is the bytes that node n, at time t, writes over what nobody else needs.
func (v *orderVerifier) written(n, t int) (sum int64) {
	gone, placed := make(map[int]bool), make(map[int]bool)
	for _, s := range v.d.Nodes[n].Makes {
		mine := v.store[s]
		if v.from[mine] != t || placed[mine] || v.old[mine] {
			continue
		}
		for _, u := range v.d.Values[s].Over {
			old := v.store[u]
			if old != mine && !gone[old] && v.to[old] == t+1 && !v.kept[old] {
				gone[old], placed[mine] = true, true
				sum += v.d.Values[s].Size
				break
			}
		}
	}
	return sum
}
