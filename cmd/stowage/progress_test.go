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
	p.clear()
	p.step()
	p.done()
	got := b.String()
	for _, part := range []string{"work [------------------------------] 0/2", "[###############---------------] 1/2"} {
		if !strings.Contains(got, part) {
			t.Errorf("got %q, want %q in it", got, part)
		}
	}
	if !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("got %q, want an empty line at the end", got)
	}
	b.Reset()
	p = newProgress(&b, "run", 0)
	p.clear()
	p.within()(3, 7)
	if got := b.String(); !strings.Contains(got, "3/7") {
		t.Errorf("got %q, want a bar of 7 steps", got)
	}
}
