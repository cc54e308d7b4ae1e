package exec

import "time"

// pace finds out whether a stage is faster with all workers or with its caller alone. Short steps
// whose operands other processors wrote last may lose more by sharing than they gain, by how much
// depends on the machine, and on what else it does. Results do not depend on the choice.
type pace struct {
	// runs counts since the last beginning; least is the shortest time with all workers, and alone.
	runs  int
	least [2]time.Duration
	alone bool
}

const (
	// tries is how often each way is timed before the faster one is chosen, chosen how many runs that
	// choice is good for.
	tries  = 4
	chosen = 256
	// longest is the time from which sharing is never in question.
	longest = 20 * time.Millisecond
)

// start returns whether the next run is without other workers.
func (p *pace) start() (alone bool) {
	switch {
	case p.runs == 0 || p.runs > 2*tries:
		return p.alone
	case p.least[0] > longest:
		return false
	}
	// Not in turns: the first run of either way finds its operands in the other's caches.
	return p.runs > tries
}

// end takes how long the run that start began took. The first after a pause is not counted: caches
// are cold.
func (p *pace) end(alone bool, took time.Duration) {
	i := 0
	if alone {
		i = 1
	}
	if p.runs > 0 && (p.least[i] == 0 || took < p.least[i]) {
		p.least[i] = took
	}
	switch p.runs++; {
	case p.runs == 2*tries+1:
		// A little is not worth a change, and may be chance.
		p.alone = p.least[1] > 0 && p.least[1] < p.least[0]-p.least[0]/32
	case p.runs > chosen:
		*p = pace{alone: p.alone}
	}
}
