package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/stowage-ml/stowage/bench/engine"
)

// modelResult is the figures of one model: Stowage's first, ONNX Runtime's second. Times are in
// milliseconds, memory in bytes.
type modelResult struct {
	Name     string     `json:"name"`
	CPU      [2]float64 `json:"cpu_ms"`
	Ratio    float64    `json:"ratio"`
	Wall     [2]float64 `json:"wall_ms"`
	Wall2    [2]float64 `json:"wall_threads_ms"`
	Scaling  float64    `json:"threads_scaling"`
	Cold     [2]float64 `json:"cold_ms"`
	PeakRSS  [2]int64   `json:"peak_rss_bytes"`
	Arena    [2]int64   `json:"arena_bytes"`
	Samples  int        `json:"samples"`
	Farthest float64    `json:"farthest"`
	Error    string     `json:"error,omitempty"`
}

func compareModels(c *config, cases func(c *config) ([]*engine.Spec, error)) (report, error) {
	r := report{Threads: c.threads, Fast: c.fast}
	err := forEach(c, cases, func(s *engine.Spec, dir string) {
		m := modelResult{Name: s.Name}
		if err := m.measure(c, s, dir); err != nil {
			m.Error = err.Error()
		}
		fmt.Fprintln(c.progress, m.line())
		r.Models = append(r.Models, m)
	})
	return r, err
}

// forEach calls f with each model, and with a folder for files that are soon forgotten.
func forEach(c *config, cases func(c *config) ([]*engine.Spec, error), f func(s *engine.Spec, dir string)) error {
	specs, err := cases(c)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "stowage-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, s := range specs {
		f(s, dir)
	}
	return nil
}

func (m *modelResult) line() string {
	if m.Error != "" {
		return fmt.Sprintf("%-24s %s", m.Name, m.Error)
	}
	return fmt.Sprintf("%-24s cpu %9.3f  ort %9.3f  ratio %6.2f  differ %.1e",
		m.Name, m.CPU[0], m.CPU[1], m.Ratio, m.Farthest)
}

func (m *modelResult) measure(c *config, s *engine.Spec, dir string) error {
	if err := m.single(c, s); err != nil || c.fast {
		return err
	}
	if c.threads > 1 {
		if err := m.several(c, s); err != nil {
			return err
		}
	}
	return m.processes(s, filepath.Join(dir, s.Name+".json"))
}

// single times one thread.
func (m *modelResult) single(c *config, s *engine.Spec) error {
	t, p, err := timed(s, 1, c.runs, c.budget)
	if err != nil {
		return err
	}
	if m.Farthest = p.farthest(len(s.Outputs)); math.IsInf(m.Farthest, 1) {
		m.Farthest = math.MaxFloat64
	}
	for i := range t {
		m.CPU[i], m.Wall[i] = typical(t[i].cpu), typical(t[i].wall)
	}
	m.Samples = len(t[0].cpu)
	m.Ratio = quotient(m.CPU[0], m.CPU[1])
	return p.close()
}

// several times more threads against one, in turns as well.
func (m *modelResult) several(c *config, s *engine.Spec) error {
	t, p, err := timed(s, c.threads, c.runs, c.budget)
	if err != nil {
		return err
	}
	for i := range t {
		m.Wall2[i] = typical(t[i].wall)
	}
	if err := p.close(); err != nil {
		return err
	}
	m.Scaling, err = scaling(c, s)
	return err
}

// scaling returns Stowage's wall time of c.threads threads over that of one, taken in turns.
func scaling(c *config, s *engine.Spec) (float64, error) {
	p := &pair{}
	for i, threads := range [2]int{c.threads, 1} {
		e, err := engine.Open(engine.Stowage, s, threads)
		if err != nil {
			return 0, err
		}
		p.engines[i] = e
	}
	if err := p.warm(c.budget); err != nil {
		return 0, err
	}
	t, err := p.alternate(c.runs, c.budget)
	if err != nil {
		return 0, err
	}
	return quotient(typical(t[0].wall), typical(t[1].wall)), p.close()
}

// timed opens both engines and times them in turns; the engines stay open.
func timed(s *engine.Spec, threads, runs int, budget time.Duration) ([2]timing, *pair, error) {
	p, err := openPair(s, threads)
	if err != nil {
		return [2]timing{}, nil, err
	}
	if err := p.warm(budget); err != nil {
		return [2]timing{}, nil, err
	}
	t, err := p.alternate(runs, budget)
	return t, p, err
}

// coldStarts is how many processes are started.
const coldStarts = 5

// processes measures what only a process of one engine can tell.
func (m *modelResult) processes(s *engine.Spec, file string) error {
	if err := s.Save(file); err != nil {
		return err
	}
	var cold [2][]float64
	for range coldStarts {
		for i, name := range engineNames {
			r, err := spawn(name, file, 1)
			if err != nil {
				return err
			}
			cold[i] = append(cold[i], ms(r.first))
		}
	}
	for i, name := range engineNames {
		m.Cold[i] = typical(cold[i])
		r, err := spawn(name, file, childRuns)
		if err != nil {
			return err
		}
		m.PeakRSS[i], m.Arena[i] = r.PeakRSS, r.Arena
	}
	r, err := spawn("arena", file, childRuns)
	if err != nil {
		return err
	}
	m.Arena[1] = arenaOf(r.stderr)
	return nil
}
