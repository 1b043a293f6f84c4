package lock

import (
	"strings"

	"callgate/tool"
)

// Locks that are kept elsewhere, in a database that several kernels share, follow the same tree and the same matrix.
// What follows tells them both, so that they repeat neither.

// Path returns the canonical path of a node: its kind with a colon, and each part with a slash behind it, as in
// file:a/b/. A resource lies at another one or under it exactly if its path begins with that of the other.
func Path(resource string) string {
	kind, rest, _ := strings.Cut(resource, ":")
	var path strings.Builder
	path.Grow(len(resource) + 1)
	path.WriteString(kind)
	path.WriteByte(':')
	for part, rest := cut(rest); part != ""; part, rest = cut(rest) {
		path.WriteString(part)
		path.WriteByte('/')
	}
	return path.String()
}

// Above returns the paths of the nodes above a path, the kind first.
func Above(path string) []string {
	var above []string
	for i := strings.IndexByte(path, ':') + 1; i > 0 && i < len(path); i += strings.IndexByte(path[i:], '/') + 1 {
		above = append(above, path[:i])
	}
	return above
}

// ModeSet is a set of modes, with bit m for mode m.
type ModeSet uint8

// Has reports whether m is in the set.
func (s ModeSet) Has(m tool.Mode) bool { return s&(1<<m) != 0 }

// Probe is a place in the tree with the modes of claims there that conflict with a request.
type Probe struct {
	Path  string
	Below bool // the place is what lies under Path, without Path itself
	Modes ModeSet
}

// Probes returns where to look for claims that conflict with a request, each place once. Claims that no probe finds
// do not conflict with it.
func Probes(claims []tool.Claim) []Probe {
	type place struct {
		path  string
		below bool
	}
	var found []Probe
	at := make(map[place]int)
	add := func(path string, below bool, modes ModeSet) {
		if modes == 0 {
			return
		}
		i, known := at[place{path, below}]
		if !known {
			i = len(found)
			at[place{path, below}] = i
			found = append(found, Probe{Path: path, Below: below})
		}
		found[i].Modes |= modes
	}
	for _, c := range claims {
		h, path := holdOf(c.Mode), Path(c.Resource)
		for _, above := range Above(path) {
			add(above, false, against(h.intention(), hold.itself))
		}
		add(path, false, against(h, hold.itself))
		add(path, true, against(h, hold.intention))
	}
	return found
}

func (h hold) itself() hold { return h }

// against returns the modes of claims whose hold conflicts with h, where at says what a claim holds there.
func against(h hold, at func(hold) hold) ModeSet {
	var modes ModeSet
	for m := tool.IS; m <= tool.X; m++ {
		if conflicts[h]&at(holdOf(m)).bit() != 0 {
			modes |= 1 << m
		}
	}
	return modes
}

// Conflict returns the first of the claims that conflicts with another request's claim, and whether there is one.
func Conflict(claims []tool.Claim, other tool.Claim) (tool.Claim, bool) {
	path := Path(other.Resource)
	for _, c := range claims {
		for _, p := range Probes([]tool.Claim{c}) {
			below := len(path) > len(p.Path) && strings.HasPrefix(path, p.Path)
			if p.Modes.Has(other.Mode) && (p.Below && below || !p.Below && path == p.Path) {
				return c, true
			}
		}
	}
	return tool.Claim{}, false
}
