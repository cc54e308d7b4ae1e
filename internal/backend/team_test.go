package backend

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// tally counts, in a call's scratch memory, how often each task ran, and checks the workers.
type tally struct {
	t       *testing.T
	done    []atomic.Int32
	workers []atomic.Int32
}

func newTally(t *testing.T, tasks, workers int) *tally {
	return &tally{t: t, done: make([]atomic.Int32, tasks), workers: make([]atomic.Int32, workers)}
}

func (y *tally) task(_ *Call, task, worker int) {
	if worker >= len(y.workers) {
		y.t.Errorf("got worker %d of %d", worker, len(y.workers))
		return
	}
	if y.workers[worker].Add(1) != 1 {
		y.t.Errorf("worker %d has two tasks at the same time", worker)
	}
	y.done[task].Add(1)
	y.workers[worker].Add(-1)
}

func (y *tally) check(what string) {
	for i := range y.done {
		if n := y.done[i].Load(); n != 1 {
			y.t.Errorf("%s: task %d ran %d times, want once", what, i, n)
		}
	}
}

func TestEveryTaskRunsOnce(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 3, 8} {
		team := NewTeam(workers)
		for _, limit := range []int{0, 1, 2, 100} {
			c := Call{Team: team.Limit(limit)}
			if got, want := c.Workers(), max(1, min(workers, limit)); got != want {
				t.Errorf("%d workers limited to %d: got %d, want %d", workers, limit, got, want)
			}
			for _, tasks := range []int{0, 1, 2, 7, 1000} {
				y := newTally(t, tasks, c.Workers())
				c.Par(tasks, y.task)
				y.check(fmt.Sprintf("%d tasks, %d workers", tasks, c.Workers()))
			}
		}
		team.Close()
	}
}

func TestNilTeamIsTheCaller(t *testing.T) {
	var team *Team
	c := Call{Team: team.Limit(4)}
	if c.Team != nil || c.Workers() != 1 {
		t.Fatalf("got team %v of %d", c.Team, c.Workers())
	}
	order := ""
	c.Par(3, func(_ *Call, task, worker int) { order += fmt.Sprint(task, worker, " ") })
	if order != "0 0 1 0 2 0 " {
		t.Errorf("got %q", order)
	}
	team.Close()
}

func TestManyCallersShareAndTiringHelpersMissNothing(t *testing.T) {
	team := NewTeam(4)
	defer team.Close()
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	var group sync.WaitGroup
	for caller := range 6 {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(caller)))
			c := Call{Team: team.Limit(2 + caller%3)}
			for range rounds {
				y := newTally(t, rng.IntN(20), c.Workers())
				c.Par(len(y.done), y.task)
				y.check("shared")
				if rng.IntN(8) == 0 {
					time.Sleep(time.Duration(rng.IntN(120)) * time.Microsecond)
				}
			}
		})
	}
	group.Wait()
}

func TestBusyHelpersDoNotHoldACallUp(t *testing.T) {
	team := NewTeam(2)
	defer team.Close()
	started, release := make(chan bool, 2), make(chan bool)
	hold := func(*Call, int, int) { started <- true; <-release }
	first := make(chan bool)
	go func() {
		c := Call{Team: team}
		c.Par(2, hold)
		close(first)
	}()
	<-started
	<-started
	for range 10 {
		c := Call{Team: team}
		y := newTally(t, 5, 2)
		c.Par(5, y.task)
		y.check("while the helper is busy")
	}
	close(release)
	<-first
}

func TestUnbegunWorkIsTakenBack(t *testing.T) {
	c := newCrew(1)
	j := c.job()
	h := &c.helpers[0]
	h.box.Store(idle)
	j.deal(2, 2)
	j.open.Store(1)
	c.ask(j, 1)
	if h.box.Load() != j || j.open.Load() != 2 {
		t.Fatal("the idle helper was not asked")
	}
	j.finish(c)
	if h.box.Load() != idle || j.open.Load() != 0 || len(j.asked) != 0 {
		t.Errorf("got %d open and %d asked after the caller was done", j.open.Load(), len(j.asked))
	}
}

func TestWorkersHaveTheirOwnShareFirst(t *testing.T) {
	j := newCrew(2).job()
	j.deal(8, 3)
	order := ""
	j.f = func(_ *Call, task, worker int) { order += fmt.Sprint(worker, task, " ") }
	if i, ok := j.shares[2].take(true); i != 7 || !ok {
		t.Errorf("got task %d from the end, want 7", i)
	}
	j.work(1)
	j.work(0)
	if want := "1 2 1 3 1 4 1 6 1 5 1 1 1 0 "; order != want {
		t.Errorf("got %q, want %q", order, want)
	}
}

func TestHelpersKeepTheirNumbers(t *testing.T) {
	j := newCrew(3).job()
	j.deal(3, 3)
	for _, place := range []int{2, 1, 0} {
		if len(j.free) == 0 {
			break
		}
		j.seat(place)
		j.seated(place)
	}
	if j.seats[2] != 2 || j.seats[1] != 1 || len(j.free) != 0 {
		t.Errorf("got %v with %v free, want place 2 to have 2 and place 1 what is left", j.seats, j.free)
	}
	j.deal(4, 4)
	for _, place := range []int{1, 0, 2} {
		j.seat(place)
		j.seated(place)
		if j.seats[place] != place+1 {
			t.Errorf("place %d: got number %d", place, j.seats[place])
		}
	}
}

// both lets two tasks meet, so that each runs on a worker of its own.
type both struct {
	meet  sync.WaitGroup
	after func(worker int)
}

func newBoth(after func(worker int)) *both {
	b := &both{after: after}
	b.meet.Add(2)
	return b
}

func (b *both) task(_ *Call, _, worker int) {
	b.meet.Done()
	b.meet.Wait()
	b.after(worker)
}

// recovered returns what f panics with.
func recovered(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

func TestPanicsReachTheCaller(t *testing.T) {
	team := NewTeam(2)
	defer team.Close()
	c := Call{Team: team}
	for name, want := range map[string]struct {
		worker int
		fail   func()
		text   string
	}{
		"helper's":  {1, func() { panic("sad") }, "team_test.go"},
		"helper's ": {1, func() { var a []int; _ = a[c.Workers()] }, "index out of range"},
		"caller's":  {0, func() { panic("sad") }, "sad"},
		"goexit":    {1, runtime.Goexit, "ended its goroutine"},
	} {
		p := recovered(func() {
			c.Par(2, newBoth(func(worker int) {
				if worker == want.worker {
					want.fail()
				}
			}).task)
		})
		if text := fmt.Sprint(p); p == nil || !strings.Contains(text, want.text) ||
			want.worker == 1 && !strings.HasPrefix(text, "BUG: backend: a task panicked at ") {
			t.Errorf("%s: got %v, want %q in it", name, p, want.text)
		}
		y := newTally(t, 100, 2)
		c.Par(100, y.task)
		y.check("after a panic")
		c.Par(2, newBoth(func(int) {}).task)
	}
}

func TestACallersPanicWaitsForItsHelpers(t *testing.T) {
	team := NewTeam(2)
	defer team.Close()
	c := Call{Team: team}
	var ended atomic.Bool
	recovered(func() {
		c.Par(2, newBoth(func(worker int) {
			if worker == 0 {
				panic("sad")
			}
			time.Sleep(2 * time.Millisecond)
			ended.Store(true)
		}).task)
	})
	if !ended.Load() {
		t.Error("the caller went on while a task was running")
	}
}

// helpers waits until n goroutines of teams live, and returns how many do in the end.
func helpers(n int) int {
	buf := make([]byte, 1<<20)
	for range 1000 {
		if strings.Count(string(buf[:runtime.Stack(buf, true)]), "(*helper).live(") == n {
			return n
		}
		time.Sleep(time.Millisecond)
	}
	return strings.Count(string(buf[:runtime.Stack(buf, true)]), "(*helper).live(")
}

func TestGoroutinesStartLateAndEndWithClose(t *testing.T) {
	team := NewTeam(4)
	c := Call{Team: team}
	c.Par(1, func(*Call, int, int) {})
	if n := helpers(0); n != 0 {
		t.Errorf("got %d helpers before there was work to share, want none", n)
	}
	c.Par(2, newBoth(func(int) {}).task)
	if n := helpers(1); n != 1 {
		t.Errorf("got %d helpers for two tasks, want 1", n)
	}
	team.Close()
	if n := helpers(0); n != 0 {
		t.Errorf("got %d helpers after Close, want none", n)
	}
	y := newTally(t, 10, 4)
	c.Par(10, y.task)
	y.check("after Close")
}

func TestOneProcessorIsEnough(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	team := NewTeam(3)
	defer team.Close()
	c := Call{Team: team}
	c.Par(2, newBoth(func(int) {}).task)
	for range 200 {
		y := newTally(t, 9, 3)
		c.Par(9, y.task)
		y.check("one processor")
	}
}

func TestParAllocatesNothing(t *testing.T) {
	team := NewTeam(2)
	defer team.Close()
	c := &Call{Team: team}
	f := func(*Call, int, int) {}
	c.Par(4, f)
	if n := testing.AllocsPerRun(1000, func() { c.Par(4, f) }); n != 0 {
		t.Errorf("got %v allocations per call, want 0", n)
	}
}

func BenchmarkPar(b *testing.B) {
	for _, workers := range []int{1, 2} {
		for _, tasks := range []int{1, 2, 16} {
			b.Run(fmt.Sprintf("workers=%d/tasks=%d", workers, tasks), func(b *testing.B) {
				team := NewTeam(workers)
				defer team.Close()
				c := &Call{Team: team}
				f := func(*Call, int, int) {}
				b.ReportAllocs()
				for b.Loop() {
					c.Par(tasks, f)
				}
			})
		}
	}
}
