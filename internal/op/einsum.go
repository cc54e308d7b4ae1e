package op

import (
	"slices"
	"strings"

	"github.com/stowage-ml/stowage/internal/graph"
)

// Einsum is a parsed equation: the axes of each operand and of the result, as labels that count
// from 0. Labels of an ellipsis come first, outermost first.
type Einsum struct {
	In     [][]int
	Out    []int
	Labels int
}

// dots stands for an ellipsis in a term.
const dots = '.'

// ParseEinsum reads an equation such as "bij,bjk->bik" for operands of the given ranks. Without
// an arrow the result has the ellipsis and then, in alphabetical order, every letter that stands
// once.
func ParseEinsum(equation string, ranks []int) (*Einsum, error) {
	c := &Ctx{}
	text := strings.ReplaceAll(strings.ReplaceAll(equation, " ", ""), "...", string(dots))
	left, right, arrow := strings.Cut(text, "->")
	terms := strings.Split(left, ",")
	if len(terms) != len(ranks) {
		return nil, c.Errf("equation %q: got %d terms, want %d", equation, len(terms), len(ranks))
	}
	spread := 0
	for i, term := range terms {
		n := ranks[i] - len(term)
		if strings.ContainsRune(term, dots) {
			n++
			spread = max(spread, n)
			n = min(n, 0)
		}
		if n != 0 || strings.Count(term, string(dots)) > 1 {
			return nil, c.Errf("equation %q: term %d: got %q, want one for %d dimensions", equation, i, term, ranks[i])
		}
	}
	if !arrow {
		right = implied(left)
	}
	e := &Einsum{Labels: spread}
	letters := map[rune]int{}
	for i, term := range terms {
		axes, err := e.labels(term, ranks[i]-len(term)+1, spread, letters, true)
		if err != nil {
			return nil, c.Errf("equation %q: term %d: %w", equation, i, err)
		}
		e.In = append(e.In, axes)
	}
	var err error
	if e.Out, err = e.labels(right, spread, spread, letters, false); err != nil {
		return nil, c.Errf("equation %q: result: %w", equation, err)
	}
	return e, nil
}

// implied returns the result's term of an equation without an arrow.
func implied(left string) string {
	var once []string
	for r := 'A'; r <= 'z'; r++ {
		if strings.Count(left, string(r)) == 1 {
			once = append(once, string(r))
		}
	}
	if strings.ContainsRune(left, dots) {
		once = slices.Insert(once, 0, string(dots))
	}
	return strings.Join(once, "")
}

// labels numbers the axes of one term; own is how many dimensions its ellipsis covers, of the
// spread that the widest covers. Letters are new only in operands, and repeat only there.
func (e *Einsum) labels(term string, own, spread int, letters map[rune]int, operand bool) ([]int, error) {
	c := &Ctx{}
	out := []int{}
	for _, r := range term {
		n, known := letters[r]
		switch {
		case r == dots:
			for i := spread - own; i < spread; i++ {
				out = append(out, i)
			}
			continue
		case !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'):
			return nil, c.Errf("got %q, want letters", term)
		case !operand && !known:
			return nil, c.Errf("got %q, want letters of the operands", term)
		case !operand && slices.Contains(out, n):
			return nil, c.Errf("got %q, want each letter once", term)
		case !known:
			n = e.Labels
			letters[r] = n
			e.Labels++
		}
		out = append(out, n)
	}
	return out, nil
}

// einsumDims returns the equation and the extent of each label; nil when a rank is unknown.
func einsumDims(c *Ctx) (*Einsum, []graph.Dim, error) {
	ranks := make([]int, len(c.In))
	for i := range c.In {
		if c.In[i].Shape.Unranked() {
			return nil, nil, nil
		}
		ranks[i] = len(c.In[i].Shape)
	}
	e, err := ParseEinsum(c.Node.Attrs.Str("equation", ""), ranks)
	if err != nil {
		return nil, nil, err
	}
	dims := make([]graph.Dim, e.Labels)
	for i := range dims {
		dims[i] = graph.Known(1)
	}
	for i, axes := range e.In {
		for j, label := range axes {
			d, ok := meet(dims[label], c.In[i].Shape[j])
			if !ok {
				return nil, nil, c.Errf("operand %d: got shape %v, want %v along dimension %d", i, c.In[i].Shape, dims[label], j)
			}
			dims[label] = d
		}
	}
	return e, dims, nil
}

func inferEinsum(c *Ctx) error {
	dt, err := c.oneType()
	c.Set(0, dt, nil)
	if err != nil {
		return err
	}
	e, dims, err := einsumDims(c)
	if e == nil {
		return err
	}
	out := make(graph.Shape, len(e.Out))
	for i, label := range e.Out {
		out[i] = dims[label]
	}
	c.Set(0, dt, out)
	return nil
}

func einsumWork(c *Ctx) Work {
	e, dims, _ := einsumDims(c)
	if e == nil {
		return working(c, 0)
	}
	return working(c, float64(len(c.In))*elementsOf(append(graph.Shape{}, dims...)))
}
