package arena

// ValidateConcurrent checks that no two buffers of a plan share a byte unless all uses of the one
// have ended before any use of the other begins. It looks at every pair of buffers and follows
// the order from operation to operation; it shares no code with what made the lifetimes or the plan.
// Aliases, and a row pack and the buffer it is over, share bytes by right. Everything else about the plan
// is for Validate. Errors unwrap to ErrInvalid.
func ValidateConcurrent(c *Concurrent, p *Problem, plan *Plan) error {
	v := &verifier{p: p, plan: plan}
	for _, check := range []func() error{v.shape, v.indices, v.classes, v.packs} {
		if err := check(); err != nil {
			return err
		}
	}
	if len(c.Uses) != len(p.Buffers) {
		return v.wrong("got uses of %d buffers, want %d", len(c.Uses), len(p.Buffers))
	}
	o := newReach(c)
	for i := range p.Buffers {
		for j := range i {
			if v.external[i] || v.external[j] || v.class[i] == v.class[j] || p.Buffers[i].Pool != p.Buffers[j].Pool ||
				p.Buffers[i].Size == 0 || p.Buffers[j].Size == 0 || !v.share(v.class[i], v.class[j]) {
				continue
			}
			if !o.ended(i, j) && !o.ended(j, i) {
				return v.bad(i, "%d B at %d B overlap %q, %d B at %d B, while both may be in use", p.Buffers[i].Size,
					plan.Offsets[i], p.name(j), p.Buffers[j].Size, plan.Offsets[j])
			}
		}
	}
	return nil
}

// reach answers which operations must have ended before which.
type reach struct {
	c    *Concurrent
	kept map[int]bool
	// seen holds, for an operation, all that it waits for, once asked.
	seen map[int]map[int]bool
}

func newReach(c *Concurrent) *reach {
	r := &reach{c: c, kept: map[int]bool{}, seen: map[int]map[int]bool{}}
	for _, b := range c.Keep {
		r.kept[b] = true
	}
	return r
}

// ended says whether every use of buffer i has ended when any use of buffer j begins.
func (r *reach) ended(i, j int) bool {
	if r.kept[i] && len(r.c.Uses[i]) > 0 {
		return len(r.c.Uses[j]) == 0
	}
	for _, late := range r.c.Uses[j] {
		for _, early := range r.c.Uses[i] {
			if !r.waits(late)[early] {
				return false
			}
		}
	}
	return true
}

// waits lists what an operation waits for, however indirectly.
func (r *reach) waits(op int) map[int]bool {
	if known := r.seen[op]; known != nil {
		return known
	}
	all := map[int]bool{}
	todo := []int{op}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, before := range r.c.After[at] {
			if !all[before] {
				all[before] = true
				todo = append(todo, before)
			}
		}
	}
	r.seen[op] = all
	return all
}
