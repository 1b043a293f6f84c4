package lock

import "callgate/tool"

// hold is the mode in which a request holds one node: one of the five lock modes,
// or both, the join of IX with S or U. No claim asks for both; it arises when a
// request reads all of a folder and writes one file in it. It allows only IS
// beside it. (U would not do: it admits a second reader of the folder, who would
// read the file while it changes.)
type hold uint8

// The holds. The join of two is the greater one, except for IX with S or U.
const (
	is hold = iota
	ix
	s
	u
	both
	x
	numHolds
)

// holdSet is a set of holds, one bit each.
type holdSet uint8

func (h hold) bit() holdSet { return 1 << h }

// conflicts lists for each hold the holds it cannot share a node with. The set
// of a join is the union of the sets of what it joins.
var conflicts = [numHolds]holdSet{
	is:   x.bit(),
	ix:   s.bit() | u.bit() | both.bit() | x.bit(),
	s:    ix.bit() | both.bit() | x.bit(),
	u:    ix.bit() | u.bit() | both.bit() | x.bit(),
	both: ix.bit() | s.bit() | u.bit() | both.bit() | x.bit(),
	x:    is.bit() | ix.bit() | s.bit() | u.bit() | both.bit() | x.bit(),
}

// holdOf returns the hold of a valid mode.
func holdOf(m tool.Mode) hold {
	if m == tool.X {
		return x
	}
	return hold(m - tool.IS)
}

// intention returns the hold that h takes on each node above.
func (h hold) intention() hold {
	if h == is || h == s {
		return is
	}
	return ix
}

// join returns the least hold that conflicts with everything a or b conflicts with.
func join(a, b hold) hold {
	low, high := min(a, b), max(a, b)
	if low == ix && (high == s || high == u) {
		return both
	}
	return high
}
