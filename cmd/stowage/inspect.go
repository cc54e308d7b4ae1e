package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stowage-ml/stowage"
)

// inspectVerb says what a model is. It reads no weights.
type inspectVerb struct {
	Model string `arg:"" help:"Model file, or -."`
	JSON  bool   `name:"json" help:"Print JSON."`
}

// port is an input or an output, in JSON.
type port struct {
	Name  string        `json:"name"`
	DType string        `json:"dtype"`
	Dims  []stowage.Dim `json:"dims"`
}

// inspectReport is the JSON of inspect.
type inspectReport struct {
	Meta    stowage.Meta `json:"meta"`
	Inputs  []port       `json:"inputs"`
	Outputs []port       `json:"outputs"`
	// FreeDims lists the names that --dim and --max take.
	FreeDims []string `json:"free_dims"`
	// Ops counts the operators in order of name, Nodes all together.
	Ops   []stowage.OpCount `json:"ops"`
	Nodes int               `json:"nodes"`
	// Unsupported lists every node that keeps the model from running; Runnable is true when
	// there is none.
	Unsupported []stowage.Unsupported `json:"unsupported"`
	Runnable    bool                  `json:"runnable"`
	WeightBytes int64                 `json:"weight_bytes"`
	Warnings    []string              `json:"warnings"`
}

// Run prints what the file says, and what of it cannot run. A model that cannot run is not an
// error here.
func (v *inspectVerb) Run(e *env) error {
	m, err := e.load(v.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	r := inspect(m)
	if v.JSON {
		return e.json(r)
	}
	r.print(e, m)
	return nil
}

func inspect(m *stowage.Model) inspectReport {
	r := inspectReport{
		Meta: m.Meta(), Inputs: ports(m.Inputs()), Outputs: ports(m.Outputs()), FreeDims: append([]string{}, m.FreeDims()...),
		Ops: append([]stowage.OpCount{}, m.Ops()...), Unsupported: append([]stowage.Unsupported{}, m.Unsupported()...),
		WeightBytes: m.WeightBytes(), Warnings: append([]string{}, m.Warnings()...),
	}
	for _, o := range r.Ops {
		r.Nodes += o.Count
	}
	r.Runnable = len(r.Unsupported) == 0
	return r
}

func ports(infos []stowage.Info) []port {
	out := make([]port, len(infos))
	for i, info := range infos {
		out[i] = port{info.Name, info.DType.String(), append([]stowage.Dim{}, info.Dims...)}
	}
	return out
}

func (r *inspectReport) print(e *env, m *stowage.Model) {
	line := func(what, text string) {
		if text != "" {
			e.printf("%-9s %s\n", what, plain(text))
		}
	}
	line("graph", r.Meta.Graph)
	line("producer", strings.TrimSpace(r.Meta.Producer+" "+r.Meta.ProducerVersion))
	line("ir", fmt.Sprint(r.Meta.IR))
	var opsets []string
	for _, domain := range slices.Sorted(maps.Keys(r.Meta.Opsets)) {
		name := domain
		if name == "" {
			name = "ai.onnx"
		}
		opsets = append(opsets, fmt.Sprintf("%s %d", name, r.Meta.Opsets[domain]))
	}
	line("opset", strings.Join(opsets, ", "))
	for _, key := range slices.Sorted(maps.Keys(r.Meta.Custom)) {
		line("custom", fmt.Sprintf("%s = %.60q", key, r.Meta.Custom[key]))
	}
	line("weights", bytesText(r.WeightBytes))
	for _, info := range m.Inputs() {
		line("input", fmt.Sprintf("%s  %s", info.Name, describe(info)))
	}
	for _, info := range m.Outputs() {
		line("output", fmt.Sprintf("%s  %s", info.Name, describe(info)))
	}
	var ops []string
	for _, o := range r.Ops {
		ops = append(ops, fmt.Sprintf("%s×%d", o.Op, o.Count))
	}
	line("nodes", fmt.Sprint(r.Nodes))
	line("operators", strings.Join(ops, " "))
	for _, w := range r.Warnings {
		line("warning", w)
	}
	for _, u := range r.Unsupported {
		line("cannot", u.String())
	}
	if r.Runnable {
		line("runs", "yes")
	} else {
		line("runs", fmt.Sprintf("no: %d nodes are not supported", len(r.Unsupported)))
	}
}

// bytesText gives a size in bytes, and in the largest unit of 1024 that it fills.
func bytesText(n int64) string {
	const units = "KMGTPE"
	size, unit := float64(n), -1
	for size >= 1024 && unit < len(units)-1 {
		size /= 1024
		unit++
	}
	if unit < 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%d B (%.1f %ciB)", n, size, units[unit])
}
