package opencl

import (
	"runtime"
	"sync"
)

// fixedData is contents that a kernel has of its own, such as packed weights: they are made and copied to
// the device when it runs first.
type fixedData struct {
	d    *Device
	make func() []byte

	mu  sync.Mutex
	mem *memory
}

// memory returns where the contents are.
func (f *fixedData) memory() (*memory, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mem != nil {
		return f.mem, nil
	}
	data := f.make()
	m, err := f.d.Alloc(int64(len(data)))
	if err != nil {
		return nil, err
	}
	mem := m.(*memory)
	if err := f.d.copy("upload", clEnqueueWriteBuffer, mem, 0, data); err != nil {
		_ = mem.Free()
		return nil, err
	}
	f.mem, f.make = mem, nil
	runtime.AddCleanup(f, func(m *memory) { _ = m.Free() }, mem)
	return mem, nil
}
