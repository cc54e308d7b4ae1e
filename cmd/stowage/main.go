// Command stowage looks at, plans, runs, tests and times ONNX models. Each verb is one file; it
// knows of models only what package stowage tells.
//
// Exit status: 0 good, 1 the work failed, 2 bad usage or bad input. An error is one line on
// standard error.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// verbs lists what the program can do.
type verbs struct {
	Demo      demoVerb      `cmd:"" help:"Run a built-in model on a built-in picture: plan, run, report. Needs nothing."`
	Inspect   inspectVerb   `cmd:"" help:"Say what a model is: inputs, outputs, operators, and what cannot run."`
	Plan      planVerb      `cmd:"" help:"Say what a run will do, step by step, and where every byte will be."`
	Run       runVerb       `cmd:"" help:"Run a model once, and show or keep its outputs."`
	Arena     arenaVerb     `cmd:"" help:"Place buffers in memory: sizes and lifetimes in, offsets out."`
	Place     placeVerb     `cmd:"" help:"Decide on which device each node of a graph runs, given what all costs."`
	Test      testVerb      `cmd:"" help:"Compare models with reference outputs in ONNX's test layout."`
	Bench     benchVerb     `cmd:"" help:"Time a model, and measure its memory."`
	Devices   devicesVerb   `cmd:"" help:"List what can run kernels, and how fast it is."`
	Calibrate calibrateVerb `cmd:"" help:"Time every kernel that could run a model's steps, for plans to rest on."`
	Version   versionVerb   `cmd:"" help:"Say which build this is."`
}

const (
	exitGood   = 0
	exitFailed = 1
	exitUsage  = 2
)

// failure is an error of the work itself, not of its input: it exits with status 1.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// failed marks err, if there is one, as an error of the work itself.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return failure{err}
}

// leave is the panic by which the parser ends the program after printing help.
type leave int

// run executes one command line, and returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		if r := recover(); r != nil {
			status, ok := r.(leave)
			if !ok {
				panic(r)
			}
			code = int(status)
		}
	}()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := dispatch(args, &env{args: args, ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr})
	if err == nil {
		return exitGood
	}
	fmt.Fprintln(stderr, errorLine(err))
	if _, ok := errors.AsType[failure](err); ok {
		return exitFailed
	}
	return exitUsage
}

// errorLine gives an error as one line that starts with the program's name, once.
func errorLine(err error) string {
	lines := strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	return "stowage: " + strings.ReplaceAll(strings.TrimPrefix(plain(lines), "stowage: "), ": stowage: ", ": ")
}

// plain replaces control characters, which names in files may have and terminals obey.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '·'
		}
		return r
	}, s)
}

func dispatch(args []string, e *env) error {
	var v verbs
	parser, err := kong.New(&v,
		kong.Name("stowage"),
		kong.Description("Runs ONNX models, in memory that is known before the first run. A file named - is standard input."),
		kong.Writers(e.stdout, e.stderr),
		kong.Exit(func(code int) { panic(leave(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		panic("BUG: command line: " + err.Error())
	}
	if len(args) == 0 {
		return errors.New("got no verb, want one: stowage --help lists them")
	}
	k, err := parser.Parse(joined(args))
	if err != nil {
		return err
	}
	if err := k.Run(e); err != nil {
		return err
	}
	return failed(e.flush())
}

// joined ties negative numbers to the flags before them, which would be taken for flags themselves.
func joined(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			return append(out, args[i:]...)
		}
		if strings.HasPrefix(a, "--") && !strings.Contains(a, "=") && i+1 < len(args) && negative(args[i+1]) {
			i++
			a += "=" + args[i]
		}
		out = append(out, a)
	}
	return out
}

func negative(s string) bool { return len(s) > 1 && s[0] == '-' && s[1] >= '0' && s[1] <= '9' }
