package op

import "github.com/stowage-ml/stowage/internal/graph"

// working returns work of the given number of operations on the node's operands, each read or
// written once. Operands of unknown extents count nothing.
func working(c *Ctx, flops float64) Work {
	w := Work{FLOPs: flops}
	for _, facts := range [][]Fact{c.In, c.Out} {
		for i := range facts {
			w.Bytes += elementsOf(facts[i].Shape) * float64(facts[i].DType.Bits()) / 8
		}
	}
	return w
}

// elementsOf returns the number of elements of a shape; 0 when it is not known.
func elementsOf(s graph.Shape) float64 { return numberOf(s.Elements()) }

// numberOf returns the value of a dim; 0 when it is not known.
func numberOf(d graph.Dim) float64 {
	n, _ := d.Int()
	return float64(n)
}
