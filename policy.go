package stowage

import (
	"context"
	"errors"
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/exec"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/selector"
)

// fleet is the devices of this process: all sessions see what the others have in flight.
var fleet = exec.NewFleet()

// ErrDeviceLost is wrapped by the errors of runs that fail since a device is lost, and nothing else could run
// them.
var ErrDeviceLost = backend.ErrLost

// Decision is a choice that a run has made among the plans that are prepared for it (see Options.Policy). Times
// are in nanoseconds, counted from the choice.
type Decision struct {
	Policy string
	// Branch counts the choices of the run from 0 on, Arms is how many plans there were to choose from.
	Branch, Arms int
	// Arm names the plan that was taken, such as "best" or "without opencl:0", and Devices lists what it uses.
	Arm     string
	Devices []string
	// Reason says why ("planned": nothing speaks against the best plan; "best": first by the policy; "held": another
	// is better by too little; "probe": it was slow, and is tried again; "no fit": none has the memory), and Source
	// what that rests on: the "plan", a "measurement" of runs, the "ledger" of what is in flight, or "telemetry".
	Reason, Source string
	// TimeNs is how long the plan is expected to take, WaitNs how long it waits for devices and MemoryNs for memory,
	// CompleteNs when it is expected to be complete.
	TimeNs, WaitNs, MemoryNs, CompleteNs int64
	// RunnerUp names the next best plan, and RunnerUpNs is when that would be complete; "" where the policy
	// compares no times, or there is none.
	RunnerUp   string
	RunnerUpNs int64
	// Retry counts the tries of the same run before this one, and Failed is why the last one failed.
	Retry  int
	Failed error
}

// policyOf returns the policy that Options.Policy names.
func policyOf(name string) (selector.Policy, error) {
	if name == "" {
		return selector.ECT, nil
	}
	p, err := selector.ParsePolicy(name)
	if err != nil {
		return p, fmt.Errorf("stowage: options: Policy: %w", err)
	}
	return p, nil
}

// enterFleet makes the session's devices, if there are any beside the host, known to all others.
func (s *Session) enterFleet() error {
	if len(s.devices.away) == 0 {
		return nil
	}
	p, err := policyOf(s.opts.Policy)
	if err != nil {
		return err
	}
	lim := []exec.Limits{{Slots: s.hostSlots()}}
	for _, d := range s.devices.planned {
		lim = append(lim, exec.Limits{Bytes: d.Capacity})
	}
	s.frontier = fleet.NewFrontier(p, s.devices.away, s.Devices(), lim)
	s.devices.resident.Held = s.frontier.Held()
	if decided := s.opts.Decided; decided != nil {
		s.frontier.Decided = func(d *exec.Decision) { decided(publicDecision(d)) }
	}
	return nil
}

// hostSlots is how many runs the host has threads for at the same time.
func (s *Session) hostSlots() int { return max(1, workers().Size()/max(1, s.opts.Threads)) }

func publicDecision(d *exec.Decision) Decision {
	return Decision{Policy: d.Policy.String(), Branch: d.Branch, Arms: d.Arms, Arm: d.Name, Devices: d.Devices,
		Reason: d.Reason.String(), Source: d.Source.String(), TimeNs: d.TimeNs, WaitNs: d.WaitNs, MemoryNs: d.MemoryNs,
		CompleteNs: d.CompleteNs, RunnerUp: d.RunnerUpName, RunnerUpNs: d.RunnerUpNs, Retry: d.Retry, Failed: d.Failed}
}

// run runs the model on a lane.
func (s *Session) run(ctx context.Context, l *exec.Lane, in []backend.View, outs exec.Outputs) error {
	switch {
	case s.frontier != nil:
		return s.runOnDevices(ctx, l, in, outs)
	case !fleet.Active():
		return l.Run(ctx, s.unit, in, outs)
	}
	s.accounts.Do(func() { s.alone = fleet.NewAlone(plan.Host, s.hostSlots()) })
	t, began := s.alone.Begin()
	err := l.Run(ctx, s.unit, in, outs)
	s.alone.End(t, began, err)
	return err
}

// runOnDevices runs the model on a lane. A device that refuses memory gets less to do; when that does
// not help, or the device is lost, the run is tried once more without it.
func (s *Session) runOnDevices(ctx context.Context, l *exec.Lane, in []backend.View, outs exec.Outputs) error {
	l.Begin()
	for tries := 0; ; {
		retreats := s.unit.Retreats()
		err := l.Run(ctx, s.unit, in, outs)
		if err == nil {
			return nil
		}
		device := 0
		if full, ok := errors.AsType[*exec.MemoryError](err); ok {
			if _, err = s.retreat(err, retreats, nil); err == nil {
				continue
			}
			device = full.Device
		} else if lost, ok := errors.AsType[*exec.LostError](err); ok {
			s.frontier.Lose(lost.Device)
			device = lost.Device
		}
		again := device > 0 && tries == 0 && len(s.unit.Arms()) > 1
		if !again || ctx.Err() != nil || errors.Is(err, exec.ErrNoArm) {
			return err
		}
		tries++
		l.Avoid(device, err)
	}
}
