package place

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with a problem. Every error of Solve and ReadJSON that concerns the problem is
// an *Error or a *CapacityError, and errors.Is finds one of these in it.
var (
	ErrSyntax   = errors.New("bad JSON")
	ErrName     = errors.New("unknown or repeated name")
	ErrIndex    = errors.New("no such index")
	ErrShape    = errors.New("wrong number of entries")
	ErrCost     = errors.New("bad cost")
	ErrBytes    = errors.New("bad size")
	ErrNowhere  = errors.New("node without a device")
	ErrLink     = errors.New("bad link")
	ErrView     = errors.New("bad view")
	ErrCycle    = errors.New("nodes in a cycle")
	ErrLimit    = errors.New("too many devices")
	ErrCapacity = errors.New("capacity exceeded")
	ErrStrategy = errors.New("unknown strategy")
	ErrInvalid  = errors.New("invalid solution")
)

// Error is something wrong with one field.
type Error struct {
	// Kind is one of the Err variables.
	Kind error
	// Field is the path of the field as in JSON, such as "nodes[3].cost[1]".
	Field string
	// Name is that of the node, tensor or device concerned; "" when it has none.
	Name string
	// Detail says what was got and what was wanted.
	Detail string
}

func (e *Error) Error() string {
	var s strings.Builder
	s.WriteString("place: ")
	s.WriteString(e.Field)
	if e.Name != "" {
		fmt.Fprintf(&s, " (%q)", e.Name)
	}
	if e.Field != "" || e.Name != "" {
		s.WriteString(": ")
	}
	return s.String() + e.Detail
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

func fail(kind error, field, name, format string, args ...any) error {
	return &Error{Kind: kind, Field: field, Name: name, Detail: fmt.Sprintf(format, args...)}
}

// Need is what the nodes of one device take, against what it has.
type Need struct {
	Device string
	// Bytes is what is wanted of the device, Capacity what it has; Deficit is the difference.
	Bytes, Capacity, Deficit int64
}

// CapacityError says that no placement within the capacities was found. It unwraps to ErrCapacity.
type CapacityError struct {
	// Needs lists the devices that have too little, in order. Where Infeasible, it is what the
	// nodes take that can run nowhere else; otherwise what the placement takes that is nearest
	// to fitting.
	Needs []Need
	// Infeasible says that there is no placement. Otherwise none was found.
	Infeasible bool
}

func (e *CapacityError) Error() string {
	var s strings.Builder
	s.WriteString("place: capacity: no placement ")
	if e.Infeasible {
		s.WriteString("fits")
	} else {
		s.WriteString("found that fits")
	}
	for i, n := range e.Needs {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&s, "%sdevice %q: got %d B, want at least %d B (%d B more)", sep, n.Device, n.Capacity, n.Bytes,
			n.Deficit)
	}
	return s.String()
}

// Unwrap returns ErrCapacity.
func (e *CapacityError) Unwrap() error { return ErrCapacity }
