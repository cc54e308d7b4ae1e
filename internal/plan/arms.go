package plan

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/op"
)

// Arm is a way to plan a unit's stages: with some devices left out, or as if some were slower than is
// thought.
type Arm struct {
	// Name says which, such as "without opencl:0".
	Name string
	// Out says, by number, which devices are left out; the host then runs what no device can. Nil means
	// none beside those that the limits leave out.
	Out []bool
	// Slow is the number of the device whose kernels are taken to need Slower times as long; −1 for none.
	Slow int
	// Spare says that the arm is there only for when no other can be used.
	Spare bool
}

// Slower is how many times slower a device is taken to be in some of the arms.
const Slower = 4

// armsOf lists the arms for a unit's devices: the best plan, that without each of them, that with each
// of them slower, and each of them alone. Several may turn out to be the same plan.
func armsOf(lim *Limits) []Arm {
	n := 1 + len(lim.Devices)
	base := make([]bool, n)
	base[host] = lim.NotHost
	arms := []Arm{{Name: "best", Out: base, Slow: -1}}
	if n == 1 {
		return arms
	}
	name := func(d int) string {
		if d == host {
			return Host
		}
		return lim.Devices[d-1].Name
	}
	without := func(what string, out func(d int) bool, spare bool) {
		a := Arm{Name: what, Out: append([]bool(nil), base...), Slow: -1, Spare: spare}
		for d := range a.Out {
			a.Out[d] = a.Out[d] || out(d)
		}
		arms = append(arms, a)
	}
	for d := 1; d < n && n > 2; d++ {
		without("without "+name(d), func(e int) bool { return e == d }, false)
	}
	for d := range n {
		if !base[d] {
			arms = append(arms, Arm{Name: fmt.Sprintf("%s %d times slower", name(d), Slower), Out: base, Slow: d})
		}
	}
	for d := 1; d < n; d++ {
		without("only "+name(d), func(e int) bool { return e != d }, false)
	}
	if !lim.NotHost || !lim.NoFallback {
		// The host runs what no device can, and all of them are out.
		without("only "+Host, func(int) bool { return true }, lim.NotHost)
	}
	return arms
}

// Arms lists the ways to plan the unit, the best one first. A unit that has to follow a saved plan has no
// other.
func (u *Unit) Arms() []Arm { return u.arms }

// left reports whether a device is left out.
func (c *compiler) left(d int) bool {
	return c.arm.Out[d] || d != host && c.devices[d-1].Lost
}

// times is by how much the arm multiplies the times of a device's kernels.
func (c *compiler) times(d int) int64 {
	if c.arm.Slow == d {
		return Slower
	}
	return 1
}

// timed estimates one call of a kernel of the host.
func (c *compiler) timed(o *backend.Op, w op.Work, k *backend.Candidate) (ns int64, source string) {
	ns, source = c.u.coster.Kernel(o, w, k)
	if ns > 0 {
		ns *= c.times(host)
	}
	return ns, source
}

// truly returns an estimate without what the arm multiplies it by.
func (c *compiler) truly(it *item, ns int64) int64 {
	if it.transfer || ns < 0 {
		return ns
	}
	return ns / c.times(it.device)
}

// On returns the point of planning under another of the unit's arms; 0 is b itself.
func (b *Branch) On(arm int) *Branch {
	if arm == 0 {
		return b
	}
	b.armsMu.Lock()
	defer b.armsMu.Unlock()
	for len(b.arms) <= arm {
		b.arms = append(b.arms, nil)
	}
	if b.arms[arm] == nil {
		// Ways keep the stages; the branch needs the last one at most.
		x := newBranch(1)
		x.Shapes, x.Contents, x.prev, x.arm = b.Shapes, b.Contents, b.prev, arm
		b.arms[arm] = x
	}
	return b.arms[arm]
}

// Lose leaves a device out of all plans from now on, and forgets those of before. It returns the plan
// for the largest shapes, when there was one.
func (u *Unit) Lose(device int) (*Stage, error) {
	b := u.Entry
	b.mu.Lock()
	defer b.mu.Unlock()
	if u.saved != nil && !u.replan {
		return nil, changed("device %q: it is lost", u.devices()[device-1].Name)
	}
	u.mu.Lock()
	u.away = append([]Device(nil), u.away...)
	u.away[device-1].Lost = true
	u.retreats++
	u.mu.Unlock()
	u.saved = nil
	a := b.largest
	b.forget()
	if a == nil {
		return nil, nil
	}
	return u.bound(b, a, b.smaller)
}
