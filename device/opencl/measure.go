package opencl

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// ratesKept names the files of rates; it changes when rates are measured in another way.
const ratesKept = "rates 1"

// cachedRates returns what Measure has kept for such a device; nil when there is nothing that can be used.
func (id *deviceID) cachedRates() *backend.DeviceRates {
	var r backend.DeviceRates
	data := readKept(id.keptFile(".rates", ratesKept))
	if data == nil || json.Unmarshal(data, &r) != nil || r.Check() != nil {
		return nil
	}
	return &r
}

// Measure implements backend.Measurer. Parts of one device count as alike.
func (d *Device) Measure(again bool) (*backend.DeviceRates, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	if r := d.id.cachedRates(); r != nil && !again {
		return r, nil
	}
	p := &prober{d: d}
	r, err := p.rates()
	if err := p.close(err); err != nil {
		return nil, fmt.Errorf("opencl: device %q: rates: %w", d.name, err)
	}
	if err := r.Check(); err != nil {
		return nil, fmt.Errorf("opencl: device %q: %w", d.name, err)
	}
	if data, err := json.Marshal(r); err == nil {
		writeKept(d.id.keptFile(".rates", ratesKept), data)
	}
	return r, nil
}

// prober measures a device.
type prober struct {
	d   *Device
	mem backend.Memory
}

// The sizes of what is streamed and copied, in bytes.
const (
	nearBytes = 256 << 10
	farBytes  = 12 << 20
	copyBytes = 4 << 20
)

func (p *prober) close(err error) error {
	if p.mem == nil {
		return err
	}
	if e := p.mem.Free(); err == nil {
		err = e
	}
	return err
}

func (p *prober) rates() (*backend.DeviceRates, error) {
	var err error
	if p.mem, err = p.d.Alloc(farBytes); err != nil {
		return nil, err
	}
	r := &backend.DeviceRates{}
	if r.Latency, r.Rate, err = p.copies(); err != nil {
		return nil, err
	}
	if r.Launch, err = p.launch(); err != nil {
		return nil, err
	}
	if r.Near, err = p.stream(nearBytes); err != nil {
		return nil, err
	}
	if r.Far, err = p.stream(farBytes); err != nil {
		return nil, err
	}
	r.Peak, err = p.peak()
	return r, err
}

// least returns the least ns of some calls of f: other programs only ever slow one down.
func least(f func() error) (float64, error) {
	best := 0.0
	for i := range 6 {
		start := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		// The first call makes programs.
		if ns := float64(max(1, time.Since(start).Nanoseconds())); i == 1 || i > 1 && ns < best {
			best = ns
		}
	}
	return best, nil
}

// copies measures a copy in both directions: what it takes whatever its size, and bytes per ns.
func (p *prober) copies() (latency, rate float64, err error) {
	host := make([]byte, copyBytes)
	both := func(n int) (float64, error) {
		ns, err := least(func() error {
			if err := p.d.Upload(p.mem, 0, host[:n]); err != nil {
				return err
			}
			return p.d.Download(host[:n], p.mem, 0)
		})
		return ns / 2, err
	}
	if latency, err = both(64); err != nil {
		return 0, 0, err
	}
	all, err := both(copyBytes)
	return latency, copyBytes / max(all-latency, 1), err
}

// times returns the ns of n launches of a kernel one behind the other.
func (p *prober) times(n int, k backend.Kernel, c *backend.Call) (float64, error) {
	return least(func() error {
		for range n {
			if err := p.d.Run(k, c); err != nil {
				return err
			}
		}
		return p.d.check("finish", p.d.lib.status(clFinish, p.d.queue))
	})
}

// sum is the addition of two vectors that take so many bytes with their sum.
func (p *prober) sum(bytes int64) (backend.Kernel, *backend.Call, error) {
	n := bytes / 12 / 16 * 16
	a := backend.Arg{DType: tensor.Float32, Shape: tensor.Shape{n}}
	o := &backend.Op{Node: &graph.Node{Op: "Add", Version: 14}, In: []backend.Arg{a, a}, Out: []backend.Arg{a}}
	ks, err := p.d.Backend().Candidates(o)
	if err != nil || len(ks) == 0 {
		return nil, nil, fmt.Errorf("got no kernel for Add: %w", err)
	}
	view := func(i int64) backend.View {
		return backend.View{DType: tensor.Float32, Shape: a.Shape, Mem: p.mem, Offset: 4 * n * i}
	}
	return ks[0].Kernel, &backend.Call{In: []backend.View{view(0), view(1)}, Out: []backend.View{view(2)}}, nil
}

func (p *prober) launch() (float64, error) {
	const launches = 200
	k, c, err := p.sum(12 * 16)
	if err != nil {
		return 0, err
	}
	ns, err := p.times(launches, k, c)
	return ns / launches, err
}

// stream returns bytes read or written per ns.
func (p *prober) stream(bytes int64) (float64, error) {
	k, c, err := p.sum(bytes)
	if err != nil {
		return 0, err
	}
	launches := int(max(1, farBytes/bytes/4))
	ns, err := p.times(launches, k, c)
	return float64(bytes) * float64(launches) / max(ns, 1), err
}

// peak returns operations per ns of multiply-adds in registers.
func (p *prober) peak() (float64, error) {
	const sums, steps, run = 8, 100_000, 4
	width := 16
	if !p.d.id.cpu {
		width = 1
	}
	items := int64(p.d.id.info.Units * run)
	if !p.d.id.cpu {
		items *= 256
	}
	v := &value{dtype: tensor.Float32, shape: tensor.Shape{items}, at: operand{in: output, bytes: 4 * items}}
	c := newCode(p.d)
	c.write("y", v)
	c.num("steps", steps)
	local := int64(1)
	if !p.d.id.cpu {
		local = 64
	}
	c.grid([3]int64{items}, [3]int64{local}, 1)
	kind := "float"
	if width > 1 {
		kind = fmt.Sprint(kind, width)
	}
	for i := range sums {
		c.f("%s s%d = (float)get_global_id(0) + %d;", kind, i, i)
	}
	c.f("%s u = 0.5f, w = y[0] * 0.0f;\nfor (int i = 0; i < steps; i++) {", kind)
	for i := range sums {
		c.f("s%d = fma(s%d, u, w);", i, i)
	}
	c.f("}\n%s t = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7;", kind)
	last := "t"
	if width > 1 {
		last = "t.s0 + t.s1 + t.s2 + t.s3 + t.s4 + t.s5 + t.s6 + t.s7 + t.s8 + t.s9 + t.sa + t.sb + t.sc + t.sd + t.se + t.sf"
	}
	c.f("y[get_global_id(0)] = %s;", last)
	t := c.task()
	t.prog = p.d.programs.get(t.source)
	call := &backend.Call{Out: []backend.View{{DType: tensor.Float32, Shape: v.shape, Mem: p.mem}}}
	ns, err := p.times(1, sequence([]*task{t}), call)
	return 2 * sums * steps * float64(width) * float64(items) / max(ns, 1), err
}
