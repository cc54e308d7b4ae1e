package main

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/cmd/stowage/internal/npy"
	"github.com/stowage-ml/stowage/cmd/stowage/internal/picture"
	"github.com/stowage-ml/stowage/cmd/stowage/internal/values"
	"github.com/stowage-ml/stowage/tensor"
)

// runVerb runs a model once.
type runVerb struct {
	Model string `arg:"" help:"Model file, or -."`
	feedFlags
	tuning
	following
	tracing
	Dim    dims   `placeholder:"D=N,…" help:"Values of free dims."`
	Max    dims   `placeholder:"D=N,…" help:"Upper bounds of free dims."`
	Out    string `placeholder:"DIR" help:"Write every output to a file in DIR."`
	Format string `enum:"auto,npy,pb,json,png" default:"auto" help:"Format of --out: auto, npy, pb, json or png."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// Help explains the sources and the formats.
func (*runVerb) Help() string {
	return feedHelp + `

--format auto writes .npy, or .pb for types that .npy lacks; png writes outputs that look like pictures as
such, and the others as auto does.

` + traceHelp
}

// runOutput is one output in the JSON of run.
type runOutput struct {
	values.Summary
	// File is where the output was written, and Note how, when there was a choice.
	File string `json:"file,omitempty"`
	Note string `json:"note,omitempty"`
}

// runReport is the JSON of run.
type runReport struct {
	Outputs []runOutput `json:"outputs"`
}

// Run feeds the model, runs it, and shows or keeps what comes out.
func (v *runVerb) Run(e *env) error {
	m, err := e.load(v.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	in, err := v.feeds(e, m.Inputs(), v.Dim)
	if err != nil {
		return err
	}
	bar := e.progress("run", 0)
	o, err := v.follow(v.apply(&stowage.Options{Fix: v.Dim, Max: v.Max, Progress: bar.within()}))
	if err != nil {
		return err
	}
	write, err := v.record(o)
	if err != nil {
		return err
	}
	s, err := m.Open(o)
	if err != nil {
		return about(v.Model, write(err))
	}
	defer s.Close()
	out, err := s.Run(e.ctx, in)
	bar.done()
	if err := write(err); err != nil {
		return failed(about(v.Model, err))
	}
	r := runReport{Outputs: []runOutput{}}
	files := fileNames{}
	for _, info := range m.Outputs() {
		t := out[info.Name]
		if t == nil {
			continue
		}
		o := runOutput{Summary: values.Summarize(info.Name, t)}
		if v.Out != "" {
			if o.File, o.Note, err = keep(v.Out, files.of(info.Name), info.Name, t, v.Format); err != nil {
				return failed(err)
			}
		}
		r.Outputs = append(r.Outputs, o)
	}
	if v.JSON {
		return e.json(r)
	}
	for _, o := range r.Outputs {
		o.print(e)
	}
	return nil
}

func (o *runOutput) print(e *env) {
	e.printf("%s  %s%v\n", plain(o.Name), o.DType, o.Shape)
	if o.Min != "" {
		e.printf("  min %s  max %s  mean %.6g\n", o.Min, o.Max, o.Mean)
	}
	if o.NaNs > 0 || o.Infs > 0 {
		e.printf("  not finite: %d NaN, %d infinite\n", o.NaNs, o.Infs)
	}
	if n, _ := o.Shape.Elements(); n > 0 {
		more := ""
		if n > int64(len(o.First)) {
			more = " …"
		}
		e.printf("  values %s%s\n", strings.Join(o.First, " "), more)
	}
	if len(o.Top) > 0 {
		e.printf("  top")
		for _, s := range o.Top {
			e.printf("  [%d] %s", s.Index, s.Value)
		}
		e.printf("\n")
	}
	if o.File != "" {
		e.printf("  wrote %s%s\n", o.File, o.Note)
	}
}

// fileNames gives every name a file name of its own, also where case does not count.
type fileNames map[string]bool

// maxFileName is the longest file name made of an output's name, in bytes.
const maxFileName = 100

func (f fileNames) of(name string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, name)
	safe = safe[:min(len(safe), maxFileName)]
	if strings.Trim(safe, ".") == "" || safe[0] == '.' {
		safe = "_" + safe
	}
	unique := safe
	for n := 2; f[strings.ToLower(unique)]; n++ {
		unique = fmt.Sprintf("%s_%d", safe, n)
	}
	f[strings.ToLower(unique)] = true
	return unique
}

// keep writes a tensor to dir/base with the extension of its format, and returns the path and a
// note on how values were changed.
func keep(dir, base, name string, t *tensor.Tensor, format string) (path, note string, err error) {
	b, ext, note, err := encode(name, t, format)
	if err != nil {
		return "", "", fmt.Errorf("output %q: %w", name, err)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, base+"."+ext)
	return path, note, os.WriteFile(path, b, 0o666)
}

// encode writes a tensor in one of the formats of --format.
func encode(name string, t *tensor.Tensor, format string) (b []byte, ext, note string, err error) {
	if format == "png" {
		if img, black, white, ok := picture.Paint(t); ok {
			var buf bytes.Buffer
			err := png.Encode(&buf, img)
			return buf.Bytes(), format, fmt.Sprintf("  (%.6g is black, %.6g is white)", black, white), err
		}
		format = "auto"
	}
	if format == "auto" {
		format = "npy"
		if !npy.Holds(t.DType()) {
			format = "pb"
		}
	}
	switch format {
	case "npy":
		b, err = npy.Encode(t)
	case "pb":
		b = stowage.WriteTensor(name, t)
	case "json":
		b, err = values.EncodeJSON(name, t)
	default:
		panic("BUG: output format " + format)
	}
	return b, format, "", err
}
