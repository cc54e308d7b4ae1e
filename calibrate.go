package stowage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/cost"
	"github.com/stowage-ml/stowage/internal/exec"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/tensor"
)

// CalibrateOptions says how a model is calibrated. The zero value, and nil, are good for every model.
type CalibrateOptions struct {
	// Runs is how often each kernel is timed; 0 means 10. Slow ones are timed less often.
	Runs int
	// Store is the file that the times are added to; "" means the one in the user's cache folder.
	Store string
	// Progress, when set, is called now and then with how many of the times are taken.
	Progress func(done, all int)
}

// KernelTime is what was found of one kernel on operands of one set of shapes.
type KernelTime struct {
	Op       string `json:"op"`
	Operands string `json:"operands"`
	Kernel   string `json:"kernel"`
	Source   string `json:"source"`
	// Steps is how many steps of the plan that the calibration started with ran this kernel on such
	// operands; 0 for one that was only considered.
	Steps int `json:"steps"`
	// EstNs is what was estimated before, and EstSource from what; EstNs is −1 where there was no
	// estimate.
	EstNs     int64  `json:"est_ns"`
	EstSource string `json:"est_source"`
	// MeasuredNs is the lower quartile of the times, SpreadNs the median distance from it, of so many
	// Samples.
	MeasuredNs int64 `json:"measured_ns"`
	SpreadNs   int64 `json:"spread_ns"`
	Samples    int   `json:"samples"`
}

// Calibration is what a calibration found.
type Calibration struct {
	// Store is the file that the times were added to, and Machine the fingerprint they are under.
	Store   string `json:"store"`
	Machine string `json:"machine"`
	// Kernels is in the order in which the model ran them.
	Kernels []KernelTime `json:"kernels"`
	// BeforeNs and AfterNs are the estimates of a whole run before, and with the measurements; RunNs
	// is the median time of runs planned with them.
	BeforeNs int64 `json:"before_ns"`
	AfterNs  int64 `json:"after_ns"`
	RunNs    int64 `json:"run_ns"`
}

// Calibrate runs the model on the given inputs, times every kernel that could run each of its steps,
// and adds the times to a store: what Options.Measurements makes plans rest on. It measures the
// rates of the machine too, if the user's cache folder lacks them. Nothing else should keep the
// machine busy meanwhile.
func (s *Session) Calibrate(ctx context.Context, in map[string]*tensor.Tensor, o *CalibrateOptions) (*Calibration,
	error) {
	c := &calibrator{s: s, ctx: ctx, views: make([]backend.View, len(s.inputs)), subjects: map[*plan.Step]*subject{}}
	c.outs.b = &Binding{s: s, out: make([]*tensor.Tensor, len(s.outputs)), mine: make([]bool, len(s.outputs))}
	for i := range c.outs.b.mine {
		c.outs.b.mine[i] = true
	}
	if o != nil {
		c.opts = *o
	}
	if c.opts.Runs < 0 {
		return nil, fmt.Errorf("stowage: calibrate: Runs: got %d, want at least 0", c.opts.Runs)
	}
	if c.opts.Runs == 0 {
		c.opts.Runs = 10
	}
	if c.opts.Store == "" {
		path, err := cost.StorePath()
		if err != nil {
			return nil, fmt.Errorf("stowage: calibrate: %w", err)
		}
		c.opts.Store = path
	}
	if err := s.live(); err != nil {
		return nil, err
	}
	if err := s.feed(in, c.views); err != nil {
		return nil, err
	}
	if err := cost.CheckStore(c.opts.Store); err != nil {
		return nil, fmt.Errorf("stowage: calibrate: %w", err)
	}
	return c.run()
}

// calibrator is one calibration.
type calibrator struct {
	s     *Session
	ctx   context.Context
	opts  CalibrateOptions
	views []backend.View
	outs  boundOutputs

	recorder recorder
	subjects map[*plan.Step]*subject
	// trials holds one for each kernel and set of shapes, in the order in which they came up.
	trials map[cost.Key]*trial
	order  []*trial
	// spare is memory for the operands of kernels that run beside the plan's own.
	spare spare
	// beside counts the runs of kernels that are not the plan's: what contains one is not timed.
	beside int
	clock  time.Duration
	before int64
}

func (c *calibrator) run() (*Calibration, error) {
	cost.Host(c.s.Threads())
	base, err := c.s.costs()
	if err != nil {
		return nil, err
	}
	c.recorder = recorder{Model: base, seen: map[nodeKey][]considered{}}
	c.trials = map[cost.Key]*trial{}
	c.clock = clockTime()
	if err := c.measure(); err != nil {
		return nil, err
	}
	r := &Calibration{Store: c.opts.Store, Machine: cost.Machine(), BeforeNs: c.before}
	var samples cost.Samples
	for _, t := range c.order {
		if len(t.ns) > 0 {
			samples.Add(hostDevice, t.op, t.work, &t.cand, t.ns...)
			r.Kernels = append(r.Kernels, t.report())
		}
	}
	if err := cost.WriteStore(c.opts.Store, cost.Machine(), &samples); err != nil {
		return nil, fmt.Errorf("stowage: calibrate: %w", err)
	}
	after := *base
	if after.Judge, err = cost.ReadStore(c.opts.Store, cost.Machine()); err != nil {
		return nil, fmt.Errorf("stowage: calibrate: %w", err)
	}
	r.AfterNs, r.RunNs, err = c.check(&after)
	return r, err
}

// measure runs the model until every kernel has been timed often enough.
func (c *calibrator) measure() error {
	unit := plan.NewUnit(c.s.unit.Graph, c.s.backend, c.s.hostLimits(&c.recorder))
	lane := c.lane()
	defer lane.Close()
	lane.Around = c.around
	for pass := 0; ; pass++ {
		before := c.taken()
		if err := c.once(lane, unit); err != nil {
			return err
		}
		if c.taken() == before && pass > 0 {
			return nil
		}
		if c.opts.Progress != nil {
			c.opts.Progress(c.progress())
		}
	}
}

func (c *calibrator) lane() *exec.Lane {
	lane := exec.NewLane()
	lane.Team = c.s.team
	return lane
}

// once runs the model. Outputs have the same memory each time: the first use of fresh memory is no
// part of a kernel's time.
func (c *calibrator) once(lane *exec.Lane, unit *plan.Unit) error {
	return lane.Run(c.ctx, unit, c.views, &c.outs)
}

// taken is the number of samples so far.
func (c *calibrator) taken() int {
	n := 0
	for _, t := range c.order {
		n += t.samples
	}
	return n
}

// progress is how many samples there are of all that are wanted.
func (c *calibrator) progress() (done, all int) {
	for _, t := range c.order {
		want := c.opts.Runs
		if t.done(want) {
			want = min(len(t.ns), want)
		}
		done += min(len(t.ns), want)
		all += want
	}
	return done, all
}

// check plans with the measurements, and returns the sum of the estimates of what a run then
// launches, and what it takes.
func (c *calibrator) check(m *cost.Model) (estimate, run int64, err error) {
	unit := plan.NewUnit(c.s.unit.Graph, c.s.backend, c.s.hostLimits(m))
	lane := c.lane()
	defer lane.Close()
	depth := 0
	lane.Around = func(s *plan.Step, _ *backend.Call, run func() error) error {
		depth++
		err := run()
		depth--
		if depth == 0 {
			estimate += max(s.EstNs, 0) / max(s.Rows, 1)
		}
		return err
	}
	if err := c.once(lane, unit); err != nil {
		return 0, 0, err
	}
	lane.Around = nil
	var times []int64
	for range max(3, min(c.opts.Runs, 20)) {
		start := time.Now()
		if err := c.once(lane, unit); err != nil {
			return 0, 0, err
		}
		times = append(times, time.Since(start).Nanoseconds())
	}
	slices.Sort(times)
	return estimate, times[(len(times)-1)/2], nil
}

// clockTime is what two readings of the clock are apart at least.
func clockTime() time.Duration {
	least := time.Duration(1 << 62)
	for range 200 {
		start := time.Now()
		least = min(least, time.Since(start))
	}
	return least
}

// nodeKey finds what a plan considered for a node on operands of given shapes.
type nodeKey struct {
	node   any
	shapes string
}

func shapesOf(args []backend.Arg) string {
	text := ""
	for i := range args {
		text += args[i].Shape.String()
	}
	return text
}

func shapesOfViews(views []backend.View) string {
	text := ""
	for i := range views {
		text += views[i].Shape.String()
	}
	return text
}

// considered is a kernel that a plan had to choose from.
type considered struct {
	key      cost.Key
	op       *backend.Op
	work     op.Work
	cand     backend.Candidate
	ns       int64
	estimate string
}

// recorder is a model that remembers what it was asked.
type recorder struct {
	*cost.Model
	seen map[nodeKey][]considered
}

// Kernel implements plan.Coster.
func (r *recorder) Kernel(o *backend.Op, w op.Work, c *backend.Candidate) (ns int64, source string) {
	ns, source = r.Model.Kernel(o, w, c)
	r.note(considered{op: o, work: w, cand: *c, ns: ns, estimate: source})
	return ns, source
}

// Measured is Kernel for control nodes.
func (r *recorder) Measured(o *backend.Op, w op.Work, c *backend.Candidate) (ns int64, source string, ok bool) {
	ns, source, ok = r.Model.Measured(o, w, c)
	x := considered{op: o, work: w, cand: *c, ns: -1}
	if ok {
		x.ns, x.estimate = ns, source
	}
	r.note(x)
	return ns, source, ok
}

func (r *recorder) note(x considered) {
	x.key = cost.KeyOf(hostDevice, x.op, &x.cand)
	k := nodeKey{x.op.Node, shapesOf(x.op.In)}
	if !slices.ContainsFunc(r.seen[k], func(y considered) bool { return y.key == x.key }) {
		r.seen[k] = append(r.seen[k], x)
	}
}
