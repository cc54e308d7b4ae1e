package graph

import (
	"math"
	"testing"
)

func TestDimArithmeticSimplifies(t *testing.T) {
	k, n, m := Known, Sym("n"), Sym("m")
	for _, c := range []struct {
		got  Dim
		want string
	}{
		{k(3).Add(k(4)), "7"},
		{n.Add(k(0)), "n"},
		{n.Add(k(2)).Add(k(3)), "n+5"},
		{k(2).Add(n), "n+2"},
		{n.Add(k(2)).Sub(k(2)), "n"},
		{n.Add(m).Sub(n), "m"},
		{n.Add(m).Sub(m), "n"},
		{n.Sub(n), "0"},
		{n.Sub(k(1)), "n-1"},
		{n.Mul(k(1)), "n"},
		{n.Mul(k(0)), "0"},
		{n.Mul(k(2)).Mul(k(3)), "n*6"},
		{n.Mul(k(6)).Div(k(2)), "n*3"},
		{n.Mul(m).Div(m), "n"},
		{n.Mul(m).Div(n), "m"},
		{n.Div(n), "1"},
		{n.Div(k(0)), "?"},
		{k(-7).Div(k(2)), "-4"},
		{k(7).CeilDiv(k(2)), "4"},
		{n.CeilDiv(k(2)), "(n+1)/2"},
		{n.Min(n), "n"},
		{k(3).Max(k(5)), "5"},
		{n.Max(k(5)), "max(n,5)"},
		{n.Add(Unknown()), "?"},
		{k(math.MaxInt64).Add(k(1)), "9223372036854775807"},
		{k(math.MaxInt64).Mul(k(2)), "9223372036854775807"},
		{k(math.MaxInt64).Mul(k(-2)), "-9223372036854775807"},
		{k(-math.MaxInt64).Add(k(-5)), "-9223372036854775807"},
	} {
		if got := c.got.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestSameIsOnlyWhatIsKnownToBe(t *testing.T) {
	n := Sym("n")
	for _, c := range []struct {
		a, b Dim
		same bool
	}{
		{Known(2), Known(2), true}, {Known(2), Known(3), false}, {n, Sym("n"), true}, {n, Sym("m"), false},
		{n, Known(2), false}, {Unknown(), Unknown(), false}, {n.Add(Known(1)), Sym("n").Add(Known(1)), true},
		{Sym("n*2"), n.Mul(Known(2)), false},
	} {
		if c.a.Same(c.b) != c.same {
			t.Errorf("%v and %v: got %v, want %v", c.a, c.b, !c.same, c.same)
		}
	}
	u := Unknown()
	if u.Same(u) {
		t.Error("an unknown dim is the same as itself")
	}
}

// Expressions must have the value that arithmetic on numbers has.
func TestEvalAgreesWithNumbers(t *testing.T) {
	type op struct {
		name string
		f    func(a, b Dim) Dim
	}
	ops := []op{{"+", Dim.Add}, {"-", Dim.Sub}, {"*", Dim.Mul}, {"/", Dim.Div}, {"min", Dim.Min}, {"max", Dim.Max},
		{"ceil", Dim.CeilDiv}}
	atoms := []Dim{Sym("a"), Sym("b"), Known(0), Known(1), Known(2), Known(6)}
	bind := map[string]int64{"a": 5, "b": 12}
	value := func(d Dim) Dim {
		n, ok := d.Eval(bind)
		if !ok {
			return Unknown()
		}
		return Known(n)
	}
	for _, f := range ops {
		for _, g := range ops {
			for _, x := range atoms {
				for _, y := range atoms {
					for _, z := range atoms {
						got, want := value(g.f(f.f(x, y), z)), g.f(f.f(value(x), value(y)), value(z))
						if !got.IsUnknown() && !want.IsUnknown() && !got.Same(want) {
							t.Fatalf("(%v %s %v) %s %v: got %v, want %v", x, f.name, y, g.name, z, got, want)
						}
					}
				}
			}
		}
	}
	if _, ok := Sym("q").Eval(bind); ok {
		t.Error("an unbound name has a value")
	}
}

func TestShapesPrintAndCount(t *testing.T) {
	s := Shape{Sym("n"), Known(3), Unknown()}
	if got := s.String(); got != "[n,3,?]" {
		t.Errorf("got %s", got)
	}
	if _, ok := s.Concrete(); ok || Shape(nil).String() != "[...]" || !Shape(nil).Elements().IsUnknown() {
		t.Error("an unknown shape is taken for a known one")
	}
	if c, ok := Of(2, 3).Concrete(); !ok || c.String() != "[2,3]" || !Of(2, 3).Elements().Is(6) {
		t.Errorf("got %v, %v", c, ok)
	}
	if j := Join(Shape{}, Shape{}); j == nil || len(j) != 0 {
		t.Errorf("joined scalars: got %v, want a scalar", j)
	}
}
