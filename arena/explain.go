package arena

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Explanation says what a plan's size rests on, pool by pool. String gives it as text.
type Explanation struct {
	Arena, LowerBound, Materialized int64
	Proven                          bool
	// Buffers counts the buffers that are placed.
	Buffers int
	Pools   []PoolExplanation
}

// PoolExplanation is the evidence for the lower bound of one pool.
type PoolExplanation struct {
	Name  string
	Arena int64
	// Bound is the number of bytes that no plan can be under, for Reason, at Time.
	Bound  int64
	Reason Reason
	Time   int64
	// Live lists the buffers that the bound rests on, larger first, then in order of their index.
	Live []LiveBuffer
	// Padding is what Bound has above the bytes of Live: what alignment forces between them, or
	// what lies below a fixed buffer.
	Padding int64
	// Rule is the rule that gave the offsets.
	Rule string
}

// LiveBuffer is a buffer that a bound rests on.
type LiveBuffer struct {
	Index        int
	Name         string
	Offset, Size int64
}

// Explain lists what is live at each pool's peak, after checking, by the rules of Validate, that the
// list shows the bound. It does not check that buffers lie apart. It takes time proportional to the
// problem for each pool, and O(k log k) for the k buffers that it lists. Errors unwrap to ErrInvalid.
func Explain(p *Problem, plan *Plan) (*Explanation, error) {
	v := &verifier{p: p, plan: plan}
	for _, check := range []func() error{v.shape, v.indices, v.classes, v.places, v.packs, v.rowPacks, v.bounds} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	x := &Explanation{
		Arena: plan.Arena, LowerBound: plan.LowerBound, Materialized: plan.Materialized, Proven: plan.Proven,
	}
	for _, at := range plan.Offsets {
		if at != Unplaced {
			x.Buffers++
		}
	}
	for i := range plan.Pools {
		x.Pools = append(x.Pools, p.explain(plan, &plan.Pools[i]))
	}
	return x, nil
}

func (p *Problem) explain(plan *Plan, pool *PoolPlan) PoolExplanation {
	b := &pool.Bound
	x := PoolExplanation{
		Name: pool.Name, Arena: pool.Arena, Bound: b.Bytes, Reason: b.Reason, Time: b.Time,
		Padding: b.Bytes, Rule: pool.Rule,
	}
	for _, i := range b.Live {
		size := p.Buffers[i].Size
		x.Live = append(x.Live, LiveBuffer{Index: i, Name: p.name(i), Offset: plan.Offsets[i], Size: size})
		x.Padding -= size
	}
	slices.SortStableFunc(x.Live, func(a, b LiveBuffer) int { return cmp.Compare(b.Size, a.Size) })
	return x
}

// String gives one line for the plan, one for each pool, and one for each buffer that is live at
// its peak: bytes, share of the bound, offset and name.
func (x *Explanation) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "arena %d B, lower bound %d B, %s; %d buffers, without reuse %d B\n",
		x.Arena, x.LowerBound, provenText(x.Proven), x.Buffers, x.Materialized)
	for i := range x.Pools {
		x.Pools[i].write(&s, len(x.Pools) > 1 || x.Pools[i].Name != "")
	}
	return s.String()
}

func provenText(proven bool) string {
	if proven {
		return "proven least"
	}
	return "not proven least"
}

func (x *PoolExplanation) write(s *strings.Builder, named bool) {
	if named {
		fmt.Fprintf(s, "pool %q: arena %d B, ", x.Name, x.Arena)
	}
	switch x.Reason {
	case Peak:
		fmt.Fprintf(s, "live at %d: ", x.Time)
	case Whole:
		s.WriteString("in one piece: ")
	case Fixed:
		s.WriteString("fixed: ")
	}
	fmt.Fprintf(s, "%d B in %d buffers\n", x.Bound, len(x.Live))
	for _, b := range x.Live {
		fmt.Fprintf(s, "%14d B %5.1f %%  at %-14d %s\n", b.Size, share(b.Size, x.Bound), b.Offset, oneLine(b.Name))
	}
	if x.Padding > 0 {
		what := "padding"
		if x.Reason == Fixed {
			what = "below it"
		}
		fmt.Fprintf(s, "%14d B %5.1f %%  %s\n", x.Padding, share(x.Padding, x.Bound), what)
	}
}

// share is part as a percentage of whole.
func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// oneLine replaces line breaks, which a name may have.
func oneLine(name string) string {
	return strings.NewReplacer("\n", "·", "\r", "·").Replace(name)
}
