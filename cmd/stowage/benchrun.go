package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/tensor"
)

// inputSet is what one run is fed, and the extents of the free dims that it has.
type inputSet struct {
	in   map[string]*tensor.Tensor
	dims dims
}

// sets makes the inputs to cycle over; there is at least one.
func (v *benchVerb) sets(e *env, m *stowage.Model) ([]inputSet, error) {
	out, err := v.storedSets(m)
	if len(v.Data) == 0 {
		out, err = v.madeSets(e, m)
	}
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].dims = dims{}
		for _, info := range m.Inputs() {
			out[i].dims.learn(info, out[i].in[info.Name])
		}
	}
	return out, nil
}

// storedSets reads the data sets of --data.
func (v *benchVerb) storedSets(m *stowage.Model) ([]inputSet, error) {
	dirs, err := dataDirs(v.Data)
	if err != nil {
		return nil, err
	}
	out := make([]inputSet, len(dirs))
	for i, dir := range dirs {
		if out[i].in, err = readPorts(dir, "input", m.Inputs()); err != nil {
			return nil, about(dir, err)
		}
	}
	return out, nil
}

// madeSets makes a set for each of --dim. Random inputs share the memory of the largest, which is
// made first, so that the inputs of many sizes take no more than those of one.
func (v *benchVerb) madeSets(e *env, m *stowage.Model) ([]inputSet, error) {
	if !slices.Contains(v.Input, "random") && !slices.Contains(v.Input, "zeros") {
		v.Input = append(v.Input, "random")
	}
	given := v.Dim
	if len(given) == 0 {
		given = sizes{v.Max}
	}
	order := make([]int, len(given))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(given[b].product(), given[a].product()) })
	out := make([]inputSet, len(given))
	pool := map[string]*tensor.Tensor{}
	for _, i := range order {
		w := v.feeder(e, m.Inputs(), given[i])
		w.pool = pool
		in, err := w.all()
		if err != nil {
			return nil, err
		}
		out[i].in = in
	}
	return out, nil
}

// dataDirs lists the data sets in the given folders: each is one, or holds some.
func dataDirs(dirs []string) ([]string, error) {
	var out []string
	for _, dir := range dirs {
		files, err := numbered(dir, "input_", ".pb")
		if err != nil {
			return nil, fmt.Errorf("bench: %w", err)
		}
		if len(files) > 0 {
			out = append(out, dir)
			continue
		}
		found, err := numbered(dir, setPrefix, "")
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("bench: folder %q: got neither input_*.pb nor %s*, want one", dir, setPrefix)
		}
		out = append(out, found...)
	}
	return out, nil
}

// quantile returns the least of the sorted times that percent of them do not exceed.
func quantile(times []time.Duration, percent int) time.Duration {
	rank := (len(times)*percent + 99) / 100
	return times[max(rank, 1)-1]
}

// coldReady is what a fresh process prints when it has its first output.
const coldReady = "ready\n"

// once runs one set and says so: the child's side of cold.
func (v *benchVerb) once(e *env, s *stowage.Session, set inputSet) error {
	if _, err := s.Run(e.ctx, set.in); err != nil {
		return failed(about(v.Model, err))
	}
	e.printf(coldReady)
	return failed(e.flush())
}

// cold returns the median time from the start of a fresh process, with the same command line, to
// its first output; nil when none is wanted, or when an input can be read only once.
func (v *benchVerb) cold(e *env) (*float64, error) {
	if v.Cold == 0 || e.stdinRead {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil
	}
	times := make([]time.Duration, v.Cold)
	for i := range times {
		if times[i], err = coldStart(e, self); err != nil {
			return nil, fmt.Errorf("bench: fresh process of %s: %w", filepath.Base(self), err)
		}
	}
	slices.Sort(times)
	median := ms(quantile(times, 50))
	return &median, nil
}

func coldStart(e *env, self string) (time.Duration, error) {
	cmd := exec.CommandContext(e.ctx, self, append(slices.Clone(e.args), "--cold-child")...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ready := make([]byte, len(coldReady))
	_, readErr := io.ReadFull(out, ready)
	took := time.Since(start)
	if err := cmd.Wait(); err != nil {
		return 0, err
	}
	return took, readErr
}
