// Command bench compares Stowage with ONNX Runtime on the same models and inputs:
//
//	go -C bench run . [models|families|kernels|opening] [--only NAMES] [--runs N] [--threads N] [--md FILE] [--json FILE]
//
// It needs ONNX Runtime's shared library, which scripts/fetch-ort.sh fetches.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stowage-ml/stowage/bench/engine"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// config is what the command line asks for.
type config struct {
	models  string
	only    []string
	runs    int
	threads int
	budget  time.Duration
	fast    bool
	md      string
	json    string

	progress io.Writer
}

func run(args []string, stdout, stderr io.Writer) error {
	verb := "models"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	switch verb {
	case "child":
		return child(args, stdout)
	case "opening-child":
		return openingChild(args, stdout)
	}
	c, err := parse(args, stderr)
	if err != nil {
		return err
	}
	var r report
	switch verb {
	case "models":
		r, err = compareModels(c, cases)
	case "families":
		r, err = compareModels(c, func(c *config) ([]*engine.Spec, error) { return generated(c, families()) })
	case "kernels":
		r, err = compareKernels(c)
	case "opening":
		r, err = compareOpening(c)
	default:
		return fmt.Errorf("verb %q: want models, families, kernels or opening", verb)
	}
	if err != nil {
		return err
	}
	return r.write(c, stdout)
}

func parse(args []string, stderr io.Writer) (*config, error) {
	c := &config{progress: stderr}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&c.models, "models", "", "`folder` of models, each with model.onnx and test_data_set_0 "+
		"(models of STOWAGE_TESTDATA, which is ../shared beside the repository)")
	only := fs.String("only", "", "comma-separated `names`, or parts of them: only these")
	fs.IntVar(&c.runs, "runs", 21, "timed runs of each engine")
	fs.IntVar(&c.threads, "threads", 2, "threads of the second table of wall times; 1 leaves it out")
	fs.DurationVar(&c.budget, "budget", 20*time.Second, "time for one model, after which fewer runs must do")
	fs.BoolVar(&c.fast, "fast", false, "only the CPU times: neither threads, memory nor cold starts")
	fs.StringVar(&c.md, "md", "", "also write the table to a `file`")
	fs.StringVar(&c.json, "json", "", "write the figures to a `file` as JSON")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if c.runs < 1 || c.threads < 1 || fs.NArg() > 0 {
		return nil, fmt.Errorf("got --runs %d, --threads %d and %q, want at least 1 and no arguments",
			c.runs, c.threads, fs.Args())
	}
	if *only != "" {
		c.only = strings.Split(*only, ",")
	}
	if c.models == "" {
		c.models = testData()
	}
	return c, nil
}

// wants reports whether --only lets a name through.
func (c *config) wants(name string) bool {
	for _, part := range c.only {
		if strings.Contains(name, part) {
			return true
		}
	}
	return len(c.only) == 0
}

// testData returns the folder of the shared models, seen from the module or the repository.
func testData() string {
	if dir := os.Getenv("STOWAGE_TESTDATA"); dir != "" {
		return filepath.Join(dir, "models")
	}
	for _, dir := range []string{"../../shared", "../shared"} {
		if _, err := os.Stat(filepath.Join(dir, "models")); err == nil {
			return filepath.Join(dir, "models")
		}
	}
	return ""
}
