package cpu

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/window"
	"github.com/stowage-ml/stowage/tensor"
)

var _ backend.Reorderer = Backend{}

// Reorder returns a kernel that changes between row-major order and blocks of channels.
func (b Backend) Reorder(dt tensor.DType, s tensor.Shape, from, to backend.Layout, threads int) (
	backend.Candidate, bool) {
	return window.Reorder(b.Level, dt, s, from, to, threads)
}
