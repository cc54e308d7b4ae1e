package quant

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/internal/simd/octet"
	"github.com/stowage-ml/stowage/tensor"
)

// zero returns element i of the zero point at an input; 0 when there is none.
func zero(c *backend.Call, input, i int) int32 {
	if input < 0 {
		return 0
	}
	v := &c.In[input]
	if v.DType == tensor.Int8 {
		return int32(int8(v.Data[i]))
	}
	return int32(v.Data[i])
}

// part is one task's share of the result.
type part struct {
	batch, i, j, m, n int
}

// run computes one task.
func (p *product) run(c *backend.Call, task, worker int) {
	t := part{batch: task / (p.rowTasks * p.colTasks)}
	task %= p.rowTasks * p.colTasks
	t.i, t.j = task/p.colTasks*p.rows, task%p.colTasks*p.cols
	t.m, t.n = min(p.rows, p.M-t.i), min(p.cols, p.N-t.j)

	var b octet.Matrix
	if p.K > 0 {
		b = p.right(c, p.B[t.batch]/(p.K*p.N))
	} else {
		b = octet.Matrix{N: p.N}
	}
	scratch := c.Scratch[p.partB+worker*(p.partA+p.partC+p.partChain):]
	a := c.In[p.at[0]].Data
	if p.K > 0 {
		a = a[p.A[t.batch]+t.i*p.K:]
	}
	zeroB := zero(c, p.at[3], 0)
	rows := octet.Prepare(p.level, scratch[:p.partA], a, p.signedA, p.K, t.m, zero(c, p.at[2], 0), &b, zeroB)
	out, ld := tensor.Cast[int32](scratch[p.partA:][:p.partC]), t.n
	if p.mode != toOctets {
		out, ld = tensor.Cast[int32](c.Out[0].Data)[(t.batch*p.M+t.i)*p.N+t.j:], p.N
	}
	each := p.at[3] >= 0 && len(c.In[p.at[3]].Data) > 1
	rows.Mul(p.level, &b, t.j, t.n, out, ld, p.mode == toFloats && !each)
	if each {
		p.unshift(c, &t, &rows, out, ld, zeroB)
	}
	p.end(c, &t, out, scratch[p.partA+p.partC:])
}

// right returns a packed matrix.
func (p *product) right(c *backend.Call, i int) octet.Matrix {
	if p.constant != nil {
		return p.packed[i]
	}
	return octet.Packed(p.level, c.Scratch[i*p.matrixBytes():], p.signedB, p.K, p.N)
}

// unshift takes off the part of the zero points of B's columns that differs from the first.
func (p *product) unshift(c *backend.Call, t *part, rows *octet.Rows, out []int32, ld int, first int32) {
	for i, s := range rows.Sums {
		d := out[i*ld:][:t.n]
		for j := range d {
			d[j] -= s * (zero(c, p.at[3], t.j+j) - first)
		}
		if p.mode == toFloats {
			octet.Floats(d)
		}
	}
}

// end turns the sums of a part into what the node computes.
func (p *product) end(c *backend.Call, t *part, sums []int32, scratch []byte) {
	switch {
	case p.mode == toOctets:
		p.requantise(c, t, sums)
	case p.chain != nil:
		tile := prog.Tile{Mode: prog.Vector, Channel: t.j}
		out := tensor.Cast[float32](c.Out[0].Data)
		for i := range t.m {
			tile.At = (t.batch*p.M+t.i+i)*p.N + t.j
			tile.Data = out[tile.At:][:t.n]
			p.chain.Run(c, &tile, tensor.Cast[float32](scratch[:p.partChain]))
		}
	}
}

// requantise writes the sums of a part as 8-bit integers; columns may have scales of their own.
func (p *product) requantise(c *backend.Call, t *part, sums []int32) {
	number := func(i int) []float32 { return tensor.Cast[float32](c.In[i].Data) }
	a, b, y := number(1)[0], number(4), number(6)[0]
	shift := zero(c, 7, 0)
	for i := range t.m {
		d := c.Out[0].Data[(t.batch*p.M+t.i+i)*p.N+t.j:][:t.n]
		row := sums[i*t.n:][:t.n]
		if len(b) == 1 {
			octet.Requantise(p.level, d, row, octet.StepsOf(a*b[0]/y, shift, p.signedOut))
			continue
		}
		var scales [64]float32
		for j := 0; j < t.n; j += len(scales) {
			n := min(len(scales), t.n-j)
			for k := range n {
				scales[k] = a * b[t.j+j+k] / y
			}
			octet.RequantiseEach(p.level, d[j:][:n], row[j:][:n], scales[:n], octet.StepsOf(0, shift, p.signedOut))
		}
	}
}
