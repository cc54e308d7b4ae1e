package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stowage-ml/stowage/bench/engine"
)

const (
	// openProcesses is how many processes open a model with each engine, opensEach how often each does.
	openProcesses = 5
	opensEach     = 8
)

// openResult is what opening a model takes, in milliseconds of CPU time, by engine, Stowage first: the
// first time in a process, and the lower quartile and the least of the times after it.
type openResult struct {
	Name  string     `json:"name"`
	Fresh [2]float64 `json:"fresh_ms"`
	Again [2]float64 `json:"again_ms"`
	Least [2]float64 `json:"least_ms"`
	Error string     `json:"error,omitempty"`
}

// compareOpening measures what it takes to open models.
func compareOpening(c *config) (report, error) {
	var r report
	err := forEach(c, cases, func(s *engine.Spec, dir string) {
		m := openResult{Name: s.Name}
		if err := m.measure(s, filepath.Join(dir, "spec.json")); err != nil {
			m.Error = err.Error()
		}
		fmt.Fprintf(c.progress, "%-24s fresh %8.2f  ort %8.2f  again %8.2f  ort %8.2f %s\n", m.Name, m.Fresh[0], m.Fresh[1],
			m.Again[0], m.Again[1], m.Error)
		r.Opening = append(r.Opening, m)
	})
	return r, err
}

func (m *openResult) measure(s *engine.Spec, file string) error {
	if err := s.Save(file); err != nil {
		return err
	}
	var first, again [2][]float64
	for range openProcesses {
		for i, name := range engineNames {
			took, err := openAside(name, file)
			if err != nil {
				return err
			}
			first[i], again[i] = append(first[i], took[0]), append(again[i], took[1:]...)
		}
	}
	for i := range engineNames {
		m.Fresh[i], m.Again[i], m.Least[i] = typical(first[i]), typical(again[i]), slices.Min(again[i])
	}
	return nil
}

// openAside opens a model in a process of its own, several times, and returns what each time took.
func openAside(name, file string) ([]float64, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, err := exec.Command(self, "opening-child", name, file, strconv.Itoa(opensEach)).Output()
	if err != nil {
		text := ""
		if x, ok := errors.AsType[*exec.ExitError](err); ok {
			text = strings.TrimSpace(string(x.Stderr))
		}
		return nil, fmt.Errorf("child %s: %w: %s", name, err, text)
	}
	var took []float64
	if err := json.Unmarshal(out, &took); err != nil || len(took) != opensEach {
		return nil, fmt.Errorf("child %s: got %d times (%v), want %d", name, len(took), err, opensEach)
	}
	return took, nil
}

// openingChild opens and closes a model: opening-child ENGINE SPEC TIMES.
func openingChild(args []string, stdout io.Writer) error {
	s, n, err := childArgs(args)
	if err != nil {
		return err
	}
	var took []float64
	for range n {
		begin := cpuTime()
		e, err := engine.Open(args[0], s, 1)
		if err != nil {
			return err
		}
		took = append(took, ms(cpuTime()-begin))
		if err := e.Close(); err != nil {
			return err
		}
	}
	return json.NewEncoder(stdout).Encode(took)
}

func (r *report) openTable(b *strings.Builder) {
	b.WriteString("| model | first | ORT | ratio | again | ORT | ratio | least |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for i := range r.Opening {
		m := &r.Opening[i]
		if m.Error != "" {
			fmt.Fprintf(b, "| %s | %s ||||||\n", m.Name, m.Error)
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", m.Name, figure(m.Fresh[0]), figure(m.Fresh[1]),
			figure(quotient(m.Fresh[0], m.Fresh[1])), figure(m.Again[0]), figure(m.Again[1]),
			figure(quotient(m.Again[0], m.Again[1])), figure(m.Least[0]))
	}
}
