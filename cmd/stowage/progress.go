package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// progress shows how far long work is, when standard error is a terminal; else it does nothing. A
// line that cannot be drawn is not worth an error.
type progress struct {
	w     io.Writer
	what  string
	at    int
	steps int
	drawn time.Time
}

const (
	barWidth = 30
	// barPause is the least time between two drawings.
	barPause = 100 * time.Millisecond
)

// progress starts a bar of the given number of steps; 0 when step says it later.
func (e *env) progress(what string, steps int) *progress {
	f, ok := e.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &progress{}
	}
	return newProgress(f, what, steps)
}

func newProgress(w io.Writer, what string, steps int) *progress {
	p := &progress{w: w, what: what, steps: steps}
	p.draw()
	return p
}

func (p *progress) draw() {
	filled := 0
	if p.steps > 0 {
		filled = min(barWidth*p.at/p.steps, barWidth)
	}
	_, _ = fmt.Fprintf(p.w, "\r%s [%s%s] %d/%d\x1b[K", p.what, strings.Repeat("#", filled),
		strings.Repeat("-", barWidth-filled), p.at, p.steps)
	p.drawn = time.Now()
}

// move sets the bar to a step.
func (p *progress) move(at, steps int) {
	p.at, p.steps = at, steps
	if time.Since(p.drawn) >= barPause {
		p.draw()
	}
}

// step says that one more step is done.
func (p *progress) step() {
	if p.w != nil {
		p.move(p.at+1, p.steps)
	}
}

// within returns what tells the bar the step that a run is at; nil without a bar, so that a run
// need not report.
func (p *progress) within() func(step, steps int) {
	if p.w == nil {
		return nil
	}
	return p.move
}

// clear takes the bar away until the next step, so that something else can be printed.
func (p *progress) clear() {
	if p.w != nil {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
		p.drawn = time.Time{}
	}
}

// done removes the bar.
func (p *progress) done() { p.clear() }
