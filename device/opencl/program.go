package opencl

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"
)

// buildOptions are those of all programs.
const buildOptions = "-cl-std=CL1.2 -w"

// programs are those that a device has built.
type programs struct {
	d  *Device
	mu sync.Mutex
	by map[string]*program
}

// program is one kernel's code.
type program struct {
	d      *Device
	source string

	once   sync.Once
	handle uintptr
	err    error
	// keep writes the compiled form, the first time the kernel has run.
	keep sync.Once
	warm bool
}

// get returns the program of a source; it is not built yet.
func (ps *programs) get(source string) *program {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.by[source]
	if p == nil {
		p = &program{d: ps.d, source: source}
		if ps.by == nil {
			ps.by = map[string]*program{}
		}
		ps.by[source] = p
	}
	return p
}

// built returns the program's handle; the first call builds it.
func (p *program) built() (uintptr, error) {
	p.once.Do(func() {
		if p.handle, p.warm = p.load(); !p.warm {
			p.handle, p.err = p.build()
		}
	})
	return p.handle, p.err
}

// build compiles the source.
func (p *program) build() (uintptr, error) {
	l := p.d.lib
	text := append([]byte(p.source), 0)
	pin := &pinned{at: unsafe.Pointer(&text[0])}
	h, err := l.create(clCreateProgramWithSource, p.d.context, 1, uintptr(unsafe.Pointer(&pin.at)), 0)
	if err != nil {
		return 0, p.d.check("program", err)
	}
	if err := p.compile(h); err != nil {
		log, _ := l.buildLog(h, p.d.id.id)
		_ = l.status(clReleaseProgram, h)
		return 0, p.d.check("program", fmt.Errorf("%w: %s", err, log))
	}
	return h, nil
}

// pinned is the address of bytes, at an address of its own.
type pinned struct{ at unsafe.Pointer }

func (p *program) compile(h uintptr) error {
	options := append([]byte(buildOptions), 0)
	id := p.d.id.id
	return p.d.lib.status(clBuildProgram, h, 1, uintptr(unsafe.Pointer(&id)), uintptr(unsafe.Pointer(&options[0])), 0, 0)
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

// cacheDir is where compiled programs are kept; "" when there is no such place.
func cacheDir() string {
	if dir := os.Getenv("STOWAGE_OPENCL_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "stowage", "opencl")
}

// file is where the program's compiled form is kept.
func (p *program) file() string {
	dir := cacheDir()
	if dir == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{"1", p.d.id.stamp, buildOptions, p.source}, "\x00")))
	return filepath.Join(dir, hex.EncodeToString(sum[:])+".bin")
}

// load makes the program of what is kept; what is damaged counts as missing.
func (p *program) load() (uintptr, bool) {
	data, err := os.ReadFile(p.file())
	if err != nil || len(data) <= sha256.Size {
		return 0, false
	}
	body := data[sha256.Size:]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], data[:sha256.Size]) {
		return 0, false
	}
	pin := &pinned{at: unsafe.Pointer(&body[0])}
	n, id := uintptr(len(body)), p.d.id.id
	h, err := p.d.lib.create(clCreateProgramWithBinary, p.d.context, 1, uintptr(unsafe.Pointer(&id)),
		uintptr(unsafe.Pointer(&n)), uintptr(unsafe.Pointer(&pin.at)), 0)
	if err != nil {
		return 0, false
	}
	if p.compile(h) != nil {
		_ = p.d.lib.status(clReleaseProgram, h)
		return 0, false
	}
	return h, true
}

// store keeps the compiled form, unless it came from there. That it cannot is no error: the next
// process compiles again.
func (p *program) store() {
	path := p.file()
	if p.warm || path == "" {
		return
	}
	sizes, err := p.d.lib.query(clGetProgramInfo, p.handle, programBinarySizes)
	if err != nil || len(sizes) != int(unsafe.Sizeof(uintptr(0))) {
		return
	}
	n := *(*uintptr)(unsafe.Pointer(&sizes[0]))
	if n == 0 {
		return
	}
	body := make([]byte, n)
	pin := &pinned{at: unsafe.Pointer(&body[0])}
	if p.d.lib.status(clGetProgramInfo, p.handle, programBinaries, unsafe.Sizeof(pin.at),
		uintptr(unsafe.Pointer(&pin.at)), 0) != nil {
		return
	}
	sum := sha256.Sum256(body)
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new")
	if err != nil {
		return
	}
	_, err = f.Write(append(sum[:], body...))
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
}
