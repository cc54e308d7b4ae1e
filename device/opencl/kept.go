package opencl

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"unsafe"
)

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

// keptFile names a file for what depends on a device, its driver and the given texts; "" when there is no
// place for it.
func (id *deviceID) keptFile(ending string, texts ...string) string {
	dir := cacheDir()
	if dir == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{"2", id.stamp}, texts...), "\x00")))
	return filepath.Join(dir, hex.EncodeToString(sum[:])+ending)
}

// readKept returns what writeKept wrote; what is damaged counts as missing.
func readKept(path string) []byte {
	if path == "" {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) <= sha256.Size {
		return nil
	}
	body := data[sha256.Size:]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], data[:sha256.Size]) {
		return nil
	}
	return body
}

// writeKept writes a file such that whoever reads it sees all of it or nothing. That it cannot is no error:
// the next process does the work again.
func writeKept(path string, body []byte) {
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new")
	if err != nil {
		return
	}
	sum := sha256.Sum256(body)
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

// file is where the bundle's compiled form is kept.
func (b *bundle) file() string { return b.d.id.keptFile(".bin", buildOptions, b.text()) }

// load makes the program of what is kept.
func (b *bundle) load() (uintptr, bool) {
	body := readKept(b.file())
	if body == nil {
		return 0, false
	}
	pin := &pinned{at: unsafe.Pointer(&body[0])}
	n, id := uintptr(len(body)), b.d.id.id
	h, err := b.d.lib.create(clCreateProgramWithBinary, b.d.context, 1, uintptr(unsafe.Pointer(&id)),
		uintptr(unsafe.Pointer(&n)), uintptr(unsafe.Pointer(&pin.at)), 0)
	if err != nil {
		return 0, false
	}
	if b.compile(h) != nil {
		_ = b.d.lib.status(clReleaseProgram, h)
		return 0, false
	}
	return h, true
}

// store keeps the compiled form.
func (b *bundle) store() {
	path := b.file()
	sizes, err := b.d.lib.query(clGetProgramInfo, b.handle, programBinarySizes)
	if path == "" || err != nil || len(sizes) != int(unsafe.Sizeof(uintptr(0))) {
		return
	}
	n := *(*uintptr)(unsafe.Pointer(&sizes[0]))
	if n == 0 {
		return
	}
	body := make([]byte, n)
	pin := &pinned{at: unsafe.Pointer(&body[0])}
	if b.d.lib.status(clGetProgramInfo, b.handle, programBinaries, unsafe.Sizeof(pin.at),
		uintptr(unsafe.Pointer(&pin.at)), 0) == nil {
		writeKept(path, body)
	}
}
