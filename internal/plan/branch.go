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
	like   *Stage
	mu     sync.Mutex
	key    []byte
	max    int
	clock  uint64
	stages map[string]*cached
}

type cached struct {
	stage *Stage
	used  uint64
}

func newBranch(limit int) *Branch {
	return &Branch{max: limit, stages: map[string]*cached{}}
}

func (b *Branch) get(key []byte) *Stage {
	c := b.stages[string(key)]
	if c == nil {
		return nil
	}
	b.clock++
	c.used = b.clock
	return c.stage
}

// put adds a stage; when the cache is full, the least recently used one leaves it.
func (b *Branch) put(key string, s *Stage) {
	if len(b.stages) >= b.max {
		oldest, at := "", uint64(1<<64-1)
		for k, c := range b.stages {
			if c.used < at {
				oldest, at = k, c.used
			}
		}
		delete(b.stages, oldest)
	}
	b.clock++
	b.stages[key] = &cached{stage: s, used: b.clock}
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
