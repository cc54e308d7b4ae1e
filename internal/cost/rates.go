package cost

import (
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/op"
)

// Rates is how fast a device is.
type Rates struct {
	// Threads is the number of workers that the All rates are of.
	Threads int `json:"threads"`
	// Peak is in operations per ns, with the best vector instructions.
	Peak Rate `json:"peak"`
	// Stream is in bytes read or written per ns, by the size of what is worked on, smallest first.
	Stream []Band `json:"stream"`
	// Launch is what a call costs however little it does, and Share what it costs more to share it
	// among workers.
	Launch float64 `json:"launch_ns"`
	Share  float64 `json:"share_ns"`
	// Reorder is the rate of a change of layout of a tensor in the nearest cache, in bytes read or
	// written per ns.
	Reorder float64 `json:"reorder"`
	// Scalar is the rate of code without vector instructions, in operations per ns.
	Scalar float64 `json:"scalar"`
}

// Rate is a rate of one worker, and of all of them together.
type Rate struct {
	One float64 `json:"one"`
	All float64 `json:"all"`
}

// Band is the rate for operands of so many bytes.
type Band struct {
	Bytes float64 `json:"bytes"`
	Rate
}

// of returns the rate of t workers out of n: between that of one and that of all, in proportion.
func (r Rate) of(t, n int) float64 {
	if t <= 1 || n <= 1 {
		return r.One
	}
	return r.One + (r.All-r.One)*float64(min(t, n)-1)/float64(n-1)
}

// Check fails when a rate is not a positive, finite number, or the bands are out of order.
func (r *Rates) Check() error {
	if r.Threads < 1 {
		return fmt.Errorf("cost: rates: threads: got %d, want at least 1", r.Threads)
	}
	type named struct {
		name string
		v    float64
	}
	list := []named{{"peak.one", r.Peak.One}, {"peak.all", r.Peak.All}, {"launch_ns", r.Launch}, {"share_ns", r.Share},
		{"reorder", r.Reorder}, {"scalar", r.Scalar}}
	if len(r.Stream) == 0 {
		return fmt.Errorf("cost: rates: stream: got nothing, want at least one band")
	}
	for i, b := range r.Stream {
		list = append(list, named{fmt.Sprintf("stream[%d].bytes", i), b.Bytes},
			named{fmt.Sprintf("stream[%d].one", i), b.One}, named{fmt.Sprintf("stream[%d].all", i), b.All})
		if i > 0 && !(b.Bytes > r.Stream[i-1].Bytes) {
			return fmt.Errorf("cost: rates: stream[%d].bytes: got %v, want more than %v", i, b.Bytes, r.Stream[i-1].Bytes)
		}
	}
	for _, n := range list {
		// The bounds are far from what any device does, and keep sums and quotients finite.
		if !(n.v >= 1e-9 && n.v <= 1e15) {
			return fmt.Errorf("cost: rates: %s: got %v, want a number between 1e-9 and 1e15", n.name, n.v)
		}
	}
	return nil
}

// stream returns the bytes per ns of t workers on operands of so many bytes: between two bands in
// proportion to the logarithm, beyond the ends that of the end.
func (r *Rates) stream(bytes float64, t int) float64 {
	last := len(r.Stream) - 1
	switch {
	case bytes <= r.Stream[0].Bytes:
		return r.Stream[0].of(t, r.Threads)
	case bytes >= r.Stream[last].Bytes:
		return r.Stream[last].of(t, r.Threads)
	}
	i := 1
	for bytes > r.Stream[i].Bytes {
		i++
	}
	a, b := &r.Stream[i-1], &r.Stream[i]
	at := math.Log(bytes/a.Bytes) / math.Log(b.Bytes/a.Bytes)
	return a.of(t, r.Threads)*(1-at) + b.of(t, r.Threads)*at
}

// relative is how fast one worker streams operands of so many bytes, relative to the smallest.
func (r *Rates) relative(bytes float64) float64 { return r.stream(bytes, 1) / r.stream(0, 1) }

// Roofline is the time that arithmetic and memory allow: the larger of operations by their rate
// and bytes by theirs, at the shares of them that the kernel reaches, and a launch. Work is shared
// among o.Threads workers where that is faster. A kernel of unknown shares is taken for slow code.
func (r *Rates) Roofline(o *backend.Op, w op.Work, c *backend.Candidate) float64 {
	if !(c.Flops > 0) && !(c.Stream > 0) {
		return r.Launch + r.slow(o.Node, w)
	}
	far := min(constants(o), max(w.Bytes, 0))
	one := r.roof(w, far, c, 1)
	if o.Threads > 1 {
		one = min(one, r.roof(w, far, c, o.Threads)+r.Share)
	}
	return r.Launch + one
}

// constants counts the bytes of the operands that are known before the run.
func constants(o *backend.Op) float64 {
	n := 0.0
	for i := range o.In {
		if t := o.In[i].Const; t != nil {
			n += float64(len(t.Bytes()))
		}
	}
	return n
}

// streamedFlops is the share of the peak at which a kernel computes whose maker knows only how it
// streams.
const streamedFlops = 0.2

// between is how many bytes lie between two readings of a constant, at least: a run reads each once,
// and all others in between.
const between = 4 << 20

// roof is the time of t workers; so many of the bytes are constants, which are far away.
func (r *Rates) roof(w op.Work, far float64, c *backend.Candidate, t int) float64 {
	share := c.Flops
	if !(share > 0) {
		share = streamedFlops
	}
	flops, bytes := max(w.FLOPs+c.Extra.Flops, 0), max(w.Bytes+c.Extra.Bytes, 0)
	memory := (bytes-far)/r.stream(bytes, t) + far/r.stream(max(bytes, between), t)
	if c.Stream > 0 {
		memory /= c.Stream
	}
	return max(flops/(r.Peak.of(t, r.Threads)*share), memory)
}
