package backend

import "errors"

// ErrLost is wrapped by the errors of a device that is gone: nothing will run there any more, and what was
// in its memory is no more.
var ErrLost = errors.New("the device is lost")

// Device runs kernels on memory of its own. The host, whose memory is the process's, is none.
// Devices are safe for concurrent use; calls of one queue come one after the other.
type Device interface {
	// Name is unique in the process, such as "opencl:0".
	Name() string
	// Backend offers the device's kernels.
	Backend() Backend
	// Capacity is how many bytes of memory plans may count on; 0 means no limit.
	Capacity() int64
	// Alloc reserves memory.
	Alloc(bytes int64) (Memory, error)
	// Run runs a kernel whose operands are in the device's memory. Where the host cannot address that, it
	// may return before the kernel has ended: whatever is asked of the device later waits for it.
	Run(k Kernel, c *Call) error
	// Upload copies from the host, and Download to it; both return when the bytes are there.
	Upload(dst Memory, offset int64, src []byte) error
	Download(dst []byte, src Memory, offset int64) error
}

// Memory is a range of a device's memory.
type Memory interface {
	// Size is in bytes.
	Size() int64
	// Host returns the bytes where the host can address them; nil where it cannot.
	Host() []byte
	// Free gives the memory back. It must not be in use.
	Free() error
}
