package report

import (
	"cmp"
	"fmt"
	"slices"
)

// duration writes nanoseconds for people; "–" when there are none to tell.
func duration(ns int64) string {
	switch v := float64(ns); {
	case ns < 0:
		return "–"
	case ns < 1000:
		return fmt.Sprintf("%d ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.3g µs", v/1e3)
	case ns < 1e9:
		return fmt.Sprintf("%.3g ms", v/1e6)
	default:
		return fmt.Sprintf("%.4g s", v/1e9)
	}
}

// size writes bytes for people.
func size(n int64) string {
	switch v := float64(n); {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", v/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", v/(1<<20))
	default:
		return fmt.Sprintf("%.2f GiB", v/(1<<30))
	}
}

// percent is how much of whole a part is, of 100, for the length of a bar.
func percent(part, whole int64) string {
	if part <= 0 || whole <= 0 {
		return "0"
	}
	return fmt.Sprintf("%.2f", 100*float64(part)/float64(whole))
}

// share is what all steps of one operator take together.
type share struct {
	Op    string
	Count int
	Ns    int64
}

// shares sums the estimates by operator, the longest first.
func shares(p *Page) []share {
	at := map[string]int{}
	var out []share
	for i := range p.Steps {
		s := &p.Steps[i]
		k, ok := at[s.Op]
		if !ok {
			k = len(out)
			at[s.Op] = k
			out = append(out, share{Op: s.Op})
		}
		out[k].Count++
		out[k].Ns += max(s.EstNs, 0)
	}
	slices.SortStableFunc(out, func(a, b share) int { return cmp.Compare(b.Ns, a.Ns) })
	return out
}

// palette is how many colours for devices the style sheet has.
const palette = 8

// colours numbers the devices' colours, in order of the devices, then of the steps.
func colours(p *Page) map[string]int {
	of := map[string]int{}
	add := func(name string) {
		if _, ok := of[name]; !ok {
			of[name] = len(of) % palette
		}
	}
	for _, d := range p.Devices {
		add(d.Name)
	}
	for i := range p.Steps {
		add(p.Steps[i].Device)
	}
	return of
}

// paint is the class of a colour of the palette.
func paint(n int) string { return fmt.Sprintf("d%d", n) }
