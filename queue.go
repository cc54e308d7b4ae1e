package stowage

import (
	"context"
	"errors"
	"fmt"

	"github.com/stowage-ml/stowage/internal/exec"
)

// ErrBusy is wrapped by the errors of runs that find more callers waiting than Options.Queue allows.
var ErrBusy = errors.New("the session is busy")

// live fails when the session has been closed.
func (s *Session) live() error {
	select {
	case <-s.closed:
		return ErrClosed
	default:
		return nil
	}
}

// lane waits for a free lane; callers are served in order of arrival.
func (s *Session) lane(ctx context.Context) (*exec.Lane, error) {
	if ctx == nil {
		return nil, errors.New("stowage: run: got no context, want one, such as context.Background()")
	}
	if err := s.live(); err != nil {
		return nil, err
	}
	select {
	case l := <-s.lanes:
		// Nobody waits for it, or it would have gone there.
		return l, nil
	default:
	}
	if err := s.queue(); err != nil {
		return nil, err
	}
	defer s.waiting.Add(-1)
	since := s.opts.Trace.Now()
	select {
	case l := <-s.lanes:
		l.Waited(since)
		return l, nil
	case <-s.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("stowage: waiting for a free lane: %w", ctx.Err())
	}
}

// queue counts one more caller that waits, if as many may.
func (s *Session) queue() error {
	n := s.waiting.Add(1)
	if limit := int64(s.opts.Queue); limit != 0 && n > max(limit, 0) {
		s.waiting.Add(-1)
		return fmt.Errorf("stowage: run: got %d callers that wait for one of %d lanes, want at most %d to wait "+
			"(Options.Queue): %w", n, s.opts.Concurrency, max(limit, 0), ErrBusy)
	}
	return nil
}
