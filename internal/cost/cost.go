// Package cost tells how long a kernel or a copy takes on a device, without running it: from
// measurements of that kernel on such operands where there are some, else from the device's rates.
// It knows nothing of graphs' order, of plans or of memory. Times are in nanoseconds, sizes in
// bytes, rates per nanosecond; a multiply-add is two operations.
package cost

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/op"
)

// Where an estimate may be from.
const (
	// Measured: what this kernel typically takes on operands of these shapes.
	Measured = "measured"
	// Scaled: what it takes on operands of similar size, times the ratio of the rooflines.
	Scaled = "scaled"
	// Roofline: the device's rates.
	Roofline = "roofline"
)

// Estimate is a time, which is never less than 1, and where it is from.
type Estimate struct {
	Ns     int64
	Source string
	// Samples is how many measurements are behind it, and Spread their median distance from it; 0 for
	// a roofline.
	Samples int
	Spread  int64
}

// Link is the way from one device's memory to another's.
type Link struct {
	// Latency is in ns, Rate in bytes per ns.
	Latency, Rate float64
}

// Model estimates for one device, and for the copies between devices. It is immutable once it is
// in use, and safe for concurrent use. The same model gives the same answers to the same questions.
type Model struct {
	// Device is the name under which measurements are kept.
	Device string
	// Rates are the device's.
	Rates *Rates
	// Judge holds the measurements; nil when there are none.
	Judge *Judge
	// Links are the ways between devices, by name; from comes first.
	Links map[[2]string]Link
	// Others are the models of further devices, by name.
	Others map[string]*Model
}

// On returns the model of a device; m itself when it is that of the device, or none is known.
func (m *Model) On(device string) *Model {
	if o := m.Others[device]; o != nil {
		return o
	}
	return m
}

// Kernel estimates one call of a candidate, and says where the estimate is from. w is the
// operator's own work, as Work tells it; for a fused group that is its members' operations, and
// what the group reads and writes.
func (m *Model) Kernel(o *backend.Op, w op.Work, c *backend.Candidate) (ns int64, source string) {
	e := m.Estimate(o, w, c)
	return e.Ns, e.Source
}

// Estimate is Kernel, and says how sure it is.
func (m *Model) Estimate(o *backend.Op, w op.Work, c *backend.Candidate) Estimate {
	roof := m.Rates.Roofline(o, w, c)
	if m.Judge != nil {
		if e, ok := m.Judge.estimate(m, o, w, c, roof); ok {
			return e
		}
	}
	return Estimate{Ns: atLeastOne(roof), Source: Roofline}
}

// Measured estimates a call of a candidate from measurements alone; ok is false when there are none.
func (m *Model) Measured(o *backend.Op, w op.Work, c *backend.Candidate) (ns int64, source string, ok bool) {
	if m.Judge == nil {
		return 0, "", false
	}
	e, ok := m.Judge.estimate(m, o, w, c, m.Rates.Roofline(o, w, c))
	return e.Ns, e.Source, ok
}

// Reorder estimates a change of layout of a tensor of so many bytes.
func (m *Model) Reorder(bytes int64) int64 {
	return atLeastOne(m.Rates.Launch + 2*float64(bytes)/(m.Rates.Reorder*m.Rates.relative(2*float64(bytes))))
}

// Transfer estimates the copy of so many bytes from one device to another; 0 when they are the same.
func (m *Model) Transfer(from, to string, bytes int64) int64 {
	if from == to {
		return 0
	}
	l, ok := m.Links[[2]string{from, to}]
	if !ok || !(l.Rate > 0) {
		l = unknownLink
	}
	return atLeastOne(l.Latency + float64(bytes)/l.Rate)
}

// unknownLink is a slow link, so that a way that nobody has measured is not taken for a free one.
var unknownLink = Link{Latency: 30_000, Rate: 5}

// atLeastOne rounds up to whole nanoseconds, of which nothing takes less than one, and nothing counts
// as more than an hour.
func atLeastOne(ns float64) int64 {
	// Sums of a million of these are still numbers.
	const most = 1 << 42
	switch {
	case !(ns > 1):
		if math.IsNaN(ns) {
			return most
		}
		return 1
	case ns >= most:
		return most
	}
	return int64(math.Ceil(ns))
}
