package graph

// NonNegative reports whether d cannot be below zero, given that every named dim is at least
// zero. False means that it may be.
func (d Dim) NonNegative() bool {
	if d.e == nil {
		return d.n >= 0
	}
	switch d.e.op {
	case opSym:
		return true
	case opAdd, opMul, opDiv, opMin:
		return d.e.a.NonNegative() && d.e.b.NonNegative()
	case opMax:
		return d.e.a.NonNegative() || d.e.b.NonNegative()
	}
	return false
}
