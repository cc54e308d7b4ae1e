package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/stowage-ml/stowage/bench/engine"
)

// report is everything that was measured.
type report struct {
	Date    string         `json:"date"`
	Machine string         `json:"machine"`
	Threads int            `json:"threads,omitempty"`
	Fast    bool           `json:"-"`
	Models  []modelResult  `json:"models,omitempty"`
	Kernels []kernelResult `json:"kernels,omitempty"`
	Opening []openResult   `json:"opening,omitempty"`
	// GeoMean and Worst are of the ratios of CPU times, WorstCold and WorstRSS of the others;
	// WorstScaling is of models of largeMs and more.
	GeoMean      float64 `json:"geometric_mean"`
	Worst        float64 `json:"worst"`
	WorstCold    float64 `json:"worst_cold,omitempty"`
	WorstRSS     float64 `json:"worst_rss,omitempty"`
	WorstScaling float64 `json:"worst_threads_scaling,omitempty"`
}

func (r *report) write(c *config, stdout io.Writer) error {
	r.Date, r.Machine = time.Now().Format("2006-01-02"), machine()
	r.summarise()
	text := r.markdown()
	if _, err := io.WriteString(stdout, text); err != nil {
		return err
	}
	if c.md != "" {
		if err := os.WriteFile(c.md, []byte(text), 0o666); err != nil {
			return err
		}
	}
	if c.json == "" {
		return nil
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.json, append(b, '\n'), 0o666)
}

// summarise fills in the figures over all models, or all kernels.
func (r *report) summarise() {
	logs, n := 0.0, 0
	add := func(ratio float64) {
		if ratio > 0 {
			logs += math.Log(ratio)
			n++
			r.Worst = max(r.Worst, ratio)
		}
	}
	for _, m := range r.Models {
		add(m.Ratio)
		r.WorstCold = max(r.WorstCold, quotient(m.Cold[0], m.Cold[1]))
		r.WorstRSS = max(r.WorstRSS, quotient(float64(m.PeakRSS[0]), float64(m.PeakRSS[1])))
		if m.Wall[0] >= largeMs {
			r.WorstScaling = max(r.WorstScaling, m.Scaling)
		}
	}
	for _, k := range r.Kernels {
		add(k.Ratio)
	}
	for _, m := range r.Opening {
		add(quotient(m.Again[0], m.Again[1]))
	}
	if n > 0 {
		r.GeoMean = math.Exp(logs / float64(n))
	}
}

// largeMs is the time of models that more threads must make faster.
const largeMs = 5

// machine names the processor and how many of its threads there are.
func machine() string {
	name := runtime.GOARCH
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d CPUs, %s", name, runtime.NumCPU(), runtime.Version())
}

func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s; ONNX Runtime %s.\n\n", r.Date, r.Machine, engine.Version)
	if len(r.Models) > 0 {
		r.cpuTable(&b)
		if !r.Fast {
			r.processTable(&b)
		}
	}
	if len(r.Kernels) > 0 {
		r.kernelTable(&b)
	}
	if len(r.Opening) > 0 {
		r.openTable(&b)
	}
	fmt.Fprintf(&b, "\nRatio of CPU times, Stowage / ONNX Runtime: geometric mean %.3f, worst %.3f.\n", r.GeoMean, r.Worst)
	if r.WorstCold > 0 {
		fmt.Fprintf(&b, "Worst ratio of cold starts %.2f, of peak RSS %.2f.\n", r.WorstCold, r.WorstRSS)
	}
	if r.WorstScaling > 0 {
		fmt.Fprintf(&b, "Worst wall time of %d threads against one, of models of %d ms and more: %.2f.\n", r.Threads,
			largeMs, r.WorstScaling)
	}
	return b.String()
}

func (r *report) cpuTable(b *strings.Builder) {
	fmt.Fprintf(b, "| model | CPU ms | ORT | ratio | wall ms | ORT | wall ms, %d threads | ORT | of own 1 thread |\n",
		r.Threads)
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, m := range r.Models {
		if m.Error != "" {
			fmt.Fprintf(b, "| %s | %s |\n", m.Name, strings.ReplaceAll(m.Error, "\n", " "))
			continue
		}
		note := ""
		if m.Farthest > 0.05 {
			note = fmt.Sprintf(" (outputs differ by %.2g)", m.Farthest)
		}
		fmt.Fprintf(b, "| %s%s | %s | %s | %.2f | %s | %s | %s | %s | %s |\n", m.Name, note, figure(m.CPU[0]),
			figure(m.CPU[1]), m.Ratio, figure(m.Wall[0]), figure(m.Wall[1]), figure(m.Wall2[0]), figure(m.Wall2[1]),
			figure(m.Scaling))
	}
}

func (r *report) processTable(b *strings.Builder) {
	b.WriteString("\n| model | cold ms | ORT | ratio | peak RSS MB | ORT | ratio | arena MB | ORT |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, m := range r.Models {
		if m.Error != "" {
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", m.Name,
			figure(m.Cold[0]), figure(m.Cold[1]), figure(quotient(m.Cold[0], m.Cold[1])),
			mb(m.PeakRSS[0]), mb(m.PeakRSS[1]), figure(quotient(float64(m.PeakRSS[0]), float64(m.PeakRSS[1]))),
			mb(m.Arena[0]), mb(m.Arena[1]))
	}
}

func (r *report) kernelTable(b *strings.Builder) {
	b.WriteString("| kernel | GFLOP/s | ORT | of peak | ORT | ratio of CPU time |\n|---|---:|---:|---:|---:|---:|\n")
	for _, k := range r.Kernels {
		if k.Error != "" {
			fmt.Fprintf(b, "| %s | %s |\n", k.Name, strings.ReplaceAll(k.Error, "\n", " "))
			continue
		}
		fmt.Fprintf(b, "| %s | %.1f | %.1f | %.0f %% | %.0f %% | %.2f |\n", k.Name, k.GFlops[0], k.GFlops[1],
			100*k.Peak[0], 100*k.Peak[1], k.Ratio)
	}
}

func mb(n int64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", float64(n)/1e6)
}

// figure prints a number with three significant digits.
func figure(v float64) string {
	switch {
	case v == 0:
		return "–"
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
