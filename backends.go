package stowage

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/simd"
)

// backends lists what is compiled in, best first: the one place that names a backend. Plans take
// the first; the last has every operator that any of them has, and computes constants.
var backends = []backend.Backend{
	cpu.Backend{Level: simd.Best(), Fallback: ref.Backend{}},
	ref.Backend{},
}

func planner() backend.Backend { return backends[0] }

func oracle() backend.Backend { return backends[len(backends)-1] }
