package lock

import (
	"strings"

	"callgate/tool"
)

// Meets reports whether two calls with these claims touch the same thing: a claim
// of the one and a claim of the other are on the same node, or one lies above the
// other, and at least one of the two changes what it claims (IX, U or X).
//
// It is not the question of the matrix of [tool.Mode], which says who may hold a
// node together: a reader passes an updater (S beside U), and two intentions pass
// each other (IX beside IX), and both pairs meet. A lock keeps two calls from
// harming each other; who meets must also come in order where there is one.
func Meets(a, b []tool.Claim) bool {
	for i := range a {
		for j := range b {
			if (a[i].Mode.Writes() || b[j].Mode.Writes()) && onePath(a[i].Resource, b[j].Resource) {
				return true
			}
		}
	}
	return false
}

// onePath reports whether two resources are one node, or one lies above the other.
func onePath(a, b string) bool {
	if a == b {
		return true
	}
	kindA, restA, _ := strings.Cut(a, ":")
	kindB, restB, _ := strings.Cut(b, ":")
	if kindA != kindB {
		return false
	}
	for {
		var partA, partB string
		partA, restA = cut(restA)
		partB, restB = cut(restB)
		if partA == "" || partB == "" {
			return true // one has ended: the other lies at it, or under it
		}
		if partA != partB {
			return false
		}
	}
}
