package opencl

import (
	"runtime"
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
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
	m, err := f.d.Share(data)
	if err == nil && m == nil {
		m, err = f.d.copied(data)
	}
	if err != nil {
		return nil, err
	}
	mem := m.(*memory)
	f.mem, f.make = mem, nil
	runtime.AddCleanup(f, func(m *memory) { _ = m.Free() }, mem)
	return mem, nil
}

// copied returns memory with a copy of data.
func (d *Device) copied(data []byte) (backend.Memory, error) {
	m, err := d.Alloc(int64(len(data)))
	if err != nil {
		return nil, err
	}
	if err := d.copy("upload", clEnqueueWriteBuffer, m, 0, data); err != nil {
		_ = m.Free()
		return nil, err
	}
	return m, nil
}
