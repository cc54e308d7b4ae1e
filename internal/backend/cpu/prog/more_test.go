package prog

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// replace gives the shapes in a text.
func replace(text string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		text = strings.ReplaceAll(text, "["+pairs[i]+"]", "["+pairs[i+1]+"]")
	}
	for _, word := range []string{" in ", " out ", " a = ", " b = ", " c = ", " d = ", " e = ", " f = ", " g = ", " h = ",
		" i = ", " l = ", " n = ", " s = ", " u = ", " y = "} {
		text = strings.ReplaceAll(text, word, "\n"+word[1:])
	}
	return text
}

func parseShape(t *testing.T, text string) tensor.Shape {
	t.Helper()
	var s tensor.Shape
	for _, f := range strings.Split(text, ",") {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		s = append(s, n)
	}
	return s
}

func TestClampTakesOutALeadingLimit(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		text   string
		lo, hi float32
		steps  int
	}{
		{`in x: float32[2,3,4] a = Neg@22(x) y = Relu@22(a) out y`, 0, inf, 0},
		{`in x: float32[2,3,4] a = Neg@22(x) y = Clip@6(a; max=6.0, min=0.0) out y`, 0, 6, 0},
		{`in x: float32[2,3,4] a = Neg@22(x) s = Relu@22(a) y = Exp@22(s) out y`, 0, inf, 1},
		{`in x: float32[2,3,4] a = Neg@22(x) s = Relu@22(a) y = Mul@22(s, a) out y`, -inf, inf, 2},
		{`in x: float32[2,3,4] a = Neg@22(x) s = Exp@22(a) y = Relu@22(s) out y`, -inf, inf, 2},
		{`in x: float32[2,3,4] a = Neg@22(x) out a`, -inf, inf, 0},
	} {
		g := newGroup(t, replace(c.text))
		p, ok := Compile(simd.Generic, g.op, g.body.Nodes[0], 1)
		if !ok {
			t.Fatal("got no program")
		}
		lo, hi, rest := p.Clamp()
		steps := 0
		got := slices.Clone(floatsOf(g.values[g.body.Nodes[0].Outputs[0]]))
		for i, v := range got {
			got[i] = min(max(v, lo), hi)
		}
		if rest != nil {
			steps = len(rest.steps)
			rest.Run(g.call, &Tile{Data: got}, make([]float32, rest.Scratch()))
		}
		if lo != c.lo || hi != c.hi || steps != c.steps {
			t.Errorf("%s: got %v, %v, %d steps, want %v, %v, %d", c.text, lo, hi, steps, c.lo, c.hi, c.steps)
		}
		compare(t, c.text, got, floatsOf(g.values[g.body.Outputs[0]]))
	}
}

func TestCompileRefusesWhatIsNoElementwiseChain(t *testing.T) {
	for _, text := range []string{
		`in x: float32[2,3,4] a = Neg@22(x) y = Transpose@22(a; perm=[1, 0, 2]) out y`,
		`in x: float32[2,3,4] in r: float32[3,4] a = Neg@22(x) y = Add@22(a, r) out y`,
		`in x: float32[2,3,4] in r: float32[4] a = Neg@22(x) y = Add@22(a, r) out y`,
		`in x: float32[1,3,4] in r: float32[2,3,4] a = Neg@22(x) y = Add@22(a, r) out y`,
		`in x: float32[2,3,4] b = Exp@22(x) a = Neg@22(x) y = Add@22(a, b) out y`,
		`in x: float32[2,3,4] a = Neg@22(x) y = Softmax@22(a) out y`,
	} {
		g := newGroup(t, replace(text))
		anchor := g.body.Nodes[len(g.body.Nodes)-2]
		if _, ok := Compile(simd.Generic, g.op, anchor, 1); ok {
			t.Errorf("%s: got a program, want none", text)
		}
	}
}

func TestRunsHaveOperandsOfTheirOwn(t *testing.T) {
	g := newGroup(t, replace(`in x: float32[6,1] in r: float32[6,40] in kd: float32[]
		 a = Sub@22(x, r) b = Mul@22(a, x) y = Div@22(kd, b) out y`))
	p, ok := Runs(simd.Best(), g.op, []bool{true, false, true})
	if !ok {
		t.Fatal("got no program")
	}
	want := floatsOf(g.values[g.body.Outputs[0]])
	got, scratch := make([]float32, len(want)), make([]float32, p.Scratch())
	x, y := floatsOf(g.values[g.body.Inputs[0]]), floatsOf(g.values[g.body.Inputs[1]])
	for row := range 6 {
		p.RunOn(got[row*40:][:40], &Operands{x[row:], y[row*40:]}, scratch)
	}
	compare(t, "runs", got, want)
	n := testing.AllocsPerRun(10, func() {
		in := Borrow()
		in[0], in[1] = x, y
		p.RunOn(got[:40], in, scratch)
		Return(in)
	})
	if n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
