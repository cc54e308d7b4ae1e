package arena

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with a problem. Every error of Solve and LowerBound that concerns the
// problem is an *Error or a *CapacityError, and errors.Is finds one of these in it.
var (
	ErrIndex    = errors.New("no such buffer")
	ErrSize     = errors.New("bad size")
	ErrLifetime = errors.New("bad lifetime")
	ErrAlign    = errors.New("bad alignment")
	ErrAlias    = errors.New("aliased sizes differ")
	ErrExternal = errors.New("external buffer in a constraint")
	ErrPacked   = errors.New("packed twice")
	ErrRows     = errors.New("row counts differ")
	ErrOver     = errors.New("row pack does not fit the buffer it is over")
	ErrFixed    = errors.New("fixed offset cannot be honoured")
	ErrPool     = errors.New("bad pool")
	ErrBlock    = errors.New("larger than a block")
	ErrCapacity = errors.New("capacity exceeded")
	ErrStrategy = errors.New("unknown strategy")
	ErrInvalid  = errors.New("invalid plan")
)

// Error is something wrong with one buffer.
type Error struct {
	// Kind is one of the Err variables.
	Kind error
	// Buffer is its name and Index its place in Problem.Buffers; −1 when no buffer is meant.
	Buffer string
	Index  int
	// Where is the place in the problem or its file that is at fault, such as "packs[1]" or "line 3"; "" when that is
	// the buffer alone.
	Where string
	// Detail says what was got and what was wanted.
	Detail string
}

func (e *Error) Error() string {
	s := "arena: "
	if e.Where != "" {
		s += e.Where + ": "
	}
	if e.Index < 0 && e.Buffer == "" {
		return s + e.Detail
	}
	return s + fmt.Sprintf("buffer %q: %s", e.Buffer, e.Detail)
}

// placed says where an error of one buffer is, unless it says so itself.
func placed(err error, where string, args ...any) error {
	if bad, ok := errors.AsType[*Error](err); ok && bad.Where == "" {
		bad.Where = fmt.Sprintf(where, args...)
	}
	return err
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

func (p *Problem) fail(kind error, i int, format string, args ...any) error {
	return &Error{Kind: kind, Buffer: p.name(i), Index: i, Detail: fmt.Sprintf(format, args...)}
}

func (p *Problem) failAll(kind error, format string, args ...any) error {
	return &Error{Kind: kind, Index: -1, Detail: fmt.Sprintf(format, args...)}
}

// CapacityError says that a pool's capacity is not enough. It unwraps to ErrCapacity.
type CapacityError struct {
	Pool     string
	Capacity int64
	// Arena is the best plan found; 0 when Infeasible.
	Arena int64
	// Bound is what every plan needs at least, with the evidence.
	Bound Bound
	// Live names Bound.Live, and Sizes gives the bytes of each.
	Live  []string
	Sizes []int64
	// Infeasible says that the capacity is below the bound: there is no plan. Otherwise none was
	// found, which proves nothing.
	Infeasible bool
}

func (e *CapacityError) Error() string {
	var s strings.Builder
	s.WriteString("arena: ")
	if e.Pool != "" {
		fmt.Fprintf(&s, "pool %q: ", e.Pool)
	}
	if e.Infeasible {
		fmt.Fprintf(&s, "capacity: got %d B, want at least %d B", e.Capacity, e.Bound.Bytes)
	} else {
		fmt.Fprintf(&s, "capacity: best plan found needs %d B, capacity %d B, lower bound %d B (unproven)",
			e.Arena, e.Capacity, e.Bound.Bytes)
	}
	switch e.Bound.Reason {
	case Peak:
		fmt.Fprintf(&s, "; live at %d:", e.Bound.Time)
	case Whole:
		s.WriteString("; in one piece:")
	case Fixed:
		s.WriteString("; fixed:")
	}
	for i, name := range e.Live {
		if i == maxListed {
			fmt.Fprintf(&s, " and %d more", len(e.Live)-i)
			break
		}
		fmt.Fprintf(&s, " %s (%d B)", name, e.Sizes[i])
	}
	return s.String()
}

// maxListed is how many buffers an error message lists.
const maxListed = 20

// Unwrap returns ErrCapacity.
func (e *CapacityError) Unwrap() error { return ErrCapacity }

func (p *Problem) capacityError(pool Pool, b Bound, arena int64) error {
	e := &CapacityError{
		Pool: pool.Name, Capacity: pool.Capacity, Arena: arena, Bound: b,
		Infeasible: pool.Capacity < b.Bytes,
	}
	for _, i := range b.Live {
		e.Live = append(e.Live, p.name(i))
		e.Sizes = append(e.Sizes, p.Buffers[i].Size)
	}
	return e
}
