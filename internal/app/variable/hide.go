package variable

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The value of a variable that is shorter than shortest is no secret, and is part
// of too many words. A text that was cut may end in the middle of a value: a
// beginning of that length is enough to hide it.
const (
	shortest  = 4
	beginning = 8
)

// Use notes a value that is filled in.
func (s *Set) Use(name, value string) {
	s.log = append(s.log, name)
	if len(value) < shortest {
		return
	}
	if s.used == nil {
		s.used = map[string]string{}
	}
	s.used[value] = name
}

// Mark is the place of now among the uses of the environment.
func (s *Set) Mark() int { return len(s.log) }

// Since returns the variables of the environment that were used since a mark.
func (s *Set) Since(mark int) []string {
	return slices.Compact(slices.Sorted(slices.Values(s.log[mark:])))
}

// Hide puts the names of variables of the environment in the place of their values,
// whole or cut short. What a file makes of the environment must not be printed.
func (s *Set) Hide(text string) string {
	longestFirst := func(a, b string) int { return len(b) - len(a) }
	for _, value := range slices.SortedFunc(maps.Keys(s.used), longestFirst) {
		name := "{{env." + s.used[value] + "}}"
		quoted := strings.Trim(strconv.Quote(value), `"`)
		for _, form := range slices.Compact([]string{value, quoted}) {
			text = hideValue(text, form, name)
		}
	}
	return text
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
