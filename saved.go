package stowage

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/internal/simd"
)

// ErrPlanChanged is wrapped by the errors of Open and Run that say that a saved plan (Options.Plan) is not for this
// model, these options, these kernels or these shapes, and why.
var ErrPlanChanged = plan.ErrChanged

const (
	planFormat = "stowage plans"
	// planVersion changes when files of before mean something else.
	planVersion = 1
	// mostPlanBytes is the size of the largest file that is read.
	mostPlanBytes = 64 << 20
)

// savedPlans is the file that SavePlans writes.
type savedPlans struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Digest is that of the file with an empty digest.
	Digest string   `json:"digest"`
	For    savedFor `json:"for"`
	// Plans has one for each set of shapes.
	Plans []plan.Saved `json:"plans"`
}

// savedFor is what plans depend on.
type savedFor struct {
	// Model is a digest of the model as it is in its file, and Graph one of what is planned: simplified,
	// with the outputs that were asked for, and fused.
	Model      string     `json:"model"`
	Graph      string     `json:"graph"`
	Outputs    []string   `json:"outputs"`
	Fix        []savedDim `json:"fix"`
	NoFuse     []string   `json:"no_fuse"`
	Kernels    string     `json:"kernels"`
	NoKernel   []string   `json:"no_kernel"`
	Threads    int        `json:"threads"`
	Devices    []string   `json:"devices"`
	Host       bool       `json:"host"`
	NoFallback bool       `json:"no_fallback"`
}

type savedDim struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// SavePlans writes what the session has decided so far, for every set of shapes that it has planned
// (at Open, by Plan and by Run), in a form that Options.Plan takes: the same decisions, model and
// options give the same bytes. The bodies of control nodes, and what can be planned only once a run
// has made its shapes known, are not in it. It fails when nothing has been planned yet.
func (s *Session) SavePlans(w io.Writer) error {
	if err := s.live(); err != nil {
		return err
	}
	f := savedPlans{Format: planFormat, Version: planVersion, For: s.planFor(), Plans: s.unit.Saved()}
	if len(f.Plans) == 0 {
		return errors.New("stowage: save plans: got none, want shapes that have been planned: by Open with every dim " +
			"fixed or bounded, by Plan, or by Run")
	}
	f.Digest = f.digest()
	_, err := w.Write(f.encode())
	return err
}

// planFor describes what the session's plans depend on.
func (s *Session) planFor() savedFor {
	o := &s.opts
	f := savedFor{Model: s.model.fingerprint(), Graph: fingerprint(s.unit.Graph, false), Outputs: []string{},
		Fix:    []savedDim{},
		NoFuse: sorted(o.NoFuse), Kernels: kernelsName(o.Kernels), NoKernel: sorted(o.NoKernel), Threads: s.Threads(),
		Devices: s.Devices(), Host: !s.devices.notHost, NoFallback: o.NoFallback}
	for i := range s.outputs {
		f.Outputs = append(f.Outputs, strings.ToValidUTF8(s.outputs[i].name, "\uFFFD"))
	}
	for _, name := range slices.Sorted(maps.Keys(o.Fix)) {
		f.Fix = append(f.Fix, savedDim{strings.ToValidUTF8(name, "\uFFFD"), o.Fix[name]})
	}
	return f
}

// fingerprint returns the digest of the model as it is in its file.
func (m *Model) fingerprint() string {
	m.printing.Do(func() { m.print = fingerprint(m.graph, true) })
	return m.print
}

func sorted(list []string) []string {
	out := append([]string{}, list...)
	slices.Sort(out)
	return slices.Compact(out)
}

// kernelsName names a set of kernels, the best one too.
func kernelsName(name string) string {
	if name == "" {
		return simd.Best().String()
	}
	return name
}

func (f *savedPlans) encode() []byte {
	b, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		panic("BUG: stowage: plans as JSON: " + err.Error())
	}
	return append(b, '\n')
}

func (f *savedPlans) digest() string {
	g := *f
	g.Digest = ""
	sum := sha256.Sum256(g.encode())
	return hex.EncodeToString(sum[:])
}

// readPlans reads a file that SavePlans has written; any other one is an error.
func readPlans(data []byte) (*savedPlans, error) {
	bad := func(format string, args ...any) (*savedPlans, error) {
		return nil, fmt.Errorf("stowage: saved plan: "+format, args...)
	}
	if len(data) > mostPlanBytes {
		return bad("got %d bytes, want at most %d", len(data), mostPlanBytes)
	}
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return bad("%w", err)
	}
	if head.Format != planFormat || head.Version != planVersion {
		return bad("got format %q, version %d, want %q, version %d", head.Format, head.Version, planFormat, planVersion)
	}
	f := &savedPlans{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(f); err != nil {
		return bad("%w", err)
	}
	if want := f.digest(); f.Digest != want {
		return bad("digest: got %q, want %q: the file has been damaged or edited", f.Digest, want)
	}
	// Whatever else JSON allows (fields twice, or left out) is not what has been written.
	if !bytes.Equal(f.encode(), data) {
		return bad("got other bytes than are written for the same plans")
	}
	return f, nil
}

// followPlans makes the session plan as Options.Plan says.
func (s *Session) followPlans() error {
	if s.opts.Plan == nil {
		return nil
	}
	f, err := readPlans(s.opts.Plan)
	if err != nil {
		return err
	}
	if err := f.For.differs(s.planFor()); err != nil {
		if s.opts.Replan {
			return nil
		}
		return err
	}
	if err := s.unit.Follow(f.Plans, s.opts.Replan); err != nil {
		return fmt.Errorf("stowage: %w", err)
	}
	return nil
}

// differs says in what a saved plan's model or options are not those of a session.
func (f savedFor) differs(now savedFor) error {
	for _, c := range []struct {
		what      string
		got, want any
		same      bool
	}{
		{"model", f.Model, now.Model, f.Model == now.Model},
		{"kernels", f.Kernels, now.Kernels, f.Kernels == now.Kernels},
		{"kernels left out", f.NoKernel, now.NoKernel, slices.Equal(f.NoKernel, now.NoKernel)},
		{"devices", f.Devices, now.Devices, slices.Equal(f.Devices, now.Devices)},
		{"host asked for", f.Host, now.Host, f.Host == now.Host},
		{"no fallback", f.NoFallback, now.NoFallback, f.NoFallback == now.NoFallback},
		{"threads", f.Threads, now.Threads, f.Threads == now.Threads},
		{"fuse rules left out", f.NoFuse, now.NoFuse, slices.Equal(f.NoFuse, now.NoFuse)},
		{"outputs", f.Outputs, now.Outputs, slices.Equal(f.Outputs, now.Outputs)},
		{"fixed dims", f.Fix, now.Fix, slices.Equal(f.Fix, now.Fix)},
		{"graph after simplifying and fusing", f.Graph, now.Graph, f.Graph == now.Graph},
	} {
		if !c.same {
			return fmt.Errorf("stowage: saved plan: %s: got one for %+v, want %+v: %w", c.what, c.got, c.want, ErrPlanChanged)
		}
	}
	return nil
}
