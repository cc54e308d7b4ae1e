package plan

import "github.com/stowage-ml/stowage/internal/graph"

// Buffer is a range of a stage's arena: a value, values that share their bytes, or a step's own.
type Buffer struct {
	// Value is the instance that the range was made for; graph.NoValue for a step's scratch memory.
	Value graph.ValueID
	// Device is the one whose arena it is in.
	Device int
	// First and Last are the steps during which it is in use.
	First, Last   int
	Offset, Bytes int64
}

// Buffers lists what the stage's arenas hold.
func (s *Stage) Buffers() []Buffer {
	out := make([]Buffer, len(s.boxes))
	for i := range s.boxes {
		b := &s.boxes[i]
		out[i] = Buffer{Value: b.root, Device: b.device, First: b.first, Last: b.last, Offset: b.offset, Bytes: b.bytes}
	}
	return out
}
