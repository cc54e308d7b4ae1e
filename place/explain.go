package place

import "math/bits"

// Reason says why a node is where it is.
type Reason string

// The reasons of a Choice, in the order in which they are looked for.
const (
	// OnlyDevice: no other device can run the node.
	OnlyDevice Reason = "only device that can run it"
	// NoRoom: another device would be better, and has no room.
	NoRoom Reason = "no room where it would be better"
	// OwnTime: no other device runs it faster.
	OwnTime Reason = "fastest there"
	// ItsCopies: other devices run it faster, and its copies would cost more than that saves.
	ItsCopies Reason = "near what it reads and who reads it"
	// Unsettled: moving this node alone would be better; the placement is not a best one.
	Unsettled Reason = "placement not proven"
)

// Choice explains where one node is.
type Choice struct {
	Node, Device int
	// RunnerUp is the device to which moving the node alone costs least, −1 when there is none, and
	// Margin what that would add to the cost.
	RunnerUp int
	Margin   int64
	Reason   Reason
}

// Explain says for each node of a placement why it is where it is. The placement must be one that
// Validate accepts. It takes O(devices × edges) time, more where many nodes read one tensor.
func Explain(p *Problem, s *Solution) ([]Choice, error) {
	m, err := newModel(p)
	if err != nil {
		return nil, err
	}
	if err := Validate(p, s); err != nil {
		return nil, err
	}
	x := append([]int(nil), s.Device...)
	out := make([]Choice, m.n)
	for v := range out {
		out[v] = m.explain(x, s.Used, v)
	}
	return out, nil
}

func (m *model) explain(x []int, used []int64, v int) Choice {
	c := Choice{Node: v, Device: x[v], RunnerUp: -1, Reason: OnlyDevice}
	room := true
	for set := m.dom[v] &^ (1 << x[v]); set != 0; set &= set - 1 {
		e := bits.TrailingZeros64(set)
		if by := m.change(x, v, e); c.RunnerUp < 0 || by < c.Margin {
			c.RunnerUp, c.Margin = e, by
			room = m.caps == nil || m.size[v*m.k+e] <= m.caps[e]-used[e]
		}
	}
	if c.RunnerUp < 0 {
		return c
	}
	fastest := true
	for d := range m.k {
		fastest = fastest && m.cost[v*m.k+d] >= m.cost[v*m.k+x[v]]
	}
	switch {
	case c.Margin < 0 && !room:
		c.Reason = NoRoom
	case c.Margin < 0:
		c.Reason = Unsettled
	case fastest:
		c.Reason = OwnTime
	default:
		c.Reason = ItsCopies
	}
	return c
}
