//go:build !((linux || darwin) && (amd64 || arm64))

package opencl

import (
	"fmt"
	"runtime"
)

// loadLibrary says that there is nothing to open.
func loadLibrary() (find func(name string) (uintptr, error), err error) {
	return nil, fmt.Errorf("got %s/%s, want linux or darwin on amd64 or arm64", runtime.GOOS, runtime.GOARCH)
}

// call is never reached, since no library can be opened.
func call(uintptr, ...uintptr) uintptr { panic("BUG: opencl: a call without a library") }
