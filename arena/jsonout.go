package arena

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Report is a plan in the form of the command's JSON. Buffers are named by their ids.
type Report struct {
	Arena      int64  `json:"arena"`
	LowerBound int64  `json:"lower_bound"`
	Proven     bool   `json:"proven"`
	Strategy   string `json:"strategy"`
	Nodes      int64  `json:"nodes"`
	// Ms is the time that the plan took, in milliseconds.
	Ms float64 `json:"ms"`
	// Materialized is the sum of all sizes, before any reuse. Stopped is as in Plan.
	Materialized int64 `json:"materialized"`
	Stopped      bool  `json:"stopped"`
	// Peak is the evidence for the bound of the pool whose bound is largest, the first of equals.
	Peak  ReportPeak   `json:"peak"`
	Pools []ReportPool `json:"pools"`
	// Offsets has no entry for external buffers.
	Offsets ReportOffsets `json:"offsets"`
}

// ReportPeak is a lower bound, with its evidence: Sizes holds the bytes of each buffer in Live.
type ReportPeak struct {
	Time   int64    `json:"time"`
	Live   []string `json:"live"`
	Sizes  []int64  `json:"sizes"`
	Bytes  int64    `json:"bytes"`
	Reason Reason   `json:"reason"`
	Pool   string   `json:"pool"`
}

// ReportPool is one pool's share of a plan.
type ReportPool struct {
	Name       string `json:"name"`
	Arena      int64  `json:"arena"`
	LowerBound int64  `json:"lower_bound"`
	Rule       string `json:"rule"`
}

// ReportOffset is where one buffer lies in its pool.
type ReportOffset struct {
	ID     string
	Offset int64
}

// ReportOffsets is, in JSON, an object that maps ids to offsets, in order of the buffers.
type ReportOffsets []ReportOffset

// MarshalJSON implements json.Marshaler.
func (o ReportOffsets) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, at := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(quoteJSON(out, at.ID), ':')
		out = strconv.AppendInt(out, at.Offset, 10)
	}
	return append(out, '}'), nil
}

// Report puts a plan into the form of the command's JSON; took is how long it took. Two buffers of
// one id are ErrJSON.
func (plan *Plan) Report(p *Problem, took time.Duration) (*Report, error) {
	if err := p.uniqueIDs(); err != nil {
		return nil, err
	}
	r := &Report{
		Arena: plan.Arena, LowerBound: plan.LowerBound, Proven: plan.Proven, Strategy: plan.Strategy, Nodes: plan.Nodes,
		Ms: float64(took.Microseconds()) / 1000, Materialized: plan.Materialized, Stopped: plan.Stopped,
		Offsets: ReportOffsets{}, Pools: []ReportPool{},
	}
	worst := -1
	for i, q := range plan.Pools {
		r.Pools = append(r.Pools, ReportPool{q.Name, q.Arena, q.Bound.Bytes, q.Rule})
		if worst < 0 || q.Bound.Bytes > plan.Pools[worst].Bound.Bytes {
			worst = i
		}
	}
	if worst >= 0 {
		r.Peak = p.reportPeak(&plan.Pools[worst])
	}
	for i, at := range plan.Offsets {
		if at != Unplaced {
			r.Offsets = append(r.Offsets, ReportOffset{p.name(i), at})
		}
	}
	return r, nil
}

func (p *Problem) reportPeak(q *PoolPlan) ReportPeak {
	out := ReportPeak{
		Time: q.Bound.Time, Bytes: q.Bound.Bytes, Reason: q.Bound.Reason, Pool: q.Name, Live: []string{}, Sizes: []int64{},
	}
	for _, i := range q.Bound.Live {
		out.Live = append(out.Live, p.name(i))
		out.Sizes = append(out.Sizes, p.Buffers[i].Size)
	}
	return out
}

// uniqueIDs finds two buffers that have the same id in JSON.
func (p *Problem) uniqueIDs() error {
	seen := make(map[string]int, len(p.Buffers))
	var text []byte
	for i := range p.Buffers {
		text = quoteJSON(text[:0], p.name(i))
		if first, ok := seen[string(text)]; ok {
			return p.fail(ErrJSON, i, "id: got it for buffers %d and %d, want ids that differ", first, i)
		}
		seen[string(text)] = i
	}
	return nil
}

// quoteJSON appends a string in JSON; bytes that are not UTF-8 become U+FFFD.
func quoteJSON(to []byte, s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("BUG: a string has no JSON: " + err.Error())
	}
	return append(to, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// WriteJSON writes p in the form that ReadJSON reads, a buffer a line. With a plan, every placed
// buffer has its offset. Two buffers of one id are ErrJSON.
func WriteJSON(w io.Writer, p *Problem, plan *Plan) error {
	if err := p.uniqueIDs(); err != nil {
		return err
	}
	var out jsonWriter
	out.text(`{"buffers": [`)
	for i := range p.Buffers {
		out.buffer(p, plan, i)
	}
	out.text("\n]")
	out.lists(p)
	out.number("align", p.Align)
	out.number("capacity", p.Capacity)
	out.number("block", p.Block)
	out.text("}\n")
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("arena: write JSON: %w", err)
	}
	return nil
}

// jsonWriter puts a problem together.
type jsonWriter struct{ bytes.Buffer }

// lists writes the constraints, each kind that there is as one field.
func (out *jsonWriter) lists(p *Problem) {
	id := func(i int) string { return string(quoteJSON(nil, p.name(i))) }
	lists := []struct {
		field string
		n     int
		write func(i int)
	}{
		{"aliases", len(p.Aliases), func(i int) {
			out.text(`{"out": `, id(p.Aliases[i].Out), `, "in": `, id(p.Aliases[i].In), "}")
		}},
		{"packs", len(p.Packs), func(i int) { out.ids(p, p.Packs[i]) }},
		{"row_packs", len(p.RowPacks), func(i int) {
			out.text(`{"members": `)
			out.ids(p, p.RowPacks[i].Members)
			if over := p.RowPacks[i].Over; over != nil {
				out.text(`, "over": `, id(*over))
			}
			out.text("}")
		}},
		{"external", len(p.External), func(i int) { out.text(id(p.External[i])) }},
		{"pools", len(p.Pools), func(i int) {
			out.text(`{"name": `, string(quoteJSON(nil, p.Pools[i].Name)))
			out.number("capacity", p.Pools[i].Capacity)
			out.number("block", p.Pools[i].Block)
			out.text("}")
		}},
	}
	for _, l := range lists {
		for i := range l.n {
			out.text(map[bool]string{true: ",\n\"" + l.field + "\": [", false: ", "}[i == 0])
			l.write(i)
		}
		if l.n > 0 {
			out.text("]")
		}
	}
}

func (out *jsonWriter) text(parts ...string) {
	for _, s := range parts {
		out.WriteString(s)
	}
}

// number writes a field that is not zero, behind another field.
func (out *jsonWriter) number(field string, v int64) {
	if v != 0 {
		out.text(`, "`, field, `": `, strconv.FormatInt(v, 10))
	}
}

func (out *jsonWriter) ids(p *Problem, list []int) {
	out.text("[")
	for j, i := range list {
		if j > 0 {
			out.text(", ")
		}
		out.text(string(quoteJSON(nil, p.name(i))))
	}
	out.text("]")
}

func (out *jsonWriter) buffer(p *Problem, plan *Plan, i int) {
	b := &p.Buffers[i]
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	if i > 0 {
		out.text(",")
	}
	out.text("\n", `{"id": `, string(quoteJSON(nil, p.name(i))), `, "lower": `, n(b.Start), `, "upper": `, n(b.End),
		`, "size": `, n(b.Size))
	out.number("align", b.Align)
	if at, ok := p.offset(plan, i); ok {
		out.text(`, "offset": `, n(at))
	}
	if b.Pool != "" {
		out.text(`, "pool": `, string(quoteJSON(nil, b.Pool)))
	}
	out.number("rows", b.Rows)
	for j, s := range b.More {
		if j == 0 {
			out.text(`, "more": [`)
		} else {
			out.text(", ")
		}
		out.text("[", n(s.Start), ", ", n(s.End), "]")
	}
	if len(b.More) > 0 {
		out.text("]")
	}
	out.text("}")
}
