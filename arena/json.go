package arena

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ErrJSON is the kind of a FieldError about the form of the text: no JSON, a field that is missing,
// unknown, given twice or of the wrong type, or an id that no buffer has.
var ErrJSON = errors.New("bad JSON problem")

// FieldError is something wrong with one field of a problem in JSON.
type FieldError struct {
	// Field is its path, such as "buffers[3].size"; "" is the whole text.
	Field string
	// Kind is ErrJSON, or the kind of the *Error that the field's value led to.
	Kind error
	// Detail says what was got and what was wanted.
	Detail string
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return "arena: JSON: " + e.Detail
	}
	return "arena: " + e.Field + ": " + e.Detail
}

// Unwrap returns the kind.
func (e *FieldError) Unwrap() error { return e.Kind }

// ReadJSON reads a problem, an object of these fields:
//
//	buffers    list of {id, lower, upper, size}, and optionally align, offset (fixed), pool, rows
//	           and more, a list of further lifetimes [lower, upper]; upper is exclusive, ids differ
//	aliases    list of {out, in}, or [out, in]
//	packs      list of lists of ids
//	row_packs  list of {members, over}, or of lists of ids
//	external   list of ids
//	pools      list of {name, capacity, block}
//	align, capacity, block
//
// All but buffers may be left out or null. An id is a string or an integer. Errors are *FieldError,
// or come from r.
func ReadJSON(r io.Reader) (*Problem, error) {
	data, err := io.ReadAll(skipBOM(r))
	if err != nil {
		return nil, fmt.Errorf("arena: read JSON: %w", err)
	}
	in := &jsonReader{data: data, dec: json.NewDecoder(bytes.NewReader(data)), index: make(map[string]int)}
	in.dec.UseNumber()
	if err := in.problem(); err != nil {
		return nil, err
	}
	if _, err := in.dec.Token(); err != io.EOF {
		return nil, in.fail("", "got something behind the end at %s, want one object", in.where())
	}
	if err := in.resolve(); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	return &in.p, nil
}

// jsonReader reads a problem token by token, so that every error knows its field.
type jsonReader struct {
	data []byte
	dec  *json.Decoder
	p    Problem
	// index finds buffers by id.
	index map[string]int
	// refs are the ids in constraints, which may come before the buffers.
	refs []jsonRef
}

// jsonRef is an id in a constraint; to takes the buffer's index.
type jsonRef struct {
	field, id string
	to        func(int)
}

func (in *jsonReader) fail(field, format string, args ...any) error {
	return &FieldError{Field: field, Kind: ErrJSON, Detail: fmt.Sprintf(format, args...)}
}

// where is the place of the next token.
func (in *jsonReader) where() string {
	before := in.data[:in.dec.InputOffset()]
	line := 1 + bytes.Count(before, []byte("\n"))
	return fmt.Sprintf("line %d, byte %d", line, len(before)-bytes.LastIndexByte(before, '\n'))
}

// token returns the next token; what is the field it belongs to.
func (in *jsonReader) token(what string) (json.Token, error) {
	t, err := in.dec.Token()
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, in.fail(what, "got the end at %s, want a whole JSON object", in.where())
	}
	if err != nil {
		return nil, in.fail(what, "%s: %v", in.where(), err)
	}
	return t, nil
}

// shown is a token for an error message.
func shown(t json.Token) string {
	switch t := t.(type) {
	case nil:
		return "null"
	case json.Delim:
		return map[json.Delim]string{'{': "an object", '[': "a list"}[t]
	case string:
		return strconv.Quote(t)
	}
	return fmt.Sprint(t)
}

// object reads an object, or null, which has no fields. Each of them reads the value of one field.
func (in *jsonReader) object(what string, fields map[string]func(field string) error) error {
	t, err := in.token(what)
	if err != nil || t == nil {
		return err
	}
	if t != json.Delim('{') {
		return in.fail(what, "got %s, want an object", shown(t))
	}
	return in.members(what, fields)
}

// members reads an object behind its brace.
func (in *jsonReader) members(what string, fields map[string]func(field string) error) error {
	seen := make(map[string]bool, len(fields))
	for {
		t, err := in.token(what)
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok {
			return nil
		}
		field := key
		if what != "" {
			field = what + "." + key
		}
		read := fields[key]
		switch {
		case read == nil:
			return in.fail(field, "got an unknown field")
		case seen[key]:
			return in.fail(field, "got it twice")
		}
		seen[key] = true
		if err := read(field); err != nil {
			return err
		}
	}
}

// list reads a list, or null, which has no elements.
func (in *jsonReader) list(what string, each func(field string) error) error {
	t, err := in.token(what)
	if err != nil || t == nil {
		return err
	}
	if t != json.Delim('[') {
		return in.fail(what, "got %s, want a list", shown(t))
	}
	return in.elements(what, each)
}

// elements reads a list behind its bracket.
func (in *jsonReader) elements(what string, each func(field string) error) error {
	for i := 0; in.dec.More(); i++ {
		if err := each(what + "[" + strconv.Itoa(i) + "]"); err != nil {
			return err
		}
	}
	_, err := in.token(what)
	return err
}

// integer reads an integer into to, and leaves it alone at null.
func (in *jsonReader) integer(to *int64, given *bool) func(field string) error {
	return func(field string) error {
		t, err := in.token(field)
		if err != nil || t == nil {
			return err
		}
		number, ok := t.(json.Number)
		if !ok {
			return in.fail(field, "got %s, want an integer", shown(t))
		}
		n, err := strconv.ParseInt(number.String(), 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			return in.fail(field, "got %s, want at most 64 bits", number)
		}
		if err != nil {
			return in.fail(field, "got %s, want an integer", number)
		}
		*to = n
		if given != nil {
			*given = true
		}
		return nil
	}
}

// text reads a string into to, and leaves it alone at null. A number counts if it may be one.
func (in *jsonReader) text(to *string, number bool, given *bool) func(field string) error {
	return func(field string) error {
		t, err := in.token(field)
		if err != nil || t == nil {
			return err
		}
		switch t := t.(type) {
		case string:
			*to = t
		case json.Number:
			if *to = t.String(); !number || strings.ContainsAny(*to, ".eE") {
				return in.fail(field, "got %s, want a string", t)
			}
		default:
			return in.fail(field, "got %s, want a string", shown(t))
		}
		if given != nil {
			*given = true
		}
		return nil
	}
}

func (in *jsonReader) problem() error {
	p := &in.p
	buffers := false
	err := in.object("", map[string]func(string) error{
		"buffers": func(field string) error {
			buffers = true
			return in.list(field, in.buffer)
		},
		"aliases":   func(field string) error { return in.list(field, in.alias) },
		"packs":     func(field string) error { return in.list(field, in.pack) },
		"row_packs": func(field string) error { return in.list(field, in.rowPack) },
		"external": func(field string) error {
			return in.list(field, func(field string) error {
				return in.ref(field, func(i int) { p.External = append(p.External, i) })
			})
		},
		"pools":    func(field string) error { return in.list(field, in.pool) },
		"align":    in.alignment(&p.Align),
		"capacity": in.integer(&p.Capacity, nil),
		"block":    in.integer(&p.Block, nil),
	})
	if err == nil && !buffers {
		err = in.fail("buffers", "got nothing, want a list")
	}
	return err
}

// alignment reads an alignment, in which 0 is no way to say nothing.
func (in *jsonReader) alignment(to *int64) func(string) error {
	return func(field string) error {
		given := false
		if err := in.integer(to, &given)(field); err != nil {
			return err
		}
		if given && *to == 0 {
			return &FieldError{Field: field, Kind: ErrAlign, Detail: "got 0 B, want a power of two"}
		}
		return nil
	}
}

func (in *jsonReader) buffer(what string) error {
	var b Buffer
	var id, lower, upper, size, fixed bool
	var offset int64
	err := in.object(what, map[string]func(string) error{
		"id":     in.text(&b.Name, true, &id),
		"lower":  in.integer(&b.Start, &lower),
		"upper":  in.integer(&b.End, &upper),
		"size":   in.integer(&b.Size, &size),
		"align":  in.alignment(&b.Align),
		"offset": in.integer(&offset, &fixed),
		"pool":   in.text(&b.Pool, false, nil),
		"rows":   in.integer(&b.Rows, nil),
		"more": func(field string) error {
			return in.list(field, func(field string) error { return in.span(field, &b) })
		},
	})
	if err != nil {
		return err
	}
	for _, must := range []struct {
		name  string
		given bool
	}{{"id", id && b.Name != ""}, {"lower", lower}, {"upper", upper}, {"size", size}} {
		if !must.given {
			return in.fail(what+"."+must.name, "got nothing, want id, lower, upper and size")
		}
	}
	if fixed {
		b.Fixed = &offset
	}
	if first, ok := in.index[b.Name]; ok {
		return in.fail(what+".id", "got %q, which is the id of buffers[%d] too", b.Name, first)
	}
	in.index[b.Name] = len(in.p.Buffers)
	in.p.Buffers = append(in.p.Buffers, b)
	return nil
}

// span reads a further lifetime of b.
func (in *jsonReader) span(what string, b *Buffer) error {
	var ends []int64
	err := in.list(what, func(field string) error {
		ends = append(ends, 0)
		return in.integer(&ends[len(ends)-1], nil)(field)
	})
	if err == nil && len(ends) != 2 {
		err = in.fail(what, "got %d numbers, want [lower, upper]", len(ends))
	}
	if err == nil {
		b.More = append(b.More, Span{ends[0], ends[1]})
	}
	return err
}

func (in *jsonReader) pool(what string) error {
	var q Pool
	named := false
	err := in.object(what, map[string]func(string) error{
		"name": in.text(&q.Name, false, &named), "capacity": in.integer(&q.Capacity, nil),
		"block": in.integer(&q.Block, nil),
	})
	if err == nil && !named {
		err = in.fail(what+".name", "got nothing, want a string")
	}
	in.p.Pools = append(in.p.Pools, q)
	return err
}

// ref reads an id; to takes the buffer's index when all buffers are known.
func (in *jsonReader) ref(what string, to func(int)) error {
	id, given := "", false
	if err := in.text(&id, true, &given)(what); err != nil {
		return err
	}
	if !given {
		return in.fail(what, "got null, want an id")
	}
	in.refs = append(in.refs, jsonRef{what, id, to})
	return nil
}

// resolve finds the buffers of all ids, in the order in which they were read.
func (in *jsonReader) resolve() error {
	for _, r := range in.refs {
		i, ok := in.index[r.id]
		if !ok {
			return in.fail(r.field, "got id %q, which no buffer has", r.id)
		}
		r.to(i)
	}
	return nil
}

// open reads a brace or a bracket, and tells which.
func (in *jsonReader) open(what string) (json.Delim, error) {
	t, err := in.token(what)
	if err != nil {
		return 0, err
	}
	d, ok := t.(json.Delim)
	if !ok {
		return 0, in.fail(what, "got %s, want an object or a list", shown(t))
	}
	return d, nil
}

func (in *jsonReader) alias(what string) error {
	at, given := len(in.p.Aliases), 0
	in.p.Aliases = append(in.p.Aliases, Alias{})
	side := func(out bool) func(field string) error {
		return func(field string) error {
			given++
			return in.ref(field, func(i int) {
				if out {
					in.p.Aliases[at].Out = i
				} else {
					in.p.Aliases[at].In = i
				}
			})
		}
	}
	d, err := in.open(what)
	switch {
	case err != nil:
	case d == '{':
		err = in.members(what, map[string]func(string) error{"out": side(true), "in": side(false)})
	default:
		err = in.elements(what, func(field string) error { return side(given == 0)(field) })
	}
	if err == nil && given != 2 {
		err = in.fail(what, "got %d ids, want out and in", given)
	}
	return err
}

func (in *jsonReader) pack(what string) error {
	at := len(in.p.Packs)
	in.p.Packs = append(in.p.Packs, []int{})
	return in.list(what, func(field string) error {
		return in.ref(field, func(i int) { in.p.Packs[at] = append(in.p.Packs[at], i) })
	})
}

func (in *jsonReader) rowPack(what string) error {
	at := len(in.p.RowPacks)
	in.p.RowPacks = append(in.p.RowPacks, RowPack{})
	member := func(field string) error {
		return in.ref(field, func(i int) { in.p.RowPacks[at].Members = append(in.p.RowPacks[at].Members, i) })
	}
	d, err := in.open(what)
	if err != nil {
		return err
	}
	if d == '[' {
		return in.elements(what, member)
	}
	return in.members(what, map[string]func(string) error{
		"members": func(field string) error { return in.list(field, member) },
		"over": func(field string) error {
			id, given := "", false
			if err := in.text(&id, true, &given)(field); err != nil || !given {
				return err
			}
			in.refs = append(in.refs, jsonRef{field, id, func(i int) { in.p.RowPacks[at].Over = new(i) }})
			return nil
		},
	})
}

// check finds what is wrong with the numbers, and names the field.
func (in *jsonReader) check() error {
	name := func(field string, err error) error {
		var bad *Error
		if !errors.As(err, &bad) {
			return err
		}
		return &FieldError{Field: field, Kind: bad.Kind, Detail: strings.TrimPrefix(bad.Error(), "arena: ")}
	}
	if err := in.p.checkPools(); err != nil {
		return name("problem", err)
	}
	for i := range in.p.Buffers {
		if err := in.p.checkBuffer(i); err != nil {
			return name(fmt.Sprintf("buffers[%d]", i), err)
		}
	}
	cycle := in.p.aliasCycle()
	if cycle == nil {
		return nil
	}
	first := slices.Index(in.p.Aliases, Alias{Out: cycle[0], In: cycle[1%len(cycle)]})
	var over strings.Builder
	for _, i := range cycle {
		fmt.Fprintf(&over, "%q over ", in.p.name(i))
	}
	return in.fail(fmt.Sprintf("aliases[%d]", first), "got %s%q, want no buffer over itself", over.String(),
		in.p.name(cycle[0]))
}
