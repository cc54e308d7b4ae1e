package main

import (
	"bytes"
	"os"

	"github.com/stowage-ml/stowage"
)

// following is the flags of the verbs that take a saved plan.
type following struct {
	Plan   string `placeholder:"FILE" help:"Take the decisions from FILE, which plan --save has written."`
	Replan bool   `help:"Plan anew what --plan has no decisions for, or what has changed since."`
}

// follow adds the flags to the options.
func (f *following) follow(o *stowage.Options) (*stowage.Options, error) {
	if f.Plan == "" {
		return o, nil
	}
	b, err := os.ReadFile(f.Plan)
	if err != nil {
		return nil, err
	}
	o.Plan, o.Replan = b, f.Replan
	return o, nil
}

// savePlans writes what a session has planned to a file.
func savePlans(path string, s *stowage.Session) error {
	var b bytes.Buffer
	if err := s.SavePlans(&b); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}
