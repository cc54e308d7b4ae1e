package ref

import (
	"fmt"
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// suppression is a NonMaxSuppression of given extents.
type suppression struct {
	batches, classes, boxes int
	centred                 bool
}

// rect is a box by its corners, the lower ones first.
type rect struct{ y0, x0, y1, x1 float32 }

func makeNonMaxSuppression(o *backend.Op) (prepared, error) {
	boxes, scores := o.In[0].Shape, o.In[1].Shape
	if len(boxes) != 3 || len(scores) != 3 || boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2] {
		return prepared{}, fmt.Errorf("boxes and scores: got shapes %v and %v, want [B,N,4] and [B,C,N]", boxes, scores)
	}
	s := suppression{int(scores[0]), int(scores[1]), int(scores[2]), o.Node.Attrs.Int("center_point_box", 0) != 0}
	return run(s.run)
}

func (s *suppression) run(c *backend.Call) error {
	limit := int64(0)
	if fed(c, 2) {
		limit = intAt(&c.In[2], 0)
	}
	overlap := float32(0)
	if fed(c, 3) {
		overlap = tensor.Cast[float32](c.In[3].Data)[0]
	}
	boxes, scores := tensor.Cast[float32](c.In[0].Data), tensor.Cast[float32](c.In[1].Data)
	var chosen []int64
	for b := range s.batches {
		rects := s.rects(boxes[b*s.boxes*4:])
		for k := range s.classes {
			of := scores[(b*s.classes+k)*s.boxes:][:s.boxes]
			for _, i := range suppress(rects, s.candidates(c, of), limit, overlap) {
				chosen = append(chosen, int64(b), int64(k), int64(i))
			}
		}
	}
	if err := c.Place(0, tensor.Shape{int64(len(chosen) / 3), 3}); err != nil {
		return err
	}
	copy(tensor.Cast[int64](c.Out[0].Data), chosen)
	return nil
}

// fed reports whether an optional input is present and holds something.
func fed(c *backend.Call, i int) bool { return i < len(c.In) && len(c.In[i].Data) > 0 }

func (s *suppression) rects(boxes []float32) []rect {
	out := make([]rect, s.boxes)
	for i := range out {
		b := boxes[i*4 : i*4+4]
		if s.centred {
			out[i] = rect{b[1] - b[3]/2, b[0] - b[2]/2, b[1] + b[3]/2, b[0] + b[2]/2}
		} else {
			out[i] = rect{min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3])}
		}
	}
	return out
}

// candidates returns the boxes whose score is above the threshold, the best first; of equals the
// first comes first.
func (s *suppression) candidates(c *backend.Call, scores []float32) []int {
	var out []int
	for i, v := range scores {
		if !fed(c, 4) || v > tensor.Cast[float32](c.In[4].Data)[0] {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return -ascending(scores[a], scores[b]) })
	return out
}

// suppress goes through the candidates and keeps each that overlaps none of those kept before by
// more than the given ratio of intersection to union, up to the limit.
func suppress(rects []rect, candidates []int, limit int64, overlap float32) []int {
	var kept []int
	for _, i := range candidates {
		if int64(len(kept)) >= limit {
			break
		}
		if !slices.ContainsFunc(kept, func(k int) bool { return rects[k].overlap(rects[i]) > overlap }) {
			kept = append(kept, i)
		}
	}
	return kept
}

func (r rect) area() float32 { return (r.y1 - r.y0) * (r.x1 - r.x0) }

// overlap is the area of the intersection over that of the union; 0 when either is empty.
func (r rect) overlap(o rect) float32 {
	both := rect{max(r.y0, o.y0), max(r.x0, o.x0), min(r.y1, o.y1), min(r.x1, o.x1)}
	if both.y1 <= both.y0 || both.x1 <= both.x0 || r.area() <= 0 || o.area() <= 0 {
		return 0
	}
	return both.area() / (r.area() + o.area() - both.area())
}
