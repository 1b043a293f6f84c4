package pathglob

import (
	"slices"
	"strings"
)

// States holds, for each alternative of a pattern, the segments that the next
// name may match, as bits. The bit after the last means that the path matches.
type States []uint64

// Start returns the states before the first name of a path.
func (p *Pattern) Start() States {
	s := make(States, len(p.alternatives))
	for i, a := range p.alternatives {
		s[i] = a.skipAnyDirs(1)
	}
	return s
}

// skipAnyDirs adds the segments that are reached if ** matches no directory.
func (a alternative) skipAnyDirs(set uint64) uint64 {
	for i, s := range a {
		if s.anyDirs && set&(1<<i) != 0 {
			set |= 1 << (i + 1)
		}
	}
	return set
}

// Step returns the states after one more name. With all, wildcards match hidden
// names.
func (p *Pattern) Step(from States, name string, all bool) States {
	to := make(States, len(from))
	for i, a := range p.alternatives {
		var set uint64
		for j, s := range a {
			if from[i]&(1<<j) == 0 || !s.matches(name, all) {
				continue
			}
			if s.anyDirs {
				set |= 1 << j
			} else {
				set |= 1 << (j + 1)
			}
		}
		to[i] = a.skipAnyDirs(set)
	}
	return to
}

// Spells reports whether the pattern names the next name of a path without wildcards.
func (p *Pattern) Spells(from States, name string) bool {
	for i, a := range p.alternatives {
		for j, s := range a {
			if s.spelled && from[i]&(1<<j) != 0 && s.matches(name, true) {
				return true
			}
		}
	}
	return false
}

// SpellsAny reports whether a name of a path may be one that the pattern names
// without wildcards, wherever in the pattern that is.
func (p *Pattern) SpellsAny(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		for _, a := range p.alternatives {
			if slices.ContainsFunc(a, func(s segment) bool { return s.spelled && s.matches(name, true) }) {
				return true
			}
		}
	}
	return false
}

// Matched reports whether a path with these states matches.
func (p *Pattern) Matched(s States) bool {
	for i, a := range p.alternatives {
		if len(a) > 0 && s[i]&(1<<len(a)) != 0 {
			return true
		}
	}
	return false
}

// CanMatchBelow reports whether a longer path with these states can match.
func (p *Pattern) CanMatchBelow(s States) bool {
	for i, a := range p.alternatives {
		if s[i]&(1<<len(a)-1) != 0 {
			return true
		}
	}
	return false
}

// Matches reports whether the pattern matches a whole path.
func (p *Pattern) Matches(path string, all bool) bool {
	at := p.Start()
	for name := range strings.SplitSeq(path, "/") {
		at = p.Step(at, name, all)
	}
	return p.Matched(at)
}

// MatchesHidden reports whether the pattern matches hidden names even if the
// caller does not ask for them.
func (p *Pattern) MatchesHidden() bool {
	return slices.ContainsFunc(p.alternatives, func(a alternative) bool {
		return slices.ContainsFunc(a, func(s segment) bool { return s.dotted })
	})
}

// Hidden reports whether a name is hidden.
func Hidden(name string) bool { return strings.HasPrefix(name, ".") }
