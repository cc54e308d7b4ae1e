package main

import (
	"bytes"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/stowage-ml/stowage/place"
)

// placeVerb decides on which device each node of a graph runs.
type placeVerb struct {
	File     string `arg:"" name:"json" help:"Problem in JSON, or -."`
	Strategy string `default:"auto" placeholder:"S" help:"One of auto, exact, carry, greedy, priority, single."`
	Budget   int64  `placeholder:"ENTRIES" help:"Table entries that exact may fill; 0 is the usual number."`
	JSON     bool   `name:"json" help:"Print JSON."`
}

// placeReport is the JSON of place.
type placeReport struct {
	Placement  map[string]string `json:"placement"`
	Cost       int64             `json:"cost_ns"`
	Bound      int64             `json:"bound_ns"`
	Proven     bool              `json:"proven"`
	Strategy   string            `json:"strategy"`
	Method     string            `json:"method,omitempty"`
	Strategies []placeTried      `json:"strategies"`
	Copies     []placeCopy       `json:"copies"`
	Nodes      []placeNode       `json:"nodes"`
	// Devices is there when some device has a capacity.
	Devices []placeDevice `json:"devices,omitempty"`
}

// placeTried is what one strategy found; Cost is null when nothing that fits.
type placeTried struct {
	Name string `json:"name"`
	Cost *int64 `json:"cost_ns"`
}

type placeCopy struct {
	Tensor string `json:"tensor"`
	From   string `json:"from"`
	To     string `json:"to"`
	Bytes  int64  `json:"bytes"`
	Cost   int64  `json:"est_ns"`
}

// placeNode says why a node is where it is.
type placeNode struct {
	Name     string       `json:"name"`
	Device   string       `json:"device"`
	RunnerUp *string      `json:"runner_up"`
	Margin   *int64       `json:"margin_ns"`
	Reason   place.Reason `json:"reason"`
}

// placeDevice is the memory of one device; Capacity is null when it has no limit.
type placeDevice struct {
	Name     string `json:"name"`
	Used     int64  `json:"used_bytes"`
	Capacity *int64 `json:"capacity_bytes"`
}

// Run prints the placement, what it costs, and what other strategies would.
func (v *placeVerb) Run(e *env) error {
	text, err := e.read(v.File)
	if err != nil {
		return err
	}
	name := v.File
	if name == "-" {
		name = "standard input"
	}
	p, err := place.ReadJSON(bytes.NewReader(text))
	if err != nil {
		return about(name, err)
	}
	if v.Budget < 0 {
		return fmt.Errorf("place: --budget: got %d, want at least 0", v.Budget)
	}
	s, err := place.Solve(e.ctx, p, place.Options{Strategy: v.Strategy, Budget: v.Budget})
	if err != nil {
		if full, ok := errors.AsType[*place.CapacityError](err); ok {
			return failed(about(name, full))
		}
		return err
	}
	choices, err := place.Explain(p, s)
	if err != nil {
		return failed(about(name, err))
	}
	r := placed(p, s, choices)
	if v.JSON {
		return e.json(r)
	}
	r.print(e)
	return nil
}

func placed(p *place.Problem, s *place.Solution, choices []place.Choice) placeReport {
	r := placeReport{
		Placement: make(map[string]string), Cost: s.Cost, Bound: s.Bound, Proven: s.Proven, Strategy: s.Strategy,
		Method: s.Method, Strategies: []placeTried{}, Copies: []placeCopy{}, Nodes: []placeNode{},
	}
	for _, t := range s.Tried {
		tried := placeTried{Name: t.Name}
		if t.Fits {
			tried.Cost = &t.Cost
		}
		r.Strategies = append(r.Strategies, tried)
	}
	for _, c := range s.Copies {
		r.Copies = append(r.Copies, placeCopy{p.TensorName(c.Tensor), p.Devices[c.From], p.Devices[c.To], c.Bytes, c.Cost})
	}
	for _, c := range choices {
		n := placeNode{Name: p.Nodes[c.Node].Name, Device: p.Devices[c.Device], Reason: c.Reason}
		if c.RunnerUp >= 0 {
			n.RunnerUp, n.Margin = &p.Devices[c.RunnerUp], &c.Margin
		}
		r.Placement[n.Name] = n.Device
		r.Nodes = append(r.Nodes, n)
	}
	if p.Capacity != nil {
		for d, name := range p.Devices {
			dev := placeDevice{Name: name, Used: s.Used[d]}
			if p.Capacity[d] != place.Unlimited {
				dev.Capacity = &p.Capacity[d]
			}
			r.Devices = append(r.Devices, dev)
		}
	}
	return r
}

func (r *placeReport) print(e *env) {
	e.printf("cost=%d lower_bound=%d proven=%v strategy=%s", r.Cost, r.Bound, r.Proven, r.Strategy)
	if r.Method != "" {
		e.printf(" method=%s", r.Method)
	}
	e.printf("\n\n")
	w := tabwriter.NewWriter(&e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "strategy\tns")
	for _, t := range r.Strategies {
		fmt.Fprintf(w, "%s\t%s\n", t.Name, numberOr(t.Cost, "does not fit"))
	}
	section(w, "node\tdevice\trunner-up\tmargin ns\treason")
	for _, n := range r.Nodes {
		other := "-"
		if n.RunnerUp != nil {
			other = *n.RunnerUp
		}
		margin := numberOr(n.Margin, "-")
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", plain(n.Name), plain(n.Device), plain(other), margin, n.Reason)
	}
	if len(r.Copies) > 0 {
		section(w, "copy\tfrom\tto\tbytes\tns")
	}
	for _, c := range r.Copies {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\n", plain(c.Tensor), plain(c.From), plain(c.To), c.Bytes, c.Cost)
	}
	if len(r.Devices) > 0 {
		section(w, "device\tbytes\tcapacity")
	}
	for _, d := range r.Devices {
		fmt.Fprintf(w, "%s\t%d\t%s\n", plain(d.Name), d.Used, numberOr(d.Capacity, "-"))
	}
	w.Flush()
}

// section ends a table and starts the next.
func section(w *tabwriter.Writer, head string) {
	w.Flush()
	fmt.Fprintf(w, "\n%s\n", head)
}

// numberOr gives a number, or a word where there is none.
func numberOr(n *int64, word string) string {
	if n == nil {
		return word
	}
	return fmt.Sprint(*n)
}
