package stowage

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// fingerprint returns a digest of a graph: its structure and names, and its constants' types, shapes
// and contents; of large ones, a sample of the contents, or, without weights, nothing.
func fingerprint(g *graph.Graph, weights bool) string {
	p := printer{h: sha256.New(), weights: weights, known: map[*tensor.Tensor][]byte{}}
	p.graph(g)
	return hex.EncodeToString(p.h.Sum(nil)[:16])
}

// printer writes a graph to a hash such that different graphs are different bytes.
type printer struct {
	h   hash.Hash
	buf []byte
	// weights says that a sample of large constants counts; known keeps the digests of constants.
	weights bool
	known   map[*tensor.Tensor][]byte
}

func (p *printer) ints(vs ...int64) {
	p.buf = p.buf[:0]
	for _, v := range vs {
		p.buf = binary.AppendVarint(p.buf, v)
	}
	p.h.Write(p.buf)
}

func (p *printer) text(ss ...string) {
	for _, s := range ss {
		p.ints(int64(len(s)))
		p.h.Write([]byte(s))
	}
}

func (p *printer) ids(vs []graph.ValueID) {
	p.ints(int64(len(vs)))
	for _, v := range vs {
		p.ints(int64(v))
	}
}

func (p *printer) graph(g *graph.Graph) {
	if g == nil {
		p.ints(-1)
		return
	}
	p.ints(int64(len(g.Values)), int64(len(g.Nodes)), int64(len(g.Captures)))
	p.ids(g.Inputs)
	p.ids(g.Outputs)
	for _, c := range g.Captures {
		p.ints(int64(c.Outer), int64(c.Inner))
	}
	for i := range g.Values {
		v := &g.Values[i]
		p.text(v.Name)
		p.ints(int64(v.DType), int64(len(v.Shape)))
		if v.Shape.Unranked() {
			p.ints(-1)
		}
		for _, d := range v.Shape {
			p.text(d.String())
		}
		p.tensor(v.Const)
	}
	for _, n := range g.Nodes {
		p.text(n.Domain, n.Op, n.Name)
		p.ints(int64(n.Version), int64(len(n.Attrs)))
		p.ids(n.Inputs)
		p.ids(n.Outputs)
		for i := range n.Attrs {
			p.attr(&n.Attrs[i])
		}
	}
}

func (p *printer) attr(a *graph.Attr) {
	p.text(a.Name, a.Str)
	p.ints(int64(a.Kind), a.Int, int64(math.Float32bits(a.Float)), int64(a.Type.DType))
	p.ints(int64(len(a.Ints)), int64(len(a.Floats)), int64(len(a.Strs)), int64(len(a.Tensors)), int64(len(a.Graphs)))
	p.ints(a.Ints...)
	for _, f := range a.Floats {
		p.ints(int64(math.Float32bits(f)))
	}
	p.text(a.Strs...)
	p.tensor(a.Tensor)
	for _, t := range a.Tensors {
		p.tensor(t)
	}
	p.graph(a.Graph)
	for _, g := range a.Graphs {
		p.graph(g)
	}
}

const (
	// wholeBytes is the size up to which all of a constant's contents count; of larger ones it is
	// the first and the last sampleBytes: each sample may be a page to read from the disk.
	wholeBytes  = 4096
	sampleBytes = 64
)

func (p *printer) tensor(t *tensor.Tensor) {
	if t == nil {
		p.ints(-1)
		return
	}
	sum := p.known[t]
	if sum == nil {
		q := printer{h: sha256.New(), weights: p.weights}
		q.contents(t)
		sum = q.h.Sum(nil)
		p.known[t] = sum
	}
	p.h.Write(sum)
}

func (p *printer) contents(t *tensor.Tensor) {
	p.ints(int64(t.DType()), int64(len(t.Shape())))
	p.ints(t.Shape()...)
	p.text(t.Strings()...)
	b := t.Bytes()
	p.ints(int64(len(b)))
	switch {
	case len(b) <= wholeBytes:
		p.h.Write(b)
	case p.weights:
		p.h.Write(b[:sampleBytes])
		p.h.Write(b[len(b)-sampleBytes:])
	}
}
