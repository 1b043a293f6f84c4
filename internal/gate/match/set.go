package match

import (
	"slices"

	"callgate/internal/gate/shellcmd"
)

// Set is patterns that permit. Together they may cover a command line of which
// each covers a part. The zero value is empty; a set that does not change any more
// may be read by any number of goroutines.
type Set struct {
	exact    map[string][]numbered // by the arguments, as JSON
	programs map[string][]numbered // with a command pattern, by its program
	rest     []numbered
	size     int
}

type numbered struct {
	number  int
	pattern *Pattern
}

// Add adds a pattern and returns its number, from 0.
func (s *Set) Add(p *Pattern) int {
	if s.exact == nil {
		s.exact, s.programs = make(map[string][]numbered), make(map[string][]numbered)
	}
	n := numbered{s.size, p}
	s.size++
	programs := p.programs()
	switch {
	case p.exact != nil:
		key := p.exact.key()
		s.exact[key] = append(s.exact[key], n)
	case len(programs) > 0:
		for _, name := range programs {
			s.programs[name] = append(s.programs[name], n)
		}
	default:
		s.rest = append(s.rest, n)
	}
	return n.number
}

// Len returns how many patterns were added.
func (s *Set) Len() int { return s.size }

// Fits reports whether the patterns permit a call, and the numbers of those that
// it took.
func (s *Set) Fits(c *Call) (numbers []int, ok bool) {
	if len(s.exact) > 0 {
		for _, n := range s.exact[c.key()] {
			if n.pattern.Fits(c) {
				return []int{n.number}, true
			}
		}
	}
	for _, n := range s.rest {
		if n.pattern.Fits(c) {
			return []int{n.number}, true
		}
	}
	text, isText := c.Args[paramCommand].(string)
	if !isText || len(s.programs) == 0 {
		return nil, false
	}
	ok = c.allowed(text, func(cmd *shellcmd.Command) bool {
		if len(cmd.Words) == 0 {
			return false
		}
		for _, n := range s.programs[cmd.Words[0].Text] {
			if n.pattern.coversInput(c) && n.pattern.covers(c, cmd) {
				numbers = append(numbers, n.number)
				return true
			}
		}
		return false
	})
	if !ok {
		return nil, false
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), true
}

// programs returns the programs of the pattern's commands; none if its condition
// on the command is not one of commands alone.
func (p *Pattern) programs() (names []string) {
	for _, k := range p.conditions {
		if k.param != paramCommand {
			continue
		}
		for _, t := range k.any {
			t, ok := t.(commandTest)
			if !ok {
				return nil
			}
			names = append(names, t.pattern.Program())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// covers reports whether the pattern allows one simple command of a call, whose
// other arguments must fit too.
func (p *Pattern) covers(c *Call, cmd *shellcmd.Command) bool {
	if !p.holdsFor(c, cmd) {
		return false
	}
	for i := range p.conditions {
		k := &p.conditions[i]
		if k.param != paramCommand {
			if !k.fits(c) {
				return false
			}
			continue
		}
		if !slices.ContainsFunc(k.any, func(t test) bool { return t.(commandTest).pattern.Allows(cmd) }) {
			return false
		}
	}
	return true
}
