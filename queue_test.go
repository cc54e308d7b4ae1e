package stowage

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stowage-ml/stowage/internal/testkit"
)

// waitFor fails the test unless so many callers wait for a lane, soon.
func waitFor(t *testing.T, s *Session, n int64) {
	t.Helper()
	for wait := time.Microsecond; s.waiting.Load() != n; wait *= 2 {
		if wait > time.Second {
			t.Fatalf("got %d callers that wait, want %d", s.waiting.Load(), n)
		}
		time.Sleep(wait)
	}
}

func queued(t *testing.T, o Options) *Session {
	t.Helper()
	var m *testkit.Model = ladder(1)
	s, err := openOn(t, loaded(t, m), o)
	must(t, s, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestCallersAreServedInOrderOfArrival holds the only lane while others come.
func TestCallersAreServedInOrderOfArrival(t *testing.T) {
	const n = 20
	var mu sync.Mutex
	var order []int
	s := queued(t, Options{})
	lane := <-s.lanes
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			l, err := s.lane(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			s.lanes <- l
		})
		waitFor(t, s, int64(i+1))
	}
	s.lanes <- lane
	wg.Wait()
	for i, got := range order {
		if got != i {
			t.Fatalf("got the order %v, want that of arrival", order)
		}
	}
	if got := s.waiting.Load(); got != 0 {
		t.Errorf("got %d callers that wait, want none", got)
	}
}

// TestAFullQueueRefusesCallersAtOnce fills a queue; who gives up makes room.
func TestAFullQueueRefusesCallersAtOnce(t *testing.T) {
	for _, c := range []struct {
		queue, waiting int
	}{{-1, 0}, {1, 1}, {3, 3}} {
		s := queued(t, Options{Queue: c.queue})
		if _, err := s.Run(context.Background(), ladderFeed(0)); err != nil {
			t.Errorf("queue %d: with a free lane: got %v", c.queue, err)
		}
		lane := <-s.lanes
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for range c.waiting {
			wg.Go(func() {
				if _, err := s.Run(ctx, ladderFeed(0)); !errors.Is(err, context.Canceled) {
					t.Errorf("queue %d: a caller that gave up: got %v", c.queue, err)
				}
			})
		}
		waitFor(t, s, int64(c.waiting))
		_, err := s.Run(context.Background(), ladderFeed(0))
		if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "callers that wait for one of 1 lanes") {
			t.Errorf("queue %d: one more: got %v, want ErrBusy and how many wait", c.queue, err)
		}
		cancel()
		wg.Wait()
		waitFor(t, s, 0)
		s.lanes <- lane
		if _, err := s.Run(context.Background(), ladderFeed(0)); err != nil {
			t.Errorf("queue %d: after all: got %v", c.queue, err)
		}
	}
}

func TestOptionsOfQueueAndPolicyAreChecked(t *testing.T) {
	m := loaded(t, ladder(1))
	for _, c := range []struct {
		o    Options
		want string
	}{{Options{Queue: -2}, "Queue: got -2"}, {Options{Policy: "fastest"}, `got "fastest", want one of`}} {
		if _, err := m.Open(&c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.o, err, c.want)
		}
	}
}

func TestRunsWantAContext(t *testing.T) {
	s := queued(t, Options{})
	var none context.Context
	if _, err := s.lane(none); err == nil || !strings.Contains(err.Error(), "got no context") {
		t.Errorf("got error %v", err)
	}
}
