// Package window has the CPU's kernels that slide or step over the spatial axes of images in
// the channel-blocked layout (depthwise convolutions, pools, resizing) and the changes of that layout.
package window

import (
	"unsafe"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/move"
	"github.com/stowage-ml/stowage/tensor"
)

// share is how many bytes of work are worth a task of their own.
const share = 64 << 10

// taskCount returns how many tasks to cut work of some bytes into: one for one worker.
func taskCount(bytes int64, threads int) int {
	if threads <= 1 {
		return 1
	}
	return int(max(1, min(bytes/share, int64(4*threads))))
}

// part returns the bounds of part i of n of the numbers below total.
func part(total, i, n int) (lo, hi int) { return total * i / n, total * (i + 1) / n }

// reorder changes between row-major images and blocks of channels.
type reorder struct {
	level simd.Level
	// channels and area are of one image; block is of the blocked side, images how many there are.
	images, channels, area, block int
	blocked                       bool
	tasks                         int
	// parts is how many tasks share the positions of a plane.
	parts int
}

// Reorder returns the kernel that changes the layout of a tensor of a shape: from row-major to
// blocked or back. The kernel writes the places of a block that stand for no channel as 0.
func Reorder(l simd.Level, dt tensor.DType, s tensor.Shape, from, to backend.Layout, threads int) (
	backend.Candidate, bool) {
	if from == to || (from == backend.RowMajor) == (to == backend.RowMajor) || !from.Fits(dt, s) || !to.Fits(dt, s) {
		return backend.Candidate{}, false
	}
	bytes := max(from, to).Bytes(dt, s)
	if bytes < 0 {
		return backend.Candidate{}, false
	}
	r := &reorder{level: l, images: int(s[0]), channels: int(s[1]), area: 1, block: int(max(from, to)),
		blocked: to != backend.RowMajor, tasks: taskCount(2*bytes, threads)}
	for _, d := range s[2:] {
		r.area *= int(d)
	}
	if r.parts = 1; r.images == 1 && r.area >= spreadPlane && threads > 1 && r.tasks >= threads {
		r.parts = threads
		r.tasks = threads * min((r.channels+r.block-1)/r.block, r.tasks/threads)
	}
	k := reorderOf(dt.Bits()/8, r)
	if k == nil {
		return backend.Candidate{}, false
	}
	return backend.Candidate{Name: "reorder", Source: source(l), Kernel: k, Stream: streamOf(l, 1),
		In: []backend.Layout{from}, Out: []backend.Layout{to}}, true
}

// source names the kind of code of a level.
func source(l simd.Level) string {
	if l == simd.Generic {
		return "go"
	}
	return l.String()
}

// streamOf returns the share of the bandwidth that loops in Go reach in place of a level's assembly.
func streamOf(l simd.Level, assembly float64) float64 {
	if l == simd.AVX2 || l == simd.AVX512 {
		return assembly
	}
	return assembly / 6
}

func reorderOf(size int, r *reorder) backend.Kernel {
	switch size {
	case 1:
		return reorderKernel[uint8](r)
	case 2:
		return reorderKernel[uint16](r)
	case 4:
		return reorderKernel[uint32](r)
	case 8:
		return reorderKernel[uint64](r)
	case 16:
		return reorderKernel[complex128](r)
	}
	return nil
}

func reorderKernel[T move.Word](r *reorder) backend.Kernel {
	task := func(c *backend.Call, i, _ int) {
		reorderPart(r, tensor.Cast[T](c.Out[0].Data), tensor.Cast[T](c.In[0].Data), i)
	}
	return func(c *backend.Call) error {
		if r.images*r.channels*r.area > 0 {
			c.Par(r.tasks, task)
		}
		return nil
	}
}

// reorderPart does one task: a range of all positions of all blocks, or, where planes are small, of
// all blocks.
func reorderPart[T move.Word](r *reorder, dst, src []T, task int) {
	blocks := (r.channels + r.block - 1) / r.block
	if r.area <= small {
		lo, hi := part(r.images*blocks, task, r.tasks)
		for lo < hi {
			n := 1
			if whole := r.channels/r.block - lo%blocks; whole > 0 {
				n = min(whole, hi-lo)
			}
			reorderUnits(r, dst, src, lo, n, 0, r.area)
			lo += n
		}
		return
	}
	if r.parts > 1 {
		groups := r.tasks / r.parts
		lo, hi := part(r.area, task/groups, r.parts)
		for unit, end := part(blocks, task%groups, groups); unit < end; unit++ {
			reorderUnits(r, dst, src, unit, 1, lo, hi-lo)
		}
		return
	}
	lo, hi := part(r.images*blocks*r.area, task, r.tasks)
	for lo < hi {
		unit, at := lo/r.area, lo%r.area
		n := min(r.area-at, hi-lo)
		reorderUnits(r, dst, src, unit, 1, at, n)
		lo += n
	}
}

// small is the area of planes up to which it is better to change many blocks at a time.
const small = 16

// reorderUnits does n positions from at on of some blocks of one image, of which unit is the first.
func reorderUnits[T move.Word](r *reorder, dst, src []T, unit, units, at, n int) {
	blocks := (r.channels + r.block - 1) / r.block
	ch := unit % blocks * r.block
	count := min(r.block, r.channels-ch)
	plain := (unit/blocks*r.channels+ch)*r.area + at
	packed := (unit*r.area + at) * r.block
	next := r.area * r.block
	if r.blocked {
		move.Batch(r.level, dst[packed:], src[plain:], units, next, next,
			move.Matrix{Rows: count, Cols: n, Fill: r.block, DstStride: r.block, SrcStride: r.area})
		return
	}
	move.Batch(r.level, dst[plain:], src[packed:], units, next, next,
		move.Matrix{Rows: n, Cols: count, Fill: n, DstStride: r.area, SrcStride: r.block})
}

// words returns the same memory as words whose contents do not matter.
func words(s []float32) []uint32 {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(&s[0])), len(s))
}
