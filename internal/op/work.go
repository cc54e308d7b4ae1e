package op

import "github.com/stowage-ml/stowage/internal/graph"

// moved returns the bytes of all inputs and outputs whose extents are known.
func moved(c *Ctx) float64 {
	total := 0.0
	for _, facts := range [][]Fact{c.In, c.Out} {
		for i := range facts {
			total += count(facts[i].Shape) * float64(facts[i].DType.Bits()) / 8
		}
	}
	return total
}

// count returns the number of elements of a shape; 0 when it is not known.
func count(s graph.Shape) float64 { return number(s.Elements()) }

// number returns the value of a dim; 0 when it is not known.
func number(d graph.Dim) float64 {
	n, _ := d.Int()
	return float64(n)
}
