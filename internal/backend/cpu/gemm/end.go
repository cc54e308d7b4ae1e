package gemm

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/tensor"
)

var negInf, posInf = float32(math.Inf(-1)), float32(math.Inf(1))

// end does what the inner loop left to do for m rows of a part from row i on: a factor other than
// 1, and then the chain.
func (p *product) end(c *backend.Call, t *part, i, m int, scratch []float32) {
	if p.alpha != 1 {
		for r := i; r < i+m; r++ {
			p.scale(c, t, r)
		}
	}
	if p.chain == nil {
		return
	}
	tile := prog.Tile{Mode: prog.Vector, Channel: t.j}
	if p.swapped {
		tile.Mode, tile.Channel = prog.OneChannel, 0
	}
	for r := i; r < i+m; r++ {
		tile.Data = p.result(c, t, r)[:t.n]
		tile.At = (t.batch*p.m+t.i+r)*p.n + t.j
		p.chain.Run(c, &tile, scratch)
	}
}

// scale makes row i of a part alpha times what it is, and adds beta times C.
func (p *product) scale(c *backend.Call, t *part, i int) {
	var add []float32
	if p.c >= 0 {
		add = tensor.Cast[float32](c.In[p.c].Data)
	}
	d := p.result(c, t, i)[:t.n]
	for j := range d {
		v := p.alpha * d[j]
		if add != nil {
			v += p.beta * add[(t.i+i)*p.cRow+(t.j+j)*p.cCol]
		}
		if p.clamp && v < p.lo {
			v = p.lo
		}
		if p.clamp && v > p.hi {
			v = p.hi
		}
		d[j] = v
	}
}
