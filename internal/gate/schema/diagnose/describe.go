package diagnose

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/gate/schema/phrase"
	"callgate/internal/gate/schema/walk"
	"callgate/internal/nearest"
)

// describe returns in a few words what a schema accepts; "" if it accepts anything.
func describe(s *jsonschema.Schema, depth int) string {
	const maxDepth = 6 // a schema may refer to itself
	switch {
	case depth > maxDepth:
		return ""
	case s.Bool != nil && !*s.Bool:
		return "nothing"
	case s.Const != nil:
		return phrase.Literal(*s.Const)
	case s.Enum != nil:
		return phrase.Enum(s.Enum.Values)
	case s.Types != nil:
		return describeType(s)
	case s.Ref != nil:
		return describe(s.Ref, depth+1)
	}
	for _, sub := range s.AllOf {
		if text := describe(sub, depth+1); text != "" {
			return text
		}
	}
	for _, subs := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if text := describeAny(subs, depth); text != "" {
			return text
		}
	}
	switch {
	case s.Format != nil:
		return phrase.Format(s.Format.Name)
	case s.Properties != nil:
		return "an object"
	case s.Items != nil || s.Items2020 != nil || s.PrefixItems != nil:
		return "a list"
	}
	return ""
}

func describeAny(subs []*jsonschema.Schema, depth int) string {
	var all []string
	for _, sub := range subs[:min(len(subs), phrase.MaxListed)] {
		text := describe(sub, depth+1)
		if text == "" {
			return ""
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if len(all) > 4 {
		all = append(all[:4:4], "others")
	}
	return phrase.Truncate(phrase.Or(all), phrase.MaxWant)
}

func describeType(s *jsonschema.Schema) string {
	types := s.Types.ToStrings()
	if len(types) != 1 {
		return phrase.Types(types)
	}
	switch {
	case types[0] == "string" && s.Format != nil:
		return phrase.Format(s.Format.Name)
	case types[0] == "array":
		return listOf(s)
	default:
		return phrase.Types(types)
	}
}

// listOf describes a list, with the type of its items if they have one plain type.
func listOf(s *jsonschema.Schema) string {
	for _, item := range walk.ForItem(s, 0) {
		for _, sub := range walk.Reachable(item, walk.Unconditional) {
			if sub.Types == nil || s.PrefixItems != nil {
				continue
			}
			if types := sub.Types.ToStrings(); len(types) == 1 && types[0] != "array" && types[0] != "null" {
				return "a list of " + types[0] + "s"
			}
		}
	}
	return "a list"
}

func describeNot(s *jsonschema.Schema) string {
	if s.Not == nil {
		return ""
	}
	if text := describe(s.Not, 0); text != "" {
		return "anything but " + text
	}
	return ""
}

// closestName returns the known name that the given one most likely means, or "" if
// none is close. Field names vary more than names of tools: separators do not
// count, and a name inside another is close.
func closestName(name string, known []string) string {
	const most = 200
	want := shorten(name)
	best, least := "", len(want)/3+2
	for _, k := range known[:min(len(known), most)] {
		have := shorten(k)
		if have == "" {
			continue
		}
		off := nearest.Distance(want, have, least)
		if min(len(want), len(have)) >= 3 && (strings.Contains(want, have) || strings.Contains(have, want)) {
			off = min(off, 2)
		}
		if off < least {
			best, least = k, off
		}
	}
	return best
}

func shorten(name string) string {
	return strings.ToLower(strings.Map(func(c rune) rune {
		switch c {
		case '_', '-', '.':
			return -1
		}
		return c
	}, name))
}
