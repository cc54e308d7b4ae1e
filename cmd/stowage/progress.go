package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far long work is, when standard error is a terminal; else it does nothing. A
// bar that cannot be drawn is not worth an error.
type progress struct{ bar *progressbar.ProgressBar }

// progress starts a bar of the given number of steps; 0 when step says it later.
func (e *env) progress(what string, steps int) *progress {
	f, ok := e.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &progress{}
	}
	return newProgress(f, what, steps)
}

func newProgress(w io.Writer, what string, steps int) *progress {
	return &progress{progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)}
}

// step says that one more step is done.
func (p *progress) step() {
	if p.bar != nil {
		_ = p.bar.Add(1)
	}
}

// within returns what tells the bar the step that a run is at; nil without a bar, so that a run
// need not report.
func (p *progress) within() func(step, steps int) {
	if p.bar == nil {
		return nil
	}
	return func(step, steps int) {
		if p.bar.GetMax() != steps {
			p.bar.ChangeMax(steps)
		}
		_ = p.bar.Set(step)
	}
}

// clear takes the bar away until the next step, so that something else can be printed.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// done removes the bar.
func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
