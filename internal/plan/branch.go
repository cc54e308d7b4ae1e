package plan

import (
	"encoding/binary"
	"sync"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// Branch is a point where planning has to know what exists before it can go on: the entry of a
// unit, or the end of a stage that made shapes or contents known.
type Branch struct {
	// Shapes and Contents list the values whose shapes and elements choose the stage. Contents
	// of more than op.MaxValue elements do not count.
	Shapes   []graph.ValueID
	Contents []graph.ValueID

	prev *Stage
	// like is a stage for the largest shapes; smaller ones take its offsets where they fit.
	like *Stage
	// largest is what like was planned for, and smaller what it has room for as well.
	largest Available
	smaller []Available
	mu      sync.Mutex
	key     []byte
	keep    int
	bytes   int64
	arena   int64
	clock   uint64
	stages  map[string]*cached

	// arm is the number of the unit's arm that the stages are planned for, and arms holds this point of
	// planning for the others.
	arm    int
	armsMu sync.Mutex
	arms   []*Branch
}

type cached struct {
	stage *Stage
	ways  *Ways
	used  uint64
	bytes int64
}

// leastKept is the number of bytes of plans that a branch keeps whatever the arena's size; above
// that it keeps arena/shareKept bytes: keeping plans must not cost more memory than running them.
const (
	leastKept = 1 << 20
	shareKept = 32
)

func newBranch(keep int) *Branch { return &Branch{keep: keep, stages: map[string]*cached{}} }

func (b *Branch) get(key []byte) *Stage {
	c := b.stages[string(key)]
	if c == nil {
		return nil
	}
	b.clock++
	c.used = b.clock
	return c.stage
}

// put adds a stage, and drops those used longest ago until what is left is within bounds.
func (b *Branch) put(key string, s *Stage) {
	b.clock++
	c := &cached{stage: s, used: b.clock, bytes: s.footprint()}
	b.stages[key] = c
	b.bytes += c.bytes
	b.arena = max(b.arena, s.Memory.Arena)
	for len(b.stages) > 1 && b.full() {
		oldest, at := "", uint64(1<<64-1)
		for k, c := range b.stages {
			if c.used < at {
				oldest, at = k, c.used
			}
		}
		b.bytes -= b.stages[oldest].bytes
		delete(b.stages, oldest)
	}
}

// forget drops all plans.
func (b *Branch) forget() {
	clear(b.stages)
	b.like, b.bytes, b.arena = nil, 0, 0
	b.armsMu.Lock()
	defer b.armsMu.Unlock()
	b.arms = nil
}

func (b *Branch) full() bool {
	if b.keep > 0 {
		return len(b.stages) > b.keep
	}
	return b.bytes > max(leastKept, b.arena/shareKept)
}

// appendKey appends what tells stages of this branch apart.
func (b *Branch) appendKey(key []byte, a Available) []byte {
	for _, v := range b.Shapes {
		dt, s := a.Type(v)
		key = append(key, byte(dt), byte(len(s)))
		for _, d := range s {
			key = binary.AppendVarint(key, d)
		}
	}
	for _, v := range b.Contents {
		t, err := a.Contents(v)
		if err != nil || t == nil || t.Len() > op.MaxValue {
			key = append(key, 0)
			continue
		}
		key = append(key, 1)
		key = append(key, t.Bytes()...)
		if t.DType() == tensor.String {
			for _, s := range t.Strings() {
				key = append(binary.AppendUvarint(key, uint64(len(s))), s...)
			}
		}
	}
	return key
}
