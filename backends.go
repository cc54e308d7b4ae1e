package stowage

import (
	"fmt"
	"slices"
	"strings"

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
	for _, k := range off {
		if known := cpu.Kernels(); !slices.Contains(known, k) {
			return nil, fmt.Errorf("stowage: options: NoKernel: got %q, want one of %q", k, nearNames(k, known))
		}
	}
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

// KernelNames returns the names that Options.NoKernel may list, sorted.
func KernelNames() []string { return cpu.Kernels() }

// nearNames returns those of the names that differ from what is given by a letter in four, or begin alike; all
// when there are none.
func nearNames(given string, names []string) []string {
	given = strings.ToLower(given)
	var out []string
	for _, name := range names {
		start := len(given) >= 3 && (strings.HasPrefix(name, given[:3]) || strings.Contains(name, given))
		if start || edits(given, name) <= 1+len(given)/4 {
			out = append(out, name)
		}
	}
	if out == nil {
		return names
	}
	return out
}

// edits is the least number of letters to be put in, taken out or replaced that makes one word another.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left, up := i+1, row[0]
		row[0] = left
		for j := range len(b) {
			n := up
			if a[i] != b[j] {
				n = 1 + min(up, left, row[j+1])
			}
			up, left = row[j+1], n
			row[j+1] = n
		}
	}
	return row[len(b)]
}
