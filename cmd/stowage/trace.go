package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/trace"
)

// tracing is the flag of the verbs that say what ran when.
type tracing struct {
	Trace string `placeholder:"FILE" help:"Write what ran when, on which device, for ui.perfetto.dev or chrome://tracing."`
}

// traceHelp explains --trace.
const traceHelp = `--trace writes what has happened also when a run fails or is interrupted; of a long time, the
latest 262144 events.`

// record makes sessions note what they do, if --trace asks for it. The returned function writes it to
// the file, and is given the error of the runs, which it returns with its own. The file is made at
// once, so that a long run does not end with no place for what it has noted.
func (t *tracing) record(o *stowage.Options) (write func(error) error, err error) {
	switch t.Trace {
	case "":
		return func(err error) error { return err }, nil
	case "-":
		return nil, errors.New(`trace: got "-", want the name of a file: standard output has the results`)
	}
	f, err := os.Create(t.Trace)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	o.Trace = trace.New(trace.Events)
	return func(err error) error { return errors.Join(err, o.Trace.Write(f), f.Close()) }, nil
}
