package stowage

import (
	"runtime"
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
)

// workers is the one set of goroutines that all sessions share, of the size of the machine's share
// at its first use.
var workers = sync.OnceValue(func() *backend.Team { return backend.NewTeam(machineThreads()) })

// machineThreads returns how many goroutines of this process can run at the same time: what
// GOMAXPROCS says, at most as many as the processors that the process may use, and as its control
// group's quota pays for.
func machineThreads() int {
	n := min(runtime.GOMAXPROCS(0), runtime.NumCPU())
	if q := cpuQuota(); q > 0 {
		n = min(n, q)
	}
	return max(n, 1)
}

// Threads returns how many threads one run may use.
func (s *Session) Threads() int { return s.team.Size() }
