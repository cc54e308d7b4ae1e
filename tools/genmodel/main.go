// Command genmodel writes a well-known network with seeded weights as an ONNX file:
//
//	go run ./genmodel -kind resnet50|mobilenetv2|minilm|big -o FILE [-seed N] [-opset N] [-bytes N] [-external]
//
// The same flags give the same bytes. With -external the weights go to FILE.data.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stowage-ml/stowage/internal/testkit"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run returns the exit status: 0 good, 1 the file cannot be written, 2 bad usage.
func run(args []string, stderr io.Writer) int {
	fs := flag.NewFlagSet("genmodel", flag.ContinueOnError)
	fs.SetOutput(stderr)
	kind := fs.String("kind", "", "resnet50, mobilenetv2, minilm or big")
	out := fs.String("o", "", "the `file` to write")
	seed := fs.Uint64("seed", 1, "the weights' seed")
	opset := fs.Int64("opset", 17, "minilm: the operator set, 13 to 17")
	size := fs.Int64("bytes", 2_800_000_000, "big: the weights' bytes")
	external := fs.Bool("external", false, "put the weights in a file of their own")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	m, err := build(*kind, *seed, *opset, *size)
	if err == nil && (*out == "" || fs.NArg() > 0) {
		err = fmt.Errorf("genmodel: output: got -o %q and %d further arguments, want a file and no more", *out, fs.NArg())
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	if *external {
		m.External = filepath.Base(*out) + ".data"
	}
	if err := m.Save(*out); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func build(kind string, seed uint64, opset, size int64) (*testkit.Model, error) {
	switch kind {
	case "resnet50":
		return testkit.ResNet50(seed), nil
	case "mobilenetv2":
		return testkit.MobileNetV2(seed), nil
	case "minilm":
		if opset < 13 || opset > 17 {
			return nil, fmt.Errorf("genmodel: operator set: got %d, want 13 to 17", opset)
		}
		return testkit.MiniLM(opset, seed), nil
	case "big":
		if size < 4096 {
			return nil, fmt.Errorf("genmodel: weights: got %d bytes, want at least 4096", size)
		}
		return testkit.Big(size, seed), nil
	}
	return nil, fmt.Errorf("genmodel: kind %q: want resnet50, mobilenetv2, minilm or big", kind)
}
