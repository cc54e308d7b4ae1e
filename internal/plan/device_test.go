package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// perNode costs a kernel what its node's name says.
type perNode map[string]int64

// Transfer implements Coster.
func (perNode) Transfer(_, _ string, bytes int64) int64 { return 30_000 + bytes/5 }

func (p perNode) Kernel(o *backend.Op, _ op.Work, _ *backend.Candidate) (ns int64, source string) {
	return p[o.Node.Name], "test"
}

// TestBranchesRunAtTheSameTime has two chains that do not depend on one another, and a device as fast as the
// host: the sum of times is least on the host alone, and the run is shorter with one chain on each.
func TestBranchesRunAtTheSameTime(t *testing.T) {
	const text = `graph "g" {
	in x: float32[4]
	a1 = Relu@13(x) as "a1"
	a2 = Neg@13(a1) as "a2"
	b1 = Abs@13(x) as "b1"
	b2 = Exp@13(b1) as "b2"
	y = Add@14(a2, b2) as "y"
	out y
}`
	costs := perNode{"a1": 9000, "a2": 9000, "b1": 9000, "b2": 9000, "y": 1000}
	for _, c := range []struct {
		latency float64
		apart   bool
	}{{1000, true}, {20_000, false}} {
		dev := Device{Name: "d", Backend: ref.Backend{}, Latency: c.latency, Rate: 1e9}
		u, in := unit(t, text, Limits{Cost: costs, Devices: []Device{dev}}, tensor.Of[float32](1, 2, 3, 4))
		s, err := u.Next(u.Entry, in)
		if err != nil {
			t.Fatal(err)
		}
		used := map[string]bool{}
		var each []int64
		for i := range s.Steps {
			used[s.Steps[i].Device] = true
			each = append(each, s.Steps[i].EstNs)
		}
		if got := len(used) == 2; got != c.apart || s.Together.Kept == c.apart {
			t.Errorf("latency %v: got devices %v, kept %v, want both devices: %v", c.latency, used, s.Together.Kept, c.apart)
		}
		if want := map[bool]int64{true: 21_000, false: 37_000}[c.apart]; s.Makespan(each) != want {
			t.Errorf("latency %v: got a makespan of %d, want %d", c.latency, s.Makespan(each), want)
		}
		for i := range s.Steps {
			if r := s.Steps[i].Reason; c.apart && s.Steps[i].DeviceIndex == 1 && !s.Steps[i].Transfer &&
				!strings.Contains(r, "shortens the run") {
				t.Errorf("step %d: got reason %q", i, r)
			}
		}
	}
}

// TestRunningApartIsNeverSlower compares the simulated time of random graphs with that of the placement whose
// sum is least.
func TestRunningApartIsNeverSlower(t *testing.T) {
	gained := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		costs := perNode{}
		var text strings.Builder
		text.WriteString("graph \"g\" {\n\tin x: float32[8]\n")
		n := 4 + r.IntN(12)
		name := func(i int) string {
			if i < 0 {
				return "x"
			}
			return fmt.Sprintf("v%d", i)
		}
		for i := range n {
			costs[name(i)] = 100 * (1 + r.Int64N(90))
			fmt.Fprintf(&text, "\t%s = Add@14(%s, %s) as %q\n", name(i), name(r.IntN(i+1)-1), name(r.IntN(i+1)-1), name(i))
		}
		fmt.Fprintf(&text, "\tout %s\n\tout %s\n}", name(n-1), name(n-2))
		var devices []Device
		for d := range 1 + r.IntN(2) {
			devices = append(devices, Device{Name: name(d), Backend: ref.Backend{}, Times: 0.5 + r.Float64(),
				Latency: float64(r.IntN(3000)), Rate: 1})
		}
		u, in := unit(t, text.String(), Limits{Cost: costs, Devices: devices}, tensor.Of[float32](0, 1, 2, 3, 4, 5, 6, 7))
		s, err := u.Next(u.Entry, in)
		if err != nil {
			t.Fatal(err)
		}
		k := s.Together
		if k.SpanNs > k.SumSpanNs || k.Kept != (k.SpanNs == k.SumSpanNs) {
			t.Errorf("seed %d: got %+v", seed, k)
		}
		if !k.Kept {
			gained++
		}
	}
	if gained == 0 {
		t.Error("got no gain anywhere, want some")
	}
}

// TestLoweredCapacityEndsOnTheHost tells a unit again and again that its device has less memory.
func TestLoweredCapacityEndsOnTheHost(t *testing.T) {
	dev := Device{Name: "d", Backend: ref.Backend{}, Times: 0.01, Latency: 1, Rate: 1e9}
	u, in := unit(t, doubleText, Limits{Cost: perNode{"last": 1000, "": 1000}, Devices: []Device{dev}},
		tensor.Of(make([]float32, 64)...))
	s, err := u.Bound(in)
	if err != nil {
		t.Fatal(err)
	}
	if s.Away[0].Arena == 0 {
		t.Fatal("got nothing on the device, want some")
	}
	for k := range MostRetreats {
		before := u.Needs(s, 1)
		if s, err = u.Retreat(1, k, before); err != nil {
			t.Fatal(err)
		}
		if again, err := u.Retreat(1, k, before); err != nil || again != s {
			t.Errorf("retreat %d: got another plan, %v, for one who comes too late", k, err)
		}
		if limit := u.Devices()[0].Capacity; u.Needs(s, 1) > limit {
			t.Errorf("retreat %d: got a plan of %d bytes, want at most %d", k, u.Needs(s, 1), limit)
		}
	}
	if n := u.Needs(s, 1); n != 0 {
		t.Errorf("got %d bytes on the device in the end, want 0", n)
	}
}

const doubleText = `graph "g" {
	in x: float32[n]
	a = Relu@13(x)
	b = Neg@13(a)
	y = Sub@13(a, b) as "last"
	out y
}`
