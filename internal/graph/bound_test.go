package graph

import "testing"

func TestNonNegative(t *testing.T) {
	b, s := Sym("b"), Sym("s")
	for _, c := range []struct {
		d    Dim
		want bool
	}{
		{Known(0), true}, {Known(-1), false}, {b, true}, {Unknown(), false}, {b.Add(s), true}, {b.Mul(Known(4)), true},
		{b.Sub(Known(1)), false}, {b.Mul(Known(-1)), false}, {b.Div(Known(2)), true}, {b.Sub(Known(1)).Max(Known(0)), true},
		{b.Sub(Known(1)).Min(s), false}, {b.Min(s), true},
	} {
		if got := c.d.NonNegative(); got != c.want {
			t.Errorf("%v: got %v, want %v", c.d, got, c.want)
		}
	}
}

func TestEvalDividesByZeroIntoUnknown(t *testing.T) {
	d := Sym("a").Div(Sym("b"))
	if n, ok := d.Eval(map[string]int64{"a": 4, "b": 0}); ok {
		t.Errorf("got %d, want no number", n)
	}
	if n, ok := d.Eval(map[string]int64{"a": 4, "b": 2}); !ok || n != 2 {
		t.Errorf("got %d, %v, want 2", n, ok)
	}
}
