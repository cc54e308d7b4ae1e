package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/stowage-ml/stowage"
)

// env is what a verb may use of the world outside. Output is kept until flush, so that a verb
// that fails early prints nothing but its error.
type env struct {
	args           []string
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer

	stdinRead bool
	out       bytes.Buffer
}

func (e *env) printf(format string, args ...any) { fmt.Fprintf(&e.out, format, args...) }

// json prints v as one indented document.
func (e *env) json(v any) error {
	enc := json.NewEncoder(&e.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("output as JSON: %w", err)
	}
	return nil
}

// flush writes what was printed so far.
func (e *env) flush() error {
	_, err := e.out.WriteTo(e.stdout)
	return err
}

// read returns the contents of a file, or of standard input, which can be had once, for "-".
func (e *env) read(path string) ([]byte, error) {
	if path != "-" {
		return os.ReadFile(path)
	}
	if e.stdinRead {
		return nil, errors.New("standard input: got - twice, want one file named -")
	}
	e.stdinRead = true
	b, err := io.ReadAll(e.stdin)
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return b, nil
}

// load opens the model in a file, or on standard input.
func (e *env) load(path string) (*stowage.Model, error) {
	if path != "-" {
		return stowage.Load(path)
	}
	b, err := e.read(path)
	if err != nil {
		return nil, err
	}
	m, err := stowage.LoadBytes(b)
	return m, about("standard input", err)
}

// about puts the name of what was read before an error.
func about(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
