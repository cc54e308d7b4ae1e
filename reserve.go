package stowage

import (
	"context"
	"errors"
	"fmt"

	"github.com/stowage-ml/stowage/internal/exec"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/selector"
)

// reserve makes the lanes and, when every dim is bounded, plans the largest shapes and reserves memory
// for them. A device that refuses memory gets less to do.
func (s *Session) reserve() error {
	largest, ok := s.shapes(s.opts.Max)
	var st *plan.Stage
	if ok {
		var err error
		// With several devices the plan may have to be made again, for which it must be known.
		if s.varies() || len(s.devices.away) > 0 {
			st, err = s.unit.Bound(largest, s.buckets()...)
		} else {
			st, err = s.unit.Next(s.unit.Entry, largest)
		}
		if err != nil {
			return err
		}
	}
	for {
		retreats := s.unit.Retreats()
		err := s.openLanes(st)
		if err == nil {
			s.openArms(st, largest)
			return nil
		}
		err = fmt.Errorf("stowage: open: %w", err)
		if closed := s.closeLanes(); closed != nil {
			return errors.Join(err, closed)
		}
		if lost, ok := errors.AsType[*exec.LostError](err); ok {
			if s.frontier.Lost(lost.Device) {
				return err
			}
			s.frontier.Lose(lost.Device)
			var again error
			if st, again = s.unit.Lose(lost.Device); again != nil {
				return fmt.Errorf("%w; and without it: %w", err, again)
			}
			continue
		}
		if st, err = s.retreat(err, retreats, st); err != nil {
			return err
		}
	}
}

// buckets returns the inputs' shapes with the bounded dims at a quarter of their bounds, a sixteenth and
// so on, down to 1, where plans may use other devices than for the largest shapes.
func (s *Session) buckets() []plan.Available {
	var out []plan.Available
	if len(s.devices.away) == 0 || !s.varies() {
		return nil
	}
	for shift := 2; ; shift += 2 {
		dims, last := map[string]int64{}, true
		for name, n := range s.opts.Max {
			dims[name] = max(min(n, 1), n>>shift)
			last = last && dims[name] <= 1
		}
		if shapes, ok := s.shapes(dims); ok {
			out = append(out, shapes)
		}
		if last {
			return out
		}
	}
}

// openLanes makes the lanes, with memory for a stage unless that is nil.
func (s *Session) openLanes(st *plan.Stage) error {
	s.lanes = make(chan *exec.Lane, s.opts.Concurrency)
	for range s.opts.Concurrency {
		l := exec.NewLane()
		l.Progress, l.Team = s.opts.Progress, s.team
		l.Devices, l.Resident, l.Frontier = s.devices.away, &s.devices.resident, s.frontier
		l.Uses = s.devices.uses
		l.TraceTo(s.opts.Trace)
		s.every = append(s.every, l)
		s.lanes <- l
	}
	if st == nil {
		return nil
	}
	return s.reserveFor(st)
}

// reserveFor makes the memory of all lanes large enough for a stage, and brings its constants to the
// devices.
func (s *Session) reserveFor(st *plan.Stage) error {
	for _, l := range s.every {
		if err := l.ReserveFor(st); err != nil {
			return err
		}
	}
	return s.every[0].Load(st)
}

// openArms plans what runs for the largest shapes may do instead of the best plan, st, and reserves
// memory for that too, while runs go on with the best plan.
func (s *Session) openArms(st *plan.Stage, largest plan.Available) {
	if st == nil || s.frontier == nil || s.frontier.Policy == selector.Static || len(s.unit.Arms()) < 2 {
		return
	}
	s.frontier.Beside(func() {
		w, err := s.unit.Ways(s.unit.Entry, largest)
		if err != nil {
			return // runs will say why
		}
		for _, way := range w.Resolve(1) {
			if way.Stage != st && s.addArm(way.Stage, st) != nil {
				w.Drop(way.Stage)
			}
		}
	})
}

// addArm reserves memory for a stage in the lanes, one after the other as they are free, and brings its
// constants to the devices. When a device has no memory for it, the lane gets back what the best plan needs.
func (s *Session) addArm(way, best *plan.Stage) error {
	for i := range s.opts.Concurrency {
		var l *exec.Lane
		select {
		case l = <-s.lanes:
		case <-s.closed:
			return ErrClosed
		}
		err := l.ReserveFor(way)
		if err == nil && i == 0 {
			err = l.Load(way)
		}
		if err != nil {
			// If that fails too, the next run says so.
			_ = l.ReserveFor(best)
		}
		s.lanes <- l
		if err != nil {
			return err
		}
	}
	return nil
}

// Prepare waits until what Open has begun to plan beside runs is there: what they may do instead of the best
// plan for the largest shapes (see Options.Policy), with its memory. Runs need not wait for it.
func (s *Session) Prepare(ctx context.Context) error {
	if err := s.live(); err != nil {
		return err
	}
	if s.frontier == nil {
		return nil
	}
	if err := s.frontier.Settled(ctx); err != nil {
		return fmt.Errorf("stowage: prepare: %w", err)
	}
	return nil
}

// closeLanes gives all memory back.
func (s *Session) closeLanes() error {
	var first error
	for _, l := range s.every {
		if err := l.Close(); err != nil && first == nil {
			first = err
		}
	}
	s.every = nil
	if err := s.devices.resident.Close(); err != nil && first == nil {
		first = err
	}
	return first
}

// retreat lets plans count on less of a device that has refused memory, unless others have since there
// were so many retreats. It returns the plan for the largest shapes, if there is one, or the error when
// it is another one or nothing less can be done.
func (s *Session) retreat(err error, retreats int, st *plan.Stage) (*plan.Stage, error) {
	full, ok := errors.AsType[*exec.MemoryError](err)
	if !ok {
		return nil, err
	}
	d := s.unit.Devices()[full.Device-1]
	if d.Refused > plan.MostRetreats {
		return nil, err
	}
	needed := full.Bytes
	if st == nil {
		st = full.Stage
	}
	if st != nil {
		needed = s.unit.Needs(st, full.Device)
	}
	less, again := s.unit.Retreat(full.Device, retreats, needed)
	if again != nil {
		return nil, fmt.Errorf("%w; and with less there: %w", err, again)
	}
	return less, nil
}
