//go:build (linux || darwin) && (amd64 || arm64)

package opencl

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// loadLibrary opens the library and returns what finds its functions.
func loadLibrary() (find func(name string) (uintptr, error), err error) {
	names := []string{"libOpenCL.so.1", "libOpenCL.so"}
	if runtime.GOOS == "darwin" {
		names = []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	}
	var first error
	for _, name := range names {
		h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			return func(name string) (uintptr, error) { return purego.Dlsym(h, name) }, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// call calls a C function.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}
