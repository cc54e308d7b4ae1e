package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestWithoutATerminalThereIsNoProgress(t *testing.T) {
	var err bytes.Buffer
	p := (&env{stderr: &err}).progress("work", 2)
	p.step()
	p.clear()
	p.done()
	if err.Len() > 0 || p.within() != nil {
		t.Errorf("got %q and a hook, want neither", err.String())
	}
}

func TestProgressCountsStepsAndGoesAway(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b, "work", 2)
	p.step()
	p.done()
	if got := b.String(); !strings.Contains(got, "work") || !strings.HasSuffix(strings.TrimRight(got, " "), "\r") {
		t.Errorf("got %q, want the work's name, and an empty line at the end", got)
	}
	b.Reset()
	p = newProgress(&b, "run", 0)
	p.within()(3, 7)
	p.done()
	if got := b.String(); !strings.Contains(got, "/7)") {
		t.Errorf("got %q, want a bar of 7 steps", got)
	}
}
