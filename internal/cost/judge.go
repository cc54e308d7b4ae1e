package cost

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
)

// maxCount is where counting stops.
const maxCount = 1 << 40

// MaxSamples is how many times a record keeps: the latest.
const MaxSamples = 32

// Record is what has been measured of one kernel on operands of one set of shapes.
type Record struct {
	// Op, Operands, Kernel and Device are for people to read.
	Op       string `json:"op"`
	Operands string `json:"operands"`
	Kernel   string `json:"kernel"`
	Device   string `json:"device"`
	// FLOPs and Bytes are the operator's work.
	FLOPs float64 `json:"flops"`
	Bytes float64 `json:"bytes"`
	// Count is how often the kernel has been timed, and Ns the latest times, oldest first.
	Count int64   `json:"count"`
	Ns    []int64 `json:"ns"`
}

// check fails when a record cannot be one that Add made.
func (r *Record) check() error {
	if len(r.Ns) == 0 || len(r.Ns) > MaxSamples || r.Count < int64(len(r.Ns)) || r.Count > maxCount {
		return fmt.Errorf("got %d times of %d, want 1 to %d, and no fewer than that", len(r.Ns), r.Count, MaxSamples)
	}
	for _, ns := range r.Ns {
		if ns < 0 || ns > 1<<50 {
			return fmt.Errorf("got a time of %d ns, want at least 0", ns)
		}
	}
	if !(r.FLOPs >= 0 && r.FLOPs <= math.MaxFloat64) || !(r.Bytes >= 0 && r.Bytes <= math.MaxFloat64) {
		return fmt.Errorf("got %v operations and %v bytes, want at least 0", r.FLOPs, r.Bytes)
	}
	return nil
}

// add appends times, and forgets the oldest.
func (r *Record) add(ns []int64) {
	r.Count = min(r.Count+int64(len(ns)), maxCount)
	r.Ns = append(slices.Clip(r.Ns), ns...)
	r.Ns = slices.Clone(r.Ns[max(0, len(r.Ns)-MaxSamples):])
}

// Typical returns the times' lower quartile, and the median of their distances from it. What disturbs
// a kernel only ever makes it slower, so the lower half says most; and however much half of the
// times are disturbed, the quartile is not.
func (r *Record) Typical() (typical, spread int64) {
	typical = quantile(slices.Clone(r.Ns), 4)
	away := make([]int64, len(r.Ns))
	for i, ns := range r.Ns {
		away[i] = max(ns-typical, typical-ns)
	}
	return typical, quantile(away, 2)
}

// quantile returns the least of at least one number that one in parts does not exceed. It changes
// their order.
func quantile(v []int64, parts int) int64 {
	slices.Sort(v)
	return v[(len(v)-1)/parts]
}

// Judge knows what kernels have been measured to take. It is immutable, and safe for concurrent use.
type Judge struct {
	exact   map[Key]*verdict
	classes map[id][]*verdict
}

// verdict is a record that has been summed up.
type verdict struct {
	shape        id
	flops, bytes float64
	ns, spread   int64
	samples      int
}

func newJudge() *Judge {
	return &Judge{exact: map[Key]*verdict{}, classes: map[id][]*verdict{}}
}

// Len returns the number of kernels and shapes that are known.
func (j *Judge) Len() int { return len(j.exact) }

func (j *Judge) put(k Key, r *Record) {
	v := &verdict{shape: k.shape, flops: r.FLOPs, bytes: r.Bytes, samples: len(r.Ns)}
	v.ns, v.spread = r.Typical()
	j.exact[k] = v
	j.classes[k.class] = append(j.classes[k.class], v)
}

// seal orders what was put in, so that answers do not depend on the order.
func (j *Judge) seal() {
	for _, list := range j.classes {
		slices.SortFunc(list, func(a, b *verdict) int { return slices.Compare(a.shape[:], b.shape[:]) })
	}
}

// near is the largest distance, in doublings of operations and of bytes together, at which a
// measurement says something of other shapes.
const near = 2

// estimate answers from measurements: those of these very shapes, or else those of the same
// operator and kernel on operands of the most similar size, by the ratio of the rooflines.
func (j *Judge) estimate(m *Model, o *backend.Op, w op.Work, c *backend.Candidate, roof float64) (Estimate, bool) {
	k := KeyOf(m.Device, o, c)
	if v := j.exact[k]; v != nil {
		return Estimate{Ns: max(v.ns, 1), Source: Measured, Samples: v.samples, Spread: v.spread}, true
	}
	var best *verdict
	least := math.Inf(1)
	for _, v := range j.classes[k.class] {
		if d := v.distance(w); d < least {
			best, least = v, d
		}
	}
	if best == nil || least > near {
		return Estimate{}, false
	}
	ratio := roof / m.Rates.Roofline(o, op.Work{FLOPs: best.flops, Bytes: best.bytes}, c)
	return Estimate{Ns: atLeastOne(float64(best.ns) * ratio), Source: Scaled, Samples: best.samples,
		Spread: atLeastOne(float64(best.spread) * ratio)}, true
}

// distance counts doublings between a record's work and another.
func (v *verdict) distance(w op.Work) float64 {
	return doublings(v.flops, w.FLOPs) + doublings(v.bytes, w.Bytes)
}

func doublings(a, b float64) float64 { return math.Abs(math.Log2(max(a, 1) / max(b, 1))) }

// Samples collects times of one process, to be added to a store.
type Samples struct{ records map[Key]*Record }

// Add notes times of a kernel.
func (s *Samples) Add(device string, o *backend.Op, w op.Work, c *backend.Candidate, ns ...int64) {
	if s.records == nil {
		s.records = map[Key]*Record{}
	}
	k := KeyOf(device, o, c)
	r := s.records[k]
	if r == nil {
		r = &Record{Op: OpName(o.Node), Operands: Operands(o), Kernel: c.Name, Device: device, FLOPs: max(w.FLOPs, 0),
			Bytes: max(w.Bytes, 0)}
		s.records[k] = r
	}
	r.add(ns)
}

// sorted lists the keys in order.
func (s *Samples) sorted() []Key {
	keys := make([]Key, 0, len(s.records))
	for k := range s.records {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(slices.Compare(a.class[:], b.class[:]), slices.Compare(a.shape[:], b.shape[:]))
	})
	return keys
}

// OpName is the operator's name, behind its domain unless that is the standard one.
func OpName(n *graph.Node) string {
	if n.Domain == "" {
		return n.Op
	}
	return n.Domain + "." + n.Op
}

// Operands describes the operands, such as "float32[1,3,8,8] float32[4,3,3,3] -> float32[1,4,6,6]".
func Operands(o *backend.Op) string {
	out := ""
	for i, args := range [][]backend.Arg{o.In, o.Out} {
		if i > 0 {
			out += "-> "
		}
		for k := range args {
			switch a := &args[k]; {
			case !a.Present():
				out += "- "
			case a.Shape == nil:
				out += a.DType.String() + "[...] "
			default:
				out += a.DType.String() + a.Shape.String() + " "
			}
		}
	}
	return strings.TrimSuffix(out, " ")
}
