package arena

import "slices"

// aliasCycle returns buffers each of which lies over the next, and the last over the first; nil when there are
// none.
func (p *Problem) aliasCycle() []int {
	if len(p.Aliases) == 0 {
		return nil
	}
	over := make(map[int][]int, len(p.Aliases))
	for _, a := range p.Aliases {
		over[a.Out] = append(over[a.Out], a.In)
	}
	const under, done = 1, 2
	state := map[int]int{}
	for _, a := range p.Aliases {
		// The buffers from a.Out down, each with how many of those that it lies over are done.
		path, next := []int{a.Out}, []int{0}
		if state[a.Out] == done {
			continue
		}
		state[a.Out] = under
		for len(path) > 0 {
			n := len(path) - 1
			i := path[n]
			if next[n] == len(over[i]) {
				state[i] = done
				path, next = path[:n], next[:n]
				continue
			}
			to := over[i][next[n]]
			next[n]++
			switch state[to] {
			case under:
				return path[slices.Index(path, to):]
			case done:
			default:
				state[to] = under
				path, next = append(path, to), append(next, 0)
			}
		}
	}
	return nil
}
