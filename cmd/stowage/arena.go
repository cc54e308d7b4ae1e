package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stowage-ml/stowage/arena"
)

// arenaVerb places buffers in memory.
type arenaVerb struct {
	File     string `arg:"" help:"Buffers as CSV or JSON, or -."`
	Align    *int64 `placeholder:"N" help:"Alignment in bytes of buffers that give none (1)."`
	Capacity *int64 `placeholder:"N" help:"Bytes that may not be exceeded."`
	Strategy string `placeholder:"S" help:"How offsets are chosen: auto, or a name from the list below."`
	Budget   int64  `placeholder:"NODES" help:"Placements that may be tried; 0 leaves it to the strategy."`
	Out      string `placeholder:"F" help:"File to write: offsets as .json or CSV, or a picture as .svg; - is CSV, alone, on standard output."`
	Explain  bool   `help:"Also print what is live at the peak, by bytes and name."`
	JSON     bool   `name:"json" help:"Print JSON."`
}

// Help states the formats.
func (*arenaVerb) Help() string {
	return `CSV has a line id,lower,upper,size[,align][,offset][,pool] of column names, and then one for each buffer: live
from lower to upper, upper excluded; an offset that is given is fixed; pools are blocks of memory of their own.
JSON is {"buffers": [{"id", "lower", "upper", "size", ...}], "aliases": [{"out", "in"}], "packs": [[id, ...]],
"row_packs": [{"members", "over"}], "external": [id, ...], "align", "capacity"}. docs/arena-command.md says more.

Strategies: ` + strings.Join(arena.Strategies(), ", ") + `. proven=true says that no plan needs less; false, that none was found.
Exit status 1 when the capacity is not enough, with what every plan needs at least and what is live then.`
}

// Run reads the problem, solves it, checks the plan and prints what it needs.
func (v *arenaVerb) Run(e *env) error {
	data, err := e.read(v.File)
	if err != nil {
		return err
	}
	name := v.File
	if name == "-" {
		name = "standard input"
	}
	p, err := v.problem(data)
	if err != nil {
		return about(name, err)
	}
	if v.Budget < 0 {
		return fmt.Errorf("arena: --budget: got %d, want at least 0", v.Budget)
	}
	begin := time.Now()
	plan, err := arena.Solve(e.ctx, p, arena.Options{Strategy: v.Strategy, Budget: v.Budget})
	took := time.Since(begin)
	if _, full := errors.AsType[*arena.CapacityError](err); full {
		err = failed(about(name, err))
		if plan != nil {
			err = errors.Join(err, v.report(e, p, plan, took), e.flush())
		}
		return err
	}
	if err != nil {
		return about(name, located(data, err))
	}
	if err := arena.Validate(p, plan); err != nil {
		return failed(about(name, err))
	}
	if err := v.write(e, p, plan); err != nil || v.Out == "-" {
		return err
	}
	return v.report(e, p, plan, took)
}

// isJSON says whether the text is JSON: CSV begins with a column's name.
func isJSON(data []byte) bool {
	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// problem reads the buffers; flags count before what the file says for all of them.
func (v *arenaVerb) problem(data []byte) (*arena.Problem, error) {
	read := arena.ReadCSV
	if isJSON(data) {
		read = arena.ReadJSON
	}
	p, err := read(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	switch {
	case v.Align != nil && *v.Align <= 0:
		return nil, fmt.Errorf("arena: --align: got %d, want a power of two", *v.Align)
	case v.Align != nil:
		p.Align = *v.Align
	case p.Align == 0:
		p.Align = 1
	}
	if v.Capacity != nil {
		if *v.Capacity < 1 {
			return nil, fmt.Errorf("arena: --capacity: got %d, want at least 1", *v.Capacity)
		}
		p.Capacity = *v.Capacity
	}
	return p, nil
}

// located says of an error of one buffer where the buffer is in the text.
func located(data []byte, err error) error {
	bad, ok := errors.AsType[*arena.Error](err)
	if !ok || bad.Index < 0 || bad.Where != "" {
		return err
	}
	if isJSON(data) {
		bad.Where = fmt.Sprintf("buffers[%d]", bad.Index)
		return err
	}
	in := csv.NewReader(bytes.NewReader(data))
	in.TrimLeadingSpace = true
	// The first record is the column names.
	for range bad.Index + 2 {
		if _, fault := in.Read(); fault != nil {
			return err
		}
	}
	line, _ := in.FieldPos(0)
	bad.Where = fmt.Sprintf("line %d", line)
	return err
}

// write writes the file that --out asks for.
func (v *arenaVerb) write(e *env, p *arena.Problem, plan *arena.Plan) error {
	form := arena.WriteCSV
	switch strings.ToLower(filepath.Ext(v.Out)) {
	case ".svg":
		form = arena.WriteSVG
	case ".json":
		form = arena.WriteJSON
	}
	if v.Out == "" {
		return nil
	}
	if v.Out == "-" {
		return form(&e.out, p, plan)
	}
	var text bytes.Buffer
	if err := form(&text, p, plan); err != nil {
		return about("--out "+v.Out, err)
	}
	return failed(os.WriteFile(v.Out, text.Bytes(), 0o666))
}

// report prints the plan's totals.
func (v *arenaVerb) report(e *env, p *arena.Problem, plan *arena.Plan, took time.Duration) error {
	if v.JSON {
		r, err := plan.Report(p, took)
		if err != nil {
			return err
		}
		return e.json(r)
	}
	e.printf("arena=%d lower_bound=%d proven=%t strategy=%s nodes=%d ms=%.3f", plan.Arena, plan.LowerBound, plan.Proven,
		plan.Strategy, plan.Nodes, float64(took.Microseconds())/1000)
	if plan.Stopped {
		e.printf(" stopped=true")
	}
	e.printf("\n")
	if !v.Explain {
		return nil
	}
	why, err := arena.Explain(p, plan)
	if err != nil {
		return failed(err)
	}
	e.printf("%s", why)
	return nil
}
