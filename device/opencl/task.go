package opencl

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/stowage-ml/stowage/internal/backend"
)

// place says which memory of a call an operand is in.
type place uint8

const (
	input place = iota
	output
	scratch
	// own is memory that only the kernel knows of.
	own
)

// operand is a range of bytes that a kernel reads or writes: of input or output i, or of the scratch
// memory from offset on.
type operand struct {
	in     place
	i      int
	offset int64
	bytes  int64
	fixed  *fixedData
}

// task is one launch of a kernel. The kernel's parameters are, for each operand, a buffer and an
// offset (ulong), and then the numbers (int).
type task struct {
	d      *Device
	source string
	// prog is set when the task is one of a kernel that is offered.
	prog     *program
	operands []operand
	numbers  []int32
	// global and local are the sizes in work-items; dims says how many of them count.
	dims          int
	global, local [3]uintptr

	// mu holds back a second launch between the setting of parameters and the launch.
	mu     sync.Mutex
	kernel uintptr
	bound  []bound
	launch func() error
}

// bound is an operand as it was set last; C code reads it there.
type bound struct {
	mem    uintptr
	offset uint64
	set    bool
}

// prepare builds the program and makes the kernel, the first time. The task's lock is held.
func (t *task) prepare() error {
	if t.kernel != 0 {
		return nil
	}
	h, err := t.prog.built()
	if err != nil {
		return err
	}
	name := append([]byte(t.prog.name), 0)
	k, err := t.d.lib.create(clCreateKernel, h, uintptr(unsafe.Pointer(&name[0])))
	if err != nil {
		return t.d.check("kernel", err)
	}
	at := 2 * len(t.operands)
	for i := range t.numbers {
		if err := t.d.lib.status(clSetKernelArg, k, uintptr(at+i), 4, uintptr(unsafe.Pointer(&t.numbers[i]))); err != nil {
			_ = t.d.lib.status(clReleaseKernel, k)
			return t.d.check("kernel parameter", err)
		}
	}
	t.kernel, t.bound, t.launch = k, make([]bound, len(t.operands)), t.enqueue
	d := t.d
	runtime.AddCleanup(t, func(k uintptr) {
		if !d.Lost() {
			_ = d.lib.status(clReleaseKernel, k)
		}
	}, k)
	return nil
}

// run asks for one launch.
func (t *task) run(c *backend.Call) error {
	for _, g := range t.global[:t.dims] {
		if g == 0 {
			return nil
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.prepare(); err != nil {
		return err
	}
	for i := range t.operands {
		if err := t.bind(i, c); err != nil {
			return err
		}
	}
	t.d.launches.Add(1)
	if err := t.d.ask("launch", t.launch); err != nil {
		return err
	}
	t.prog.ran()
	return nil
}

func (t *task) enqueue() error {
	return t.d.lib.status(clEnqueueNDRangeKernel, t.d.queue, t.kernel, uintptr(t.dims), 0,
		uintptr(unsafe.Pointer(&t.global[0])), uintptr(unsafe.Pointer(&t.local[0])), 0, 0, 0)
}

// bind sets the parameters of an operand, where they are not those of the last launch.
func (t *task) bind(i int, c *backend.Call) error {
	o := &t.operands[i]
	mem, offset := c.ScratchMem, c.ScratchOffset
	switch o.in {
	case input:
		mem, offset = c.In[o.i].Mem, c.In[o.i].Offset
	case output:
		mem, offset = c.Out[o.i].Mem, c.Out[o.i].Offset
	}
	if o.in == own {
		var err error
		if mem, err = o.fixed.memory(); err != nil {
			return err
		}
		offset = 0
	}
	m, err := t.d.own(mem, offset+o.offset, o.bytes)
	if err != nil {
		return fmt.Errorf("operand %d: %w", i, err)
	}
	b := &t.bound[i]
	if at := uint64(offset + o.offset); !b.set || b.mem != m.handle || b.offset != at {
		b.mem, b.offset, b.set = m.handle, at, false
		if err := t.d.lib.status(clSetKernelArg, t.kernel, uintptr(2*i), unsafe.Sizeof(b.mem),
			uintptr(unsafe.Pointer(&b.mem))); err != nil {
			return t.d.check("kernel parameter", err)
		}
		err := t.d.lib.status(clSetKernelArg, t.kernel, uintptr(2*i+1), 8, uintptr(unsafe.Pointer(&b.offset)))
		if err != nil {
			return t.d.check("kernel parameter", err)
		}
		b.set = true
	}
	return nil
}

// sequence runs tasks in order.
func sequence(tasks []*task) backend.Kernel {
	return func(c *backend.Call) error {
		for _, t := range tasks {
			if err := t.run(c); err != nil {
				return err
			}
		}
		return nil
	}
}
