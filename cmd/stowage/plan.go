package main

import (
	"github.com/stowage-ml/stowage"
)

// planVerb says what a run will do.
type planVerb struct {
	Model string `arg:"" help:"Model file, or -."`
	Max   dims   `placeholder:"D=N,…" help:"Upper bounds of free dims: the arena is sized for them."`
	Dim   dims   `placeholder:"D=N,…" help:"Values of free dims: the plan is for them, and for no others unless --max gives a bound."`
	tuning
	following
	Save string `placeholder:"FILE" help:"Write the decisions to FILE, for --plan to follow."`
	JSON bool   `name:"json" help:"Print JSON."`
	HTML string `name:"html" placeholder:"FILE" help:"Write the plan as one page that shows the graph, the decisions and the memory."`
}

// Run prints the plan for the given dims; a free dim without a value is at its bound, or 1.
func (v *planVerb) Run(e *env) error {
	m, err := e.load(v.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	fix, within := dims{}, dims{}
	for name, n := range v.Dim {
		if _, bounded := v.Max[name]; bounded {
			within[name] = n
		} else {
			fix[name] = n
		}
	}
	o, err := v.follow(v.apply(&stowage.Options{Fix: fix, Max: v.Max}))
	if err != nil {
		return err
	}
	s, err := m.Open(o)
	if err != nil {
		return about(v.Model, err)
	}
	defer s.Close()
	p, err := s.Plan(within)
	if err != nil {
		return about(v.Model, err)
	}
	if v.Save != "" {
		if err := savePlans(v.Save, s); err != nil {
			return failed(err)
		}
	}
	if v.HTML != "" {
		if err := writeHTML(e.ctx, v.HTML, titleOf(v.Model), m, p); err != nil {
			return failed(err)
		}
	}
	if v.JSON {
		return e.json(p)
	}
	if v.HTML != "" {
		e.printf("wrote %s\n", v.HTML)
		return nil
	}
	e.printf("%s", p)
	return nil
}
