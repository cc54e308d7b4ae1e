package place

// network is a flow network. A cut's edges are those that lead from the source's side to the
// sink's.
type network struct {
	edges []arc
	// first holds the newest edge of each vertex, and arc.next the one before; −1 ends the list.
	first []int32
	level []int32
	next  []int32
}

type arc struct {
	to, next int32
	cap      int64
}

// The first two vertices of every network.
const (
	source = 0
	sink   = 1
)

func newNetwork(vertices int) *network {
	f := &network{first: make([]int32, 0, vertices)}
	f.vertex()
	f.vertex()
	return f
}

// vertex adds a vertex.
func (f *network) vertex() int32 {
	f.first = append(f.first, -1)
	return int32(len(f.first) - 1)
}

// edge adds an edge, and its opposite of capacity back.
func (f *network) edge(from, to int32, cap, back int64) {
	if from == to || cap == 0 && back == 0 {
		return
	}
	f.edges = append(f.edges, arc{to, f.first[from], cap}, arc{from, f.first[to], back})
	f.first[from] = int32(len(f.edges) - 2)
	f.first[to] = int32(len(f.edges) - 1)
}

// run returns the greatest flow from the source to the sink (Dinic). The sum of the capacities that
// leave the source must be an int64.
func (f *network) run() int64 {
	f.level = make([]int32, len(f.first))
	f.next = make([]int32, len(f.first))
	total := int64(0)
	for f.levels() {
		copy(f.next, f.first)
		total += f.blocking()
	}
	return total
}

// levels numbers the vertices by their distance to the sink, and reports whether the source has
// one.
func (f *network) levels() bool {
	for i := range f.level {
		f.level[i] = -1
	}
	f.level[sink] = 0
	queue := append(make([]int32, 0, len(f.first)), sink)
	for i := 0; i < len(queue); i++ {
		v := queue[i]
		for at := f.first[v]; at >= 0; at = f.edges[at].next {
			if u := f.edges[at].to; f.level[u] < 0 && f.edges[at^1].cap > 0 {
				f.level[u] = f.level[v] + 1
				queue = append(queue, u)
			}
		}
	}
	return f.level[source] >= 0
}

// blocking pushes flow along shortest ways until none is left. It walks without recursion, for
// ways may be long.
func (f *network) blocking() int64 {
	total := int64(0)
	var way []int32
	for v := int32(source); ; {
		if v == sink {
			least := f.edges[way[0]].cap
			for _, at := range way {
				least = min(least, f.edges[at].cap)
			}
			total += least
			stop := -1
			for i, at := range way {
				f.edges[at].cap -= least
				f.edges[at^1].cap += least
				if f.edges[at].cap == 0 && stop < 0 {
					stop = i
				}
			}
			v = f.edges[way[stop]^1].to
			way = way[:stop]
			continue
		}
		at := f.next[v]
		for at >= 0 && (f.edges[at].cap == 0 || f.level[f.edges[at].to] != f.level[v]-1) {
			at = f.edges[at].next
		}
		f.next[v] = at
		switch {
		case at >= 0:
			way = append(way, at)
			v = f.edges[at].to
		case len(way) == 0:
			return total
		default:
			// Nothing leads on from v: step back, and past the edge.
			last := way[len(way)-1]
			way = way[:len(way)-1]
			v = f.edges[last^1].to
			f.next[v] = f.edges[last].next
		}
	}
}

// sinkSide marks the vertices from which the sink can still be reached after run: the smallest
// side of the sink that a least cut has.
func (f *network) sinkSide() []bool {
	f.levels()
	side := make([]bool, len(f.first))
	for v, l := range f.level {
		side[v] = l >= 0
	}
	return side
}
