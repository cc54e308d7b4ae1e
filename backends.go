package stowage

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/simd"
)

// reference is the kernel set that has every operator.
const reference = "reference"

// oracle has every operator that can run, and computes constants. It and kernelSet are the one
// place that names backends.
func oracle() backend.Backend { return ref.Backend{} }

// kernelSet returns the backend that Options.Kernels names, without the kernels in off. Tests put
// their own in its place.
var kernelSet = namedKernels

func namedKernels(name string, off []string) (backend.Backend, error) {
	if name == reference {
		return oracle(), nil
	}
	if name != "" {
		found := []string{reference}
		for _, l := range simd.Levels() {
			if found = append(found, l.String()); l.String() == name {
				return cpu.Backend{Level: l, Off: off, Fallback: oracle()}, nil
			}
		}
		return nil, fmt.Errorf("stowage: options: Kernels: got %q, want one of %q", name, found)
	}
	return cpu.Backend{Level: simd.Best(), Off: off, Fallback: oracle()}, nil
}
