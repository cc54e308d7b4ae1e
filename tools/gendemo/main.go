// Command gendemo draws the picture and builds the model that `stowage demo` has inside it:
//
//	go run ./gendemo [-o FOLDER]
//
// It writes demo.png and demo.onnx to the folder, which is that of the package demodata when it
// is run in the folder of the tools.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run returns the exit status: 0 good, 1 the files cannot be written, 2 bad usage.
func run(args []string, stderr io.Writer) int {
	fs := flag.NewFlagSet("gendemo", flag.ContinueOnError)
	fs.SetOutput(stderr)
	dir := fs.String("o", filepath.Join("..", "cmd", "stowage", "demodata"), "the `folder` to write to")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if err := write(*dir); err != nil {
		fmt.Fprintln(stderr, "gendemo:", err)
		return 1
	}
	return 0
}

func write(dir string) error {
	var b bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	if err := enc.Encode(&b, scene()); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "demo.png"), b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "demo.onnx"), model().Bytes(), 0o644)
}
