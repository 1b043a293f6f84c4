package lock

import "callgate/tool"

// hold is how a request holds one node. It is one of the five modes or their
// sixth companion, both: the join of IX with S or U, which no claim asks for
// but which arises where a request reads all of a folder and writes one file
// in it. It lets only IS pass. (U will not do in its place: it lets a second
// reader of the folder in, who would then read the file while it changes.)
type hold uint8

// The holds. The join of two is the greater one, but for IX with S or U.
const (
	is hold = iota
	ix
	s
	u
	both
	x
	numHolds // how many there are
)

// holdSet is a set of holds, one bit each.
type holdSet uint8

func (h hold) bit() holdSet { return 1 << h }

// conflicts gives for each hold those it cannot share a node with. The set of
// a join is the union of the sets it joins.
var conflicts = [numHolds]holdSet{
	is:   x.bit(),
	ix:   s.bit() | u.bit() | both.bit() | x.bit(),
	s:    ix.bit() | both.bit() | x.bit(),
	u:    ix.bit() | u.bit() | both.bit() | x.bit(),
	both: ix.bit() | s.bit() | u.bit() | both.bit() | x.bit(),
	x:    is.bit() | ix.bit() | s.bit() | u.bit() | both.bit() | x.bit(),
}

// holdOf gives the hold of a valid mode.
func holdOf(m tool.Mode) hold {
	if m == tool.X {
		return x
	}
	return hold(m - tool.IS)
}

// intention is what a hold takes on each node above.
func (h hold) intention() hold {
	if h == is || h == s {
		return is
	}
	return ix
}

// join gives the least hold that conflicts with all that a or b conflicts with.
func join(a, b hold) hold {
	low, high := min(a, b), max(a, b)
	if low == ix && (high == s || high == u) {
		return both
	}
	return high
}
