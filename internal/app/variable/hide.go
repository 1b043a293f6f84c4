package variable

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/app/node"
)

// The value of a variable that is shorter than shortest is no secret, and is part
// of too many words. A text that was cut may end in the middle of a value: a
// beginning of that length is enough to hide it.
const (
	shortest  = 4
	beginning = 8
)

// Used are the values of the environment that an app file made use of, with the
// names of their variables. Nil is none.
type Used map[string]string

// use notes a value that is filled in.
func (s *Set) use(name, value string) {
	s.log = append(s.log, name)
	if len(value) < shortest {
		return
	}
	if s.used == nil {
		s.used = Used{}
	}
	s.used[value] = name
}

// Used returns the values that were filled in so far.
func (s *Set) Used() Used { return s.used }

// Mark is the place of now among the uses of the environment.
func (s *Set) Mark() int { return len(s.log) }

// Since returns the variables of the environment that were used since a mark.
func (s *Set) Since(mark int) []string {
	return slices.Compact(slices.Sorted(slices.Values(s.log[mark:])))
}

// Sent says that a value is sent: with the references to secrets and to the
// environment in it, by whatever variable of the file they came here, and never a value.
func (s *Set) Sent(what string, e node.Entry, value string) string {
	if hidden := s.used.Hide(value); strings.Contains(hidden, "{{") {
		return what + " " + hidden
	}
	if text, ok := e.Scalar(); ok && strings.Contains(text, "{{") {
		return what + " " + text
	}
	return what + " that stands in the file"
}

// Hide puts the names of variables of the environment in the place of their values,
// whole or cut short, plain or quoted. What a file makes of the environment must not
// be printed.
func (u Used) Hide(text string) string {
	longestFirst := func(a, b string) int { return len(b) - len(a) }
	for _, value := range slices.SortedFunc(maps.Keys(u), longestFirst) {
		for _, form := range forms(value) {
			text = hideValue(text, form, "{{env."+u[value]+"}}")
		}
	}
	return text
}

// forms are the ways in which a value is written: as it is, in quotes, and in JSON.
func forms(value string) []string {
	inJSON, _ := json.Marshal(value) // a text always can be written
	all := []string{value, strconv.Quote(value), string(inJSON)}
	for i, form := range all[1:] {
		all[i+1] = form[1 : len(form)-1]
	}
	return slices.Compact(all)
}

// hideValue replaces every beginning of a value, as far as it goes.
func hideValue(text, value, name string) string {
	start := value[:min(len(value), beginning)]
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, start)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(name)
		n := 0
		for tail := value[len(start):]; n < len(tail) && n < len(rest) && tail[n] == rest[n]; {
			n++
		}
		text = rest[n:]
	}
}
