package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/cmd/stowage/internal/npy"
	"github.com/stowage-ml/stowage/cmd/stowage/internal/picture"
	"github.com/stowage-ml/stowage/cmd/stowage/internal/values"
	"github.com/stowage-ml/stowage/tensor"
)

// feedFlags are the flags that say what a model's inputs are.
type feedFlags struct {
	Input []string `sep:"none" placeholder:"[NAME=]SOURCE" help:"What to feed an input; may be repeated."`
	Seed  uint64   `default:"1" help:"Seed of random inputs."`

	ImageScale float64   `placeholder:"S" help:"Factor for channel values of 0..255 (1/255 for floats, 1 for uint8)."`
	ImageMean  []float64 `placeholder:"M,…" help:"Subtracted after scaling: one number, or one per channel."`
	ImageStd   []float64 `placeholder:"D,…" help:"Divides after that: one number, or one per channel."`
	BGR        bool      `name:"bgr" help:"Swap red and blue."`
}

// feedHelp explains --input.
const feedHelp = `An input's SOURCE is a file (.npy, .pb, .json, .png, .jpg, or - for standard input), a JSON value such
as 16000 or [[1,2]], or random or zeros, optionally with a shape as in random:1x3x64x64. A SOURCE
without NAME= feeds the one input that is left; random and zeros feed all that are left. Pictures go to
inputs that look like one: [1,]C×H×W or [1,]H×W×C with 1, 3 or 4 channels. Fixed sizes resize the picture;
a free size is the picture's own, unless --dim gives it.`

// feeder makes the inputs of one run.
type feeder struct {
	*feedFlags
	e     *env
	infos []stowage.Info
	// dims holds the extents known of free dims: those given, then those of inputs already made.
	dims dims
	out  map[string]*tensor.Tensor
	// pool holds random inputs of other runs, whose memory smaller ones share; nil for none.
	pool map[string]*tensor.Tensor
}

// feeds makes every input: those that --input names first, since they tell the others' free dims.
func (f *feedFlags) feeds(e *env, infos []stowage.Info, given dims) (map[string]*tensor.Tensor, error) {
	return f.feeder(e, infos, given).all()
}

func (f *feedFlags) feeder(e *env, infos []stowage.Info, given dims) *feeder {
	w := &feeder{feedFlags: f, e: e, infos: infos, dims: dims{}, out: map[string]*tensor.Tensor{}}
	maps.Copy(w.dims, given)
	return w
}

func (w *feeder) all() (map[string]*tensor.Tensor, error) {
	var unnamed []string
	for _, arg := range w.Input {
		info, source, err := w.split(arg)
		if err != nil {
			return nil, err
		}
		if info == nil {
			unnamed = append(unnamed, source)
			continue
		}
		if w.out[info.Name] != nil {
			return nil, fmt.Errorf("input %q: got two sources, want one", info.Name)
		}
		if err := w.feed(*info, source); err != nil {
			return nil, err
		}
	}
	for _, source := range unnamed {
		if err := w.rest(source); err != nil {
			return nil, err
		}
	}
	return w.out, w.missing()
}

// split finds the input that NAME=SOURCE names; nil when there is no name. An input's name may
// hold '=', so the longest one that fits is taken.
func (w *feeder) split(arg string) (*stowage.Info, string, error) {
	var best *stowage.Info
	for i := range w.infos {
		if info := &w.infos[i]; strings.HasPrefix(arg, info.Name+"=") && (best == nil || len(best.Name) < len(info.Name)) {
			best = info
		}
	}
	if best != nil {
		return best, arg[len(best.Name)+1:], nil
	}
	name, _, named := strings.Cut(arg, "=")
	if _, err := os.Stat(arg); named && err != nil {
		return nil, "", fmt.Errorf("input %q: got no such input, want one of %s", name, w.list(w.infos))
	}
	return nil, arg, nil
}

func (w *feeder) list(infos []stowage.Info) string {
	names := make([]string, len(infos))
	for i, info := range infos {
		names[i] = fmt.Sprintf("%s %s", info.Name, describe(info))
	}
	return strings.Join(names, ", ")
}

// left lists the inputs that are not fed yet.
func (w *feeder) left() []stowage.Info {
	var left []stowage.Info
	for _, info := range w.infos {
		if w.out[info.Name] == nil {
			left = append(left, info)
		}
	}
	return left
}

// rest feeds what is left from a source without a name.
func (w *feeder) rest(source string) error {
	left := w.left()
	if kind, _, _ := strings.Cut(source, ":"); len(left) != 1 && kind != "random" && kind != "zeros" {
		return fmt.Errorf("input %q: got no name for it, want NAME=SOURCE with one of %s", source, w.list(left))
	}
	for _, info := range left {
		if err := w.feed(info, source); err != nil {
			return err
		}
	}
	return nil
}

func (w *feeder) missing() error {
	left := w.left()
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("inputs: got no source for %s; want --input NAME=FILE, NAME=random or NAME=zeros for each, "+
		"or --input random for all", w.list(left))
}

// feed makes one input.
func (w *feeder) feed(info stowage.Info, source string) error {
	t, err := w.make(info, source)
	if err == nil {
		err = fits(info, t)
	}
	if err != nil {
		return fmt.Errorf("input %q: %w", info.Name, err)
	}
	w.out[info.Name] = t
	w.dims.learn(info, t)
	return nil
}

func (w *feeder) make(info stowage.Info, source string) (*tensor.Tensor, error) {
	kind, text, given := strings.Cut(source, ":")
	if kind == "random" || kind == "zeros" {
		shape := shapeOf(info, w.dims)
		if given {
			var err error
			if shape, err = parseShape(text); err != nil {
				return nil, err
			}
		}
		if kind == "zeros" {
			return values.Zeros(info.DType, shape)
		}
		return w.random(info, shape)
	}
	if _, err := os.Stat(source); err != nil && source != "-" && looksLikeJSON(source) {
		return values.DecodeJSON([]byte(source), info.DType)
	}
	b, err := w.e.read(source)
	if err != nil {
		return nil, err
	}
	t, err := w.decode(info, source, b)
	if source == "-" {
		source = "standard input"
	}
	return t, about(source, err)
}

// random makes a random input, over the memory of a larger one when the pool has it.
func (w *feeder) random(info stowage.Info, shape tensor.Shape) (*tensor.Tensor, error) {
	n, ok := shape.Elements()
	size, fits := info.DType.ByteSize(n)
	if p := w.pool[info.Name]; ok && fits && p != nil && p.DType() != tensor.String && size <= int64(len(p.Bytes())) {
		return tensor.FromBytes(info.DType, shape, p.Bytes()[:size])
	}
	t, err := values.Random(info.Name, info.DType, shape, w.Seed)
	if err == nil && w.pool != nil {
		w.pool[info.Name] = t
	}
	return t, err
}

// looksLikeJSON reports whether a source starts as a JSON number, array, string or truth value.
func looksLikeJSON(s string) bool {
	return s == "true" || s == "false" || s != "" && strings.ContainsRune("-0123456789[\"{", rune(s[0]))
}

func parseShape(s string) (tensor.Shape, error) {
	shape := tensor.Shape{}
	for part := range strings.SplitSeq(s, "x") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("shape %q: got %q, want extents such as 1x3x64x64", s, part)
		}
		shape = append(shape, n)
	}
	return shape, nil
}

// decode reads a file by what it starts with; only JSON is told by its name, or by its start when
// it has none.
func (w *feeder) decode(info stowage.Info, name string, b []byte) (*tensor.Tensor, error) {
	switch {
	case bytes.HasPrefix(b, []byte(npy.Magic)):
		return npy.Decode(b)
	case bytes.HasPrefix(b, []byte("\x89PNG")), bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		return w.picture(info, b)
	case strings.HasSuffix(name, ".json"), name == "-" && looksLikeJSON(string(bytes.TrimSpace(b[:min(len(b), 64)]))):
		return values.DecodeJSON(b, info.DType)
	case strings.HasSuffix(name, ".pb"), name == "-":
		_, t, err := stowage.ReadTensor(b)
		return t, err
	}
	return nil, errors.New("got a file of unknown kind, want .npy, .pb, .json, .png or .jpg")
}

func (w *feeder) picture(info stowage.Info, b []byte) (*tensor.Tensor, error) {
	extents := make([]int64, len(info.Dims))
	for i, d := range info.Dims {
		extents[i] = d.Size
		if n, ok := w.dims[d.Name]; ok && d.Size < 0 && d.Name != "" {
			extents[i] = n
		}
	}
	l, ok := picture.LayoutOf(extents)
	if !ok {
		return nil, fmt.Errorf("got a picture, want dims that look like one: %s does not", describe(info))
	}
	img, err := picture.Decode(b)
	if err != nil {
		return nil, err
	}
	return picture.Tensor(img, l, info.DType, picture.Options{
		Scale: w.ImageScale, Mean: w.ImageMean, Std: w.ImageStd, BGR: w.BGR,
	})
}

// fits reports how a tensor differs from what an input declares.
func fits(info stowage.Info, t *tensor.Tensor) error {
	ok := t.DType() == info.DType && (info.Dims == nil || len(info.Dims) == len(t.Shape()))
	for i := range info.Dims {
		ok = ok && (info.Dims[i].Size < 0 || info.Dims[i].Size == t.Shape()[i])
	}
	if !ok {
		return fmt.Errorf("got %v, want %s", t, describe(info))
	}
	return nil
}
