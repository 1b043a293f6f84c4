// Package locktest is the behaviour of locks as tests, for every place where locks are kept.
package locktest

import (
	"slices"
	"strings"

	"callgate/tool"
)

// Matrix lists for each mode the modes it allows beside it, as [tool.Mode] documents.
var Matrix = map[string]string{
	"IS": "IS IX S U",
	"IX": "IS IX",
	"S":  "IS S U",
	"U":  "IS S",
	"X":  "",
}

// Modes are the modes, weakest first.
var Modes = []string{"IS", "IX", "S", "U", "X"}

// Has reports whether a list of words has a word.
func Has(list, word string) bool { return strings.Contains(" "+list+" ", " "+word+" ") }

// Claims parses "X file:/a, S db:main".
func Claims(text string) []tool.Claim {
	var all []tool.Claim
	for one := range strings.SplitSeq(text, ", ") {
		mode, resource, _ := strings.Cut(one, " ")
		c := tool.Claim{Resource: resource}
		if err := c.Mode.UnmarshalText([]byte(mode)); err != nil {
			panic(err) // the text is a test's own
		}
		all = append(all, c)
	}
	return all
}

// Conflict decides from the law alone whether two claims conflict: at one node by the matrix, at a node and one above
// it by the intention of the lower claim.
func Conflict(a, b tool.Claim) bool {
	above, below := a, b
	if len(parts(above.Resource)) > len(parts(below.Resource)) {
		above, below = below, above
	}
	up, down := parts(above.Resource), parts(below.Resource)
	if !slices.Equal(up, down[:len(up)]) {
		return false
	}
	mode := below.Mode.String()
	if len(up) < len(down) {
		mode = map[string]string{"IS": "IS", "S": "IS", "IX": "IX", "U": "IX", "X": "IX"}[mode]
	}
	return !Has(Matrix[above.Mode.String()], mode)
}

// parts returns the path of a node: its kind, and the parts between the slashes.
func parts(resource string) []string {
	kind, rest, _ := strings.Cut(resource, ":")
	return append([]string{kind}, strings.FieldsFunc(rest, func(r rune) bool { return r == '/' })...)
}

// Conflicts decides whether two requests conflict.
func Conflicts(a, b []tool.Claim) bool {
	return slices.ContainsFunc(a, func(one tool.Claim) bool {
		return slices.ContainsFunc(b, func(other tool.Claim) bool { return Conflict(one, other) })
	})
}

// Resources often overlap, include a folder with many children, and several spellings of one node.
var Resources = []string{
	"file:", "file:/", "file:/a", "file:/a/", "file:/a/b", "file:/a//b", "file:/a/b/c", "file:/a/d",
	"file:/e", "file:/e/f", "db:", "db:main", "db:other",
	"file:/w", "file:/w/0", "file:/w/1", "file:/w/2", "file:/w/3", "file:/w/4", "file:/w/5",
	"file:/w/6", "file:/w/7", "file:/w/8", "file:/w/9", "file:/w/9/x",
}
