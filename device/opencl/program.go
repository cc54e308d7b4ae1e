package opencl

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// buildOptions are those of all programs.
const buildOptions = "-cl-std=CL1.2 -w"

// programs are the kernels' sources that a device was asked for, and what has been built of them.
type programs struct {
	d  *Device
	mu sync.Mutex
	by map[string]*program
	// pending are those that belong to no bundle yet, unkept the bundles that may still be written.
	pending []*program
	unkept  []*bundle
}

// program is one kernel's code. What it is part of is set when it is needed first.
type program struct {
	ps     *programs
	source string
	// name is the kernel's.
	name   string
	bundle *bundle
	// launched says that the kernel has run once; the bundle's lock guards it.
	launched bool
}

// bundle is the kernels that were asked for before one of them was needed, as one program: a driver takes
// almost as long to read a program of one kernel as of many.
type bundle struct {
	d       *Device
	members []*program

	once   sync.Once
	handle uintptr
	err    error
	warm   bool

	mu sync.Mutex
	// left is how many kernels have not run yet, fresh whether one has run for the first time since the
	// last look, and stores how often the compiled form has been written.
	left, stores int
	fresh        bool
}

// kernelName names a kernel by its source, in which $ stands for the name.
func kernelName(source string) string {
	sum := sha256.Sum256([]byte(source))
	return "k" + hex.EncodeToString(sum[:12])
}

// get returns the program of a source; it is not built yet.
func (ps *programs) get(source string) *program {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.by[source]
	if p == nil {
		p = &program{ps: ps, source: source, name: kernelName(source)}
		if ps.by == nil {
			ps.by = map[string]*program{}
		}
		ps.by[source] = p
		ps.pending = append(ps.pending, p)
	}
	return p
}

// seal makes a bundle of what is pending, or returns nil.
func (ps *programs) seal() *bundle {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if len(ps.pending) == 0 {
		return nil
	}
	b := &bundle{d: ps.d, members: ps.pending, left: len(ps.pending)}
	ps.pending = nil
	slices.SortFunc(b.members, func(x, y *program) int { return strings.Compare(x.name, y.name) })
	for _, p := range b.members {
		p.bundle = b
	}
	ps.unkept = append(ps.unkept, b)
	return b
}

// split gives a program that could not be built with others a bundle of its own.
func (ps *programs) split(p *program, from *bundle) *bundle {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p.bundle == from {
		p.bundle = &bundle{d: ps.d, members: []*program{p}, left: 1}
		ps.unkept = append(ps.unkept, p.bundle)
	}
	return p.bundle
}

// ahead begins to make ready what was asked for so far.
func (ps *programs) ahead() {
	if b := ps.seal(); b != nil {
		go b.make()
	}
}

// built returns the handle of the program that the kernel is part of; the first call makes it.
func (p *program) built() (uintptr, error) {
	p.ps.mu.Lock()
	b := p.bundle
	p.ps.mu.Unlock()
	if b == nil {
		p.ps.seal()
		p.ps.mu.Lock()
		b = p.bundle
		p.ps.mu.Unlock()
	}
	b.make()
	if b.err != nil && len(b.members) > 1 {
		b = p.ps.split(p, b)
		b.make()
	}
	return b.handle, b.err
}

// make reads or builds the program, once.
func (b *bundle) make() {
	b.once.Do(func() {
		if b.handle, b.warm = b.load(); !b.warm {
			b.handle, b.err = b.build()
		}
	})
}

// text is the source of all members.
func (b *bundle) text() string {
	var s strings.Builder
	s.WriteString(prelude)
	for _, p := range b.members {
		s.WriteString(strings.Replace(p.source, "$", p.name, 1))
	}
	return s.String()
}

// build compiles the source.
func (b *bundle) build() (uintptr, error) {
	l := b.d.lib
	text := append([]byte(b.text()), 0)
	pin := &pinned{at: unsafe.Pointer(&text[0])}
	h, err := l.create(clCreateProgramWithSource, b.d.context, 1, uintptr(unsafe.Pointer(&pin.at)), 0)
	if err != nil {
		return 0, b.d.check("program", err)
	}
	if err := b.compile(h); err != nil {
		log, _ := l.buildLog(h, b.d.id.id)
		_ = l.status(clReleaseProgram, h)
		if err = fmt.Errorf("%w: %s", err, log); len(b.members) > 1 {
			return 0, b.d.check("program", err)
		}
		// A kernel that cannot be built alone will not be by trying again.
		return 0, b.d.lose("program", err)
	}
	return h, nil
}

// pinned is the address of bytes, at an address of its own.
type pinned struct{ at unsafe.Pointer }

func (b *bundle) compile(h uintptr) error {
	options := append([]byte(buildOptions), 0)
	id := b.d.id.id
	return b.d.lib.status(clBuildProgram, h, 1, uintptr(unsafe.Pointer(&id)), uintptr(unsafe.Pointer(&options[0])), 0, 0)
}

// buildLog returns the first lines of what the compiler said.
func (l *library) buildLog(program, device uintptr) (string, error) {
	var n uintptr
	err := l.status(clGetProgramBuildInfo, program, device, programBuildLog, 0, 0, uintptr(unsafe.Pointer(&n)))
	if err != nil {
		return "", err
	}
	b := make([]byte, n+1)
	err = l.status(clGetProgramBuildInfo, program, device, programBuildLog, n, uintptr(unsafe.Pointer(&b[0])), 0)
	const most = 400
	b = bytes.TrimSpace(bytes.TrimRight(b, "\x00"))
	return string(b[:min(most, len(b))]), err
}

// ran notes that a member has been launched.
func (p *program) ran() {
	b := p.bundle
	b.mu.Lock()
	defer b.mu.Unlock()
	if !p.launched {
		p.launched, b.fresh = true, true
		b.left--
	}
}

// mostStores bounds how often a bundle is written: drivers compile for a size of work-group when a kernel
// runs, and some kernels run late or never.
const mostStores = 3

// keep writes the compiled form of bundles of which a kernel has run for the first time. All launches must
// have ended.
func (ps *programs) keep() {
	ps.mu.Lock()
	var due []*bundle
	ps.unkept = slices.DeleteFunc(ps.unkept, func(b *bundle) bool {
		done, now := b.settled()
		if now {
			due = append(due, b)
		}
		return done
	})
	ps.mu.Unlock()
	for _, b := range due {
		b.store()
	}
}

// settled says whether the bundle need not be looked at again, and whether it is to be written now.
func (b *bundle) settled() (done, now bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fresh {
		// It may still be being made.
		return false, false
	}
	if now = !b.warm; now {
		b.stores++
	}
	b.fresh = false
	return b.left == 0 || b.warm && b.left < len(b.members) || b.stores == mostStores, now
}
