package elem

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

const (
	// shortRow is up to which length rows are taken many at once.
	shortRow = 48
	// gridPiece is how many elements are taken at once.
	gridPiece = 1024
)

// grid runs a program over short rows, many at once: what repeats along rows or from row to row is
// written out in scratch memory first.
type grid struct {
	p *prog.Program
	w *walk
	// outer is the walk without its last dimension, which has rows rows, apart steps for each input.
	outer walk
	rows  int
	apart offsets
	// block is how many rows are taken at once, blocks how many times that is for one place of outer.
	block, blocks int
	// kinds says what becomes of each input.
	kinds []gridKind
	// written is how many inputs are written out.
	written int
	cut     cut
}

type gridKind uint8

const (
	// inPlace: rows lie one behind the other, or there is one element for all.
	inPlace gridKind = iota
	// repeated: each row has one element.
	repeated
	// copied: rows lie apart, or one is for all.
	copied
)

// gridOf returns the kernel for a walk of short rows; ok is false for others.
func gridOf(l simd.Level, o *backend.Op, w *walk) (c backend.Candidate, ok bool) {
	last := len(w.dims) - 1
	if last < 0 || w.n > shortRow || w.n*w.dims[last] < 2*shortRow {
		return c, false
	}
	g := &grid{w: w, outer: *w, rows: w.dims[last], apart: w.steps[last], kinds: make([]gridKind, len(w.one))}
	g.outer.dims, g.outer.steps = w.dims[:last], w.steps[:last]
	one := make([]bool, len(w.one))
	for k := range one {
		switch {
		case w.one[k] && g.apart[k] == 0:
			one[k] = true
		case w.one[k]:
			g.kinds[k] = repeated
			g.written++
		case g.apart[k] != w.n:
			g.kinds[k] = copied
			g.written++
		}
	}
	if g.p, ok = prog.Runs(l, o, one); !ok {
		return c, false
	}
	g.block = min(gridPiece/w.n, g.rows)
	g.blocks = (g.rows + g.block - 1) / g.block
	g.cut = newCut(w.rows/g.rows*g.blocks, 1, g.block*w.n*(g.p.Steps()+2*g.written), 1, o.Threads)
	c = chain(l, o, g.p, g.cut.tasks, g.task)
	c.Stream /= 3
	c.Scratch += 4 * int64(g.written*gridPiece) * int64(max(o.Threads, 1))
	return c, true
}

func (g *grid) task(c *backend.Call, i, worker int) {
	first, last, _, _ := g.cut.task(i)
	n := g.p.Scratch() + g.written*gridPiece
	mem := tensor.Cast[float32](c.Scratch)[worker*n:][:n]
	out, own := floats(&c.Out[0]), mem[g.written*gridPiece:]
	var at place
	in := prog.Borrow()
	for b := first; b < last; b++ {
		g.outer.seek(&at, b/g.blocks)
		row := b % g.blocks * g.block
		rows := min(g.block, g.rows-row)
		room := mem
		for k, kind := range g.kinds {
			from := floats(&c.In[k])[at.at[k]+row*g.apart[k]:]
			if kind == inPlace {
				in[k] = from
				continue
			}
			in[k], room = room[:rows*g.w.n], room[gridPiece:]
			g.write(in[k], from, kind, g.apart[k])
		}
		g.p.RunOn(out[(b/g.blocks*g.rows+row)*g.w.n:][:rows*g.w.n], in, own)
	}
	prog.Return(in)
}

// write writes rows out whose first elements are apart from each other.
func (g *grid) write(to, from []float32, kind gridKind, apart int) {
	n := g.w.n
	if kind == repeated {
		for i := 0; i < len(to); i += n {
			v := from[i/n*apart]
			row := to[i:][:n]
			for j := range row {
				row[j] = v
			}
		}
		return
	}
	if apart > 0 {
		for i := 0; i < len(to); i += n {
			copy(to[i:][:n], from[i/n*apart:])
		}
		return
	}
	done := copy(to, from[:n])
	for done < len(to) {
		done += copy(to[done:], to[:done])
	}
}
