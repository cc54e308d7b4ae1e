package arena

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ReadCSV reads buffers from lines of id, lower, upper and size, and optionally align, offset and
// pool. The first line names the columns, in any order; upper is exclusive; a given offset is
// fixed; ids differ. Columns of other names are ignored. Errors name the line.
func ReadCSV(r io.Reader) (*Problem, error) {
	in := csv.NewReader(skipBOM(r))
	in.ReuseRecord = true
	in.TrimLeadingSpace = true
	head, err := in.Read()
	if err == io.EOF {
		return nil, errors.New("arena: line 1: got no header, want id,lower,upper,size")
	}
	if err != nil {
		return nil, csvError(in, err)
	}
	var c columns
	if err := c.find(head); err != nil {
		return nil, err
	}
	p := &Problem{}
	lines := make(map[string]int)
	for {
		rec, err := in.Read()
		if err == io.EOF {
			return p, nil
		}
		if err != nil {
			return nil, csvError(in, err)
		}
		line, _ := in.FieldPos(0)
		b, err := c.buffer(rec)
		if err != nil {
			return nil, fmt.Errorf("arena: line %d: %w", line, err)
		}
		if first, ok := lines[b.Name]; ok {
			return nil, fmt.Errorf("arena: line %d: id %q is on line %d too", line, b.Name, first)
		}
		lines[b.Name] = line
		p.Buffers = append(p.Buffers, b)
		if err := p.checkBuffer(len(p.Buffers) - 1); err != nil {
			return nil, placed(err, "line %d", line)
		}
	}
}

// skipBOM drops the byte order mark that spreadsheets write.
func skipBOM(r io.Reader) io.Reader {
	in := bufio.NewReader(r)
	if mark, err := in.Peek(3); err == nil && bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(len(mark))
	}
	return in
}

func csvError(in *csv.Reader, err error) error {
	var bad *csv.ParseError
	if errors.As(err, &bad) {
		return fmt.Errorf("arena: line %d: %w", bad.Line, bad.Err)
	}
	return fmt.Errorf("arena: read CSV: %w", err)
}

// columns holds where each column is, plus one; 0 means that it is not there.
type columns struct{ id, lower, upper, size, align, offset, pool int }

func (c *columns) find(head []string) error {
	all := []struct {
		name string
		at   *int
		must bool
	}{
		{"id", &c.id, true}, {"lower", &c.lower, true}, {"upper", &c.upper, true}, {"size", &c.size, true},
		{"align", &c.align, false}, {"alignment", &c.align, false}, {"offset", &c.offset, false}, {"pool", &c.pool, false},
	}
	for i, got := range head {
		for _, col := range all {
			if !strings.EqualFold(strings.TrimSpace(got), col.name) {
				continue
			}
			if *col.at > 0 {
				return fmt.Errorf("arena: line 1: column %q: got it twice", col.name)
			}
			*col.at = i + 1
		}
	}
	for _, col := range all {
		if col.must && *col.at == 0 {
			return fmt.Errorf("arena: line 1: column %q: got %q, want id,lower,upper,size", col.name, strings.Join(head, ","))
		}
	}
	return nil
}

// buffer reads one line.
func (c *columns) buffer(rec []string) (Buffer, error) {
	var bad error
	number := func(name string, at int) int64 {
		n, err := strconv.ParseInt(strings.TrimSpace(rec[at-1]), 10, 64)
		if err != nil && bad == nil {
			bad = fmt.Errorf("%s: got %q, want an integer", name, rec[at-1])
			if errors.Is(err, strconv.ErrRange) {
				bad = fmt.Errorf("%s: got %q, want at most 64 bits", name, rec[at-1])
			}
		}
		return n
	}
	given := func(at int) bool { return at > 0 && strings.TrimSpace(rec[at-1]) != "" }
	b := Buffer{
		Name:  strings.TrimSpace(rec[c.id-1]),
		Start: number("lower", c.lower),
		End:   number("upper", c.upper),
		Size:  number("size", c.size),
	}
	if given(c.align) {
		if b.Align = number("align", c.align); b.Align == 0 && bad == nil {
			bad = errors.New("align: got 0, want a power of two")
		}
	}
	if given(c.offset) {
		b.Fixed = new(number("offset", c.offset))
	}
	if c.pool > 0 {
		b.Pool = strings.TrimSpace(rec[c.pool-1])
	}
	return b, bad
}

// WriteCSV writes the buffers of p, in the form that ReadCSV reads. With a plan, every placed
// buffer has its offset. The columns align, offset and pool are there when a buffer needs them.
func WriteCSV(w io.Writer, p *Problem, plan *Plan) error {
	var align, offset, pool bool
	for i := range p.Buffers {
		b := &p.Buffers[i]
		align = align || b.Align != 0
		offset = offset || b.Fixed != nil || plan != nil
		pool = pool || b.Pool != ""
	}
	out := csv.NewWriter(w)
	line := func(fields []string, extra ...string) {
		for i, on := range [...]bool{align, offset, pool} {
			if on {
				fields = append(fields, extra[i])
			}
		}
		// Errors stay with the writer until the end.
		_ = out.Write(fields)
	}
	line([]string{"id", "lower", "upper", "size"}, "align", "offset", "pool")
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if len(b.More) > 0 {
			return p.fail(ErrLifetime, i, "lifetime: got %d pieces, want one in a CSV", 1+len(b.More))
		}
		n := func(v int64) string { return strconv.FormatInt(v, 10) }
		at, off := "", ""
		if b.Align != 0 {
			at = n(b.Align)
		}
		if v, ok := p.offset(plan, i); ok {
			off = n(v)
		}
		line([]string{p.name(i), n(b.Start), n(b.End), n(b.Size)}, at, off, b.Pool)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("arena: write CSV: %w", err)
	}
	return nil
}

// offset returns where buffer i lies in the plan or, without one, where it is fixed.
func (p *Problem) offset(plan *Plan, i int) (at int64, ok bool) {
	if plan != nil {
		return plan.Offsets[i], plan.Offsets[i] != Unplaced
	}
	return p.fixedOf(&p.Buffers[i]), p.Buffers[i].Fixed != nil
}
