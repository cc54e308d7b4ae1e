package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/arena"
	"github.com/stowage-ml/stowage/internal/report"
)

// writeHTML writes a plan as one page.
func writeHTML(ctx context.Context, path, title string, m *stowage.Model, p *stowage.Plan) error {
	page := pageOf(title, m, p)
	for i := range p.Devices {
		svg, err := arenaPicture(ctx, p, p.Devices[i].Name)
		if err != nil {
			return err
		}
		if svg != "" {
			title := "What lies where: steps to the right, bytes upwards"
			if len(p.Devices) > 1 {
				title += ", on " + p.Devices[i].Name
			}
			page.Arenas = append(page.Arenas, report.Picture{Title: title, SVG: svg})
		}
	}
	var b bytes.Buffer
	if err := report.Write(&b, page); err != nil {
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		return fmt.Errorf("plan: --html: %w", err)
	}
	return nil
}

// titleOf names a model by its file, with its folder when the file's name says nothing.
func titleOf(path string) string {
	name := filepath.Base(path)
	if stem := strings.TrimSuffix(name, filepath.Ext(name)); stem == "model" {
		if abs, err := filepath.Abs(path); err == nil {
			name = filepath.Join(filepath.Base(filepath.Dir(abs)), name)
		}
	}
	return filepath.ToSlash(name)
}

func pageOf(title string, m *stowage.Model, p *stowage.Plan) *report.Page {
	page := &report.Page{Title: title}
	fact := func(name, value string) { page.Facts = append(page.Facts, report.Fact{Name: name, Value: value}) }
	if p.CostNs != nil {
		page.CostNs = *p.CostNs
		fact("estimated", fmt.Sprintf("%.3f ms", float64(*p.CostNs)/1e6))
	}
	if p.BoundNs != nil {
		fact("at least", fmt.Sprintf("%.3f ms", float64(*p.BoundNs)/1e6))
	}
	fact("steps", fmt.Sprint(len(p.Steps)))
	for _, name := range slices.Sorted(maps.Keys(p.Assumed)) {
		fact("assumed "+name, fmt.Sprint(p.Assumed[name]))
	}
	for _, what := range p.NotCounted {
		fact("not counted", what)
	}
	fact("weights", bytesText(m.WeightBytes()))
	for _, in := range m.Inputs() {
		page.Inputs = append(page.Inputs, in.Name)
		fact("input "+in.Name, describe(in))
	}
	fact("digest", p.Digest)
	for _, o := range p.Outputs {
		page.Outputs = append(page.Outputs, report.Output(o))
	}
	for _, s := range p.Strategies {
		page.Strategies = append(page.Strategies, report.Strategy(s))
	}
	for _, c := range p.Copies {
		page.Copies = append(page.Copies, report.Copy{Tensor: c.Tensor, From: c.From, To: c.To, Bytes: c.Bytes,
			EstNs: optional(c.EstNs)})
	}
	for i := range p.Steps {
		page.Steps = append(page.Steps, stepOf(&p.Steps[i]))
	}
	for _, d := range p.Devices {
		r := report.Device{Name: d.Name, ArenaBytes: d.ArenaBytes, LowerBound: d.LowerBound,
			MaterializedBytes: d.MaterializedBytes, WeightBytes: d.WeightBytes, PeakStep: d.Peak.Step}
		for _, l := range d.Peak.Live {
			r.Live = append(r.Live, report.Buffer(l))
		}
		page.Devices = append(page.Devices, r)
	}
	return page
}

func stepOf(s *stowage.Step) report.Step {
	return report.Step{Op: s.Op, Name: s.Name, Device: s.Device, Kernel: s.Kernel, Source: s.Source,
		EstNs: optional(s.EstNs), EstSource: s.EstSource, RunnerUp: s.RunnerUp, MarginNs: optional(s.MarginNs),
		Reason: s.Reason, Output: s.Output, Layout: strings.TrimPrefix(s.Layout, "row-major"), Copy: s.Op == "Reorder",
		Reads: s.Reads, Inputs: s.Inputs}
}

// optional is a number, or −1 where there is none.
func optional(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// arenaPicture draws the arena of one device; "" when there is nothing in it.
func arenaPicture(ctx context.Context, p *stowage.Plan, device string) (string, error) {
	problem := &arena.Problem{Align: 1}
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if b.Device != device {
			continue
		}
		problem.Buffers = append(problem.Buffers, arena.Buffer{Name: b.Name, Size: b.Bytes, Start: int64(b.First),
			End: int64(b.Last) + 1, Fixed: &b.Offset})
	}
	if len(problem.Buffers) == 0 {
		return "", nil
	}
	plan, err := arena.Solve(ctx, problem, arena.Options{})
	if err != nil {
		return "", fmt.Errorf("plan: --html: %w", err)
	}
	var b bytes.Buffer
	if err := arena.WriteSVG(&b, problem, plan); err != nil {
		return "", fmt.Errorf("plan: --html: %w", err)
	}
	return b.String(), nil
}
