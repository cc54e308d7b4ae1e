package plan

import (
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/tensor"
)

// TestVerifyFindsWhatIsNotThere spoils a good plan in one way at a time.
func TestVerifyFindsWhatIsNotThere(t *testing.T) {
	slot := func(c *compiler, name string) *Slot {
		for i := range c.stage.Slots {
			if s := &c.stage.Slots[i]; c.name(s.Value) == name {
				return s
			}
		}
		t.Fatalf("no slot %s", name)
		return nil
	}
	for _, c := range []struct {
		name, want string
		spoil      func(c *compiler)
	}{
		{"nothing", "", func(*compiler) {}},
		{"a value on another that is read later", "lies over input", func(c *compiler) {
			slot(c, "c").Offset = slot(c, "ab").Offset
		}},
		{"a part that is not where the whole has it", "are not there", func(c *compiler) {
			slot(c, "b").Offset += 128
			c.stage.Memory.Arena += 128
		}},
		{"a part of a split that is not in the whole", "are not there", func(c *compiler) {
			slot(c, "r").Offset -= 16
		}},
		{"an order in which nobody has made what is read", "are not there", func(c *compiler) {
			s := c.stage.Steps
			s[0], s[2] = s[2], s[0]
		}},
		{"in place at another offset", "lies over input", func(c *compiler) { slot(c, "d").Offset += 8 }},
		{"scratch memory over an input", "scratch: lies over input", func(c *compiler) {
			c.stage.Steps[2].ScratchOffset, c.stage.Steps[2].ScratchBytes = slot(c, "ab").Offset, 8
		}},
		{"scratch memory over the output", "lies over scratch memory", func(c *compiler) {
			c.stage.Steps[2].ScratchOffset, c.stage.Steps[2].ScratchBytes = slot(c, "c").Offset, 8
		}},
		{"outside of the arena", "is not in the arena", func(c *compiler) { c.stage.Memory.Arena-- }},
	} {
		u, f := unit(t, `graph "g" {
			in x: float32[n]
			a = Relu@13(x)
			b = Neg@13(x)
			ab = Concat@13(a, b; axis=0)
			c = Abs@13(ab)
			d = Neg@13(c)
			l, r = Split@18(ab; axis=0, num_outputs=2)
			s = ReduceSum@13(r; keepdims=0)
			m = ReduceSum@13(d; keepdims=0)
			q = ReduceSum@13(l; keepdims=0)
			v = Add@13(s, m)
			y = Add@13(v, q)
			out y
		}`, Limits{}, four)
		k, err := u.compile(u.Entry, f, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		c.spoil(k)
		switch err := k.verify(); {
		case c.want == "" && err != nil:
			t.Errorf("%s: got error %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got error %v, want %q", c.name, err, c.want)
		}
	}
}

// asked notes that a kernel has been asked for.
type asked struct {
	ref.Backend
	n *int
}

func (b asked) Candidates(o *backend.Op) ([]backend.Candidate, error) {
	*b.n++
	return b.Backend.Candidates(o)
}

// TestKernelsOfWhatIsTooLargeAreNotAskedFor bounds the memory of a run below one value that it makes.
func TestKernelsOfWhatIsTooLargeAreNotAskedFor(t *testing.T) {
	u, f := unit(t, `graph "g" {
		const s = int64[1] [1000000000]
		in x: float32[4]
		a = Tile@13(x, s)
		y = ReduceSum@13(a)
		out y
	}`, Limits{Bytes: 1 << 20}, four)
	n := 0
	u.backend = asked{n: &n}
	_, err := u.Next(u.Entry, f)
	if err == nil || !strings.Contains(err.Error(), `a run needs 16000000000 bytes ("a" alone)`) || n > 0 {
		t.Errorf("got error %v after asking for %d kernels, want one that names the value, and 0", err, n)
	}
}

// TestNothingMayBeJoined plans a concatenation without a copy of which one part is an
// input without elements.
func TestNothingMayBeJoined(t *testing.T) {
	u, f := unit(t, `graph "g" {
		in z: float32[0]
		in x: float32[n]
		b = Neg@13(x)
		c = Concat@13(b, z; axis=0)
		y = Abs@13(c)
		out y
	}`, Limits{}, tensor.Of[float32](), four)
	if _, err := u.Next(u.Entry, f); err != nil {
		t.Error(err)
	}
}
