package plan

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/tensor"
)

// chains is two chains that do not depend on one another; the host is as fast as a device of Times 1.
const chains = `graph "g" {
	in x: float32[4]
	a1 = Relu@13(x) as "a1"
	a2 = Neg@13(a1) as "a2"
	b1 = Abs@13(x) as "b1"
	b2 = Exp@13(b1) as "b2"
	y = Add@14(a2, b2) as "y"
	out y
}`

var chainCosts = perNode{"a1": 9000, "a2": 9000, "b1": 9000, "b2": 9000, "y": 1000}

// waysOf resolves the arms of the chains on devices of these speeds.
func waysOf(t *testing.T, lim Limits, times ...float64) (*Unit, []Way) {
	t.Helper()
	lim.Cost = chainCosts
	for i, x := range times {
		d := Device{Name: string(rune('p' + i)), Backend: ref.Backend{}, Latency: 1000, Rate: 1e9, Times: x}
		lim.Devices = append(lim.Devices, d)
	}
	u, in := unit(t, chains, lim, tensor.Of[float32](1, 2, 3, 4))
	w, err := u.Ways(u.Entry, in)
	if err != nil {
		t.Fatal(err)
	}
	return u, w.Resolve(2)
}

func armNames(ways []Way) (out []string) {
	for i := range ways {
		name := ways[i].Arm.Name
		if ways[i].Spare {
			name += " (spare)"
		}
		out = append(out, name)
	}
	return out
}

func TestArmsCoverEveryLossAndAreAllDifferent(t *testing.T) {
	for name, c := range map[string]struct {
		lim   Limits
		times []float64
		want  string
	}{
		"host alone":       {Limits{}, nil, "best"},
		"one device":       {Limits{}, []float64{0.5}, "best, cpu 4 times slower, p 4 times slower, only cpu"},
		"two devices":      {Limits{}, []float64{0.2, 0.3}, ""},
		"without the host": {Limits{NotHost: true}, []float64{0.5, 0.6}, ""},
		"no fallback":      {Limits{NotHost: true, NoFallback: true}, []float64{0.5, 0.6}, ""},
		"much slower":      {Limits{}, []float64{0.01}, ""},
	} {
		_, ways := waysOf(t, c.lim, c.times...)
		t.Log(name, armNames(ways))
		if ways[0].Arm.Name != "best" || ways[0].Spare {
			t.Errorf("%s: got %q first", name, ways[0].Arm.Name)
		}
		seen := map[string]bool{}
		alone := make([]bool, 1+len(c.times))
		for i := range ways {
			w := &ways[i]
			if p := w.Stage.placement(); seen[p] {
				t.Errorf("%s: %s: got the same placement twice", name, w.Arm.Name)
			} else {
				seen[p] = true
			}
			used := 0
			for d, busy := range w.BusyNs {
				if busy > 0 && (d > 0 || !c.lim.NotHost) {
					used |= 1 << d
				}
			}
			for d := range alone {
				alone[d] = alone[d] || used&^(1<<d) == 0
			}
			if w.EstNs <= 0 || slices.Max(w.BusyNs) > w.EstNs {
				t.Errorf("%s: %s: got %d ns, of which devices are busy %v", name, w.Arm.Name, w.EstNs, w.BusyNs)
			}
		}
		for d, ok := range alone {
			if must := d > 0 || !c.lim.NoFallback; must && !ok {
				t.Errorf("%s: got no arm for when only device %d is left: %v", name, d, armNames(ways))
			}
		}
		if got := strings.Join(armNames(ways), ", "); c.want != "" && !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %s, want %s first", name, got, c.want)
		}
		if c.lim.NoFallback && strings.Contains(fmt.Sprint(armNames(ways)), "only cpu") {
			t.Errorf("%s: got %v", name, armNames(ways))
		}
	}
}

func TestEstimatesOfArmsAreThoseOfTheDevicesAsTheyAre(t *testing.T) {
	_, ways := waysOf(t, Limits{}, 0.2)
	for i := range ways {
		for k := range ways[i].Stage.Steps {
			s := &ways[i].Stage.Steps[k]
			want := chainCosts[s.Node.Name]
			if s.DeviceIndex == 1 {
				want /= 5
			}
			if s.Transfer {
				want = 1000
			}
			if s.EstNs != want {
				t.Errorf("%s: step %s on %s: got %d ns, want %d", ways[i].Arm.Name, s.Node.Name, s.Device, s.EstNs, want)
			}
		}
	}
}

func TestALostDeviceIsInNoPlan(t *testing.T) {
	u, _ := waysOf(t, Limits{}, 0.2, 0.3)
	if _, err := u.Lose(1); err != nil {
		t.Fatal(err)
	}
	_, in := unit(t, chains, Limits{Cost: chainCosts}, tensor.Of[float32](1, 2, 3, 4))
	w, err := u.Ways(u.Entry, in)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range w.Resolve(1) {
		if x.BusyNs[1] != 0 {
			t.Errorf("%s: got %v, want nothing on a lost device", x.Arm.Name, x.BusyNs)
		}
	}
}

func TestDroppedAndStoppedArmsAreNoMore(t *testing.T) {
	u, ways := waysOf(t, Limits{}, 0.2)
	_, in := unit(t, chains, Limits{Cost: chainCosts}, tensor.Of[float32](1, 2, 3, 4))
	w, err := u.Ways(u.Entry, in)
	if err != nil {
		t.Fatal(err)
	}
	w.Drop(ways[1].Stage)
	if got := w.All(); len(got) != len(ways)-1 || got[0].Stage != w.First {
		t.Errorf("got %v after one of %v was dropped", armNames(got), armNames(ways))
	}
	u, _ = unit(t, chains, Limits{Cost: chainCosts, Devices: []Device{{Name: "p", Backend: ref.Backend{}, Times: 0.5}}},
		tensor.Of[float32](1, 2, 3, 4))
	u.Stop()
	if w, err = u.Ways(u.Entry, in); err != nil || len(w.Resolve(1)) != 1 {
		t.Errorf("stopped: got %v, %v, want the best plan alone", armNames(w.All()), err)
	}
}

func TestWaysMayBeResolvedByMany(t *testing.T) {
	u, want := waysOf(t, Limits{}, 0.2, 0.3)
	_, in := unit(t, chains, Limits{Cost: chainCosts}, tensor.Of[float32](1, 2, 3, 4))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			w, err := u.Ways(u.Entry, in)
			if err != nil {
				t.Error(err)
				return
			}
			w.Seen()
			if got := w.Resolve(3); !slices.Equal(armNames(got), armNames(want)) {
				t.Errorf("got %v, want %v", armNames(got), armNames(want))
			}
		})
	}
	wg.Wait()
}
