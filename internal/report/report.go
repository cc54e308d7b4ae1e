// Package report draws what was decided for people to look at: one HTML page that needs nothing but
// itself. It knows nothing of models, plans or devices beyond the names and numbers that it is
// given. Times are in nanoseconds, sizes in bytes.
package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

// Page is what a page shows of a plan.
type Page struct {
	// Title is the model's name.
	Title string
	// Facts are shown on top, in order.
	Facts      []Fact
	Devices    []Device
	Steps      []Step
	Inputs     []string
	Outputs    []Output
	Copies     []Copy
	Strategies []Strategy
	// CostNs is the estimate of all steps and copies together.
	CostNs int64
	// Arenas holds a picture of each device's memory, as SVG that the caller vouches for.
	Arenas []Picture
}

// Fact is a name and a value.
type Fact struct{ Name, Value string }

// Device is one that runs steps.
type Device struct {
	Name string
	// ArenaBytes is what a run needs there, LowerBound the least that any arrangement does.
	ArenaBytes, LowerBound, MaterializedBytes, WeightBytes int64
	// PeakStep is the step at which most is in use, and Live what that is, the largest first.
	PeakStep int
	Live     []Buffer
}

// Buffer is a range of memory.
type Buffer struct {
	Name          string
	Offset, Bytes int64
}

// Step is one kernel launch.
type Step struct {
	Op, Name, Device, Kernel, Source string
	// EstNs is −1 when there is no estimate; EstSource says where it comes from.
	EstNs     int64
	EstSource string
	RunnerUp  string
	MarginNs  int64
	Reason    string
	// Output is the first result's name and type, Layout how its elements lie.
	Output, Layout string
	// Copy says that the step only changes a layout, or moves a tensor to another device.
	Copy bool
	// Reads are the steps, by index and all before this one, whose results it reads; Inputs the
	// page's inputs, by index.
	Reads, Inputs []int
}

// Output is a result of the model, and the steps that make it.
type Output struct {
	Name string
	From []int
}

// Copy is a tensor's way from one place to another.
type Copy struct {
	Tensor, From, To string
	Bytes, EstNs     int64
}

// Strategy is a way to decide that was tried, and what its decision costs.
type Strategy struct {
	Name   string
	CostNs int64
}

// Picture is an SVG with its title.
type Picture struct{ Title, SVG string }

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// page is the template; everything that comes from a model goes through it, and is escaped.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"ns": duration, "bytes": size, "percent": percent, "paint": paint,
}).Parse(pageHTML))

// view is what the template sees.
type view struct {
	*Page
	CSS    template.CSS
	JS     template.JS
	Graph  template.HTML
	Arenas []picture
	Ops    []share
	// Most is the longest estimate of a step, Dearest that of a strategy.
	Most, Dearest int64
	Colours       map[string]int
}

type picture struct {
	Title string
	SVG   template.HTML
}

// Write writes the page. The same page gives the same bytes.
func Write(w io.Writer, p *Page) error {
	if err := p.check(); err != nil {
		return err
	}
	v := view{Page: p, CSS: template.CSS(pageCSS), JS: template.JS(pageJS), Colours: colours(p), Ops: shares(p)}
	for _, a := range p.Arenas {
		v.Arenas = append(v.Arenas, picture{a.Title, template.HTML(a.SVG)})
	}
	for i := range p.Steps {
		v.Most = max(v.Most, p.Steps[i].EstNs)
	}
	for _, s := range p.Strategies {
		v.Dearest = max(v.Dearest, s.CostNs)
	}
	v.Graph = template.HTML(drawGraph(p, v.Colours))
	if err := page.Execute(w, &v); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// check fails when a step reads what is not there before it.
func (p *Page) check() error {
	for i := range p.Steps {
		for _, r := range p.Steps[i].Reads {
			if r < 0 || r >= i {
				return fmt.Errorf("report: step %d: got a reading of step %d, want one before it", i, r)
			}
		}
		for _, r := range p.Steps[i].Inputs {
			if r < 0 || r >= len(p.Inputs) {
				return fmt.Errorf("report: step %d: got a reading of input %d, want one of %d", i, r, len(p.Inputs))
			}
		}
	}
	for _, o := range p.Outputs {
		for _, r := range o.From {
			if r < 0 || r >= len(p.Steps) {
				return fmt.Errorf("report: output %q: got step %d, want one of %d", o.Name, r, len(p.Steps))
			}
		}
	}
	return nil
}
