// Package ignorefile reads ignore files, such as .gitignore, and says which paths
// they name. It touches no files.
//
// The law is Git's (gitignore(5)): a line is a pattern; of the patterns that match a
// path the last one decides; "!" before a pattern takes a path back; "/" at its end
// limits it to directories; a "/" elsewhere binds it to the folder of the file, and
// without one it matches names at any depth. "*", "?" and "[…]" match within a name,
// and "**" as a whole name any number of directories. Characters are bytes. A
// pattern that cannot be read, such as one with an open bracket, matches nothing.
//
// A path in a directory that is ignored is ignored whatever the patterns say of it.
// That is the caller's to know, who walks from the top.
package ignorefile

import (
	"bytes"
	"strings"
)

// Verdict is what rules say of a path.
type Verdict int8

// The verdicts.
const (
	Silent  Verdict = iota // no pattern matches
	Ignored                // the last pattern that matches ignores the path
	Kept                   // the last pattern that matches takes it back
)

// Rules are the patterns of one file. Any number of goroutines can use them.
type Rules struct {
	rules []rule // in the order of the file
}

// rule is one pattern. A pattern with neither wildcards nor a folder is a name, and
// the usual "*.ext" a suffix: most are, and both are compared at once.
type rule struct {
	verdict  Verdict
	dirOnly  bool
	name     string
	suffix   string
	anyDepth *segment  // matches the last name of a path
	path     []segment // matches a path from the folder of the file
}

// Parse reads an ignore file.
func Parse(data []byte) *Rules {
	r := &Rules{}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if one, ok := parseLine(string(line)); ok {
			r.rules = append(r.rules, one)
		}
	}
	return r
}

// Empty reports whether the rules say nothing of any path.
func (r *Rules) Empty() bool { return r == nil || len(r.rules) == 0 }

// Match says what the rules say of a path, which is relative to the folder of the
// file and has slashes.
func (r *Rules) Match(path string, dir bool) Verdict {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for i := len(r.rules) - 1; i >= 0; i-- {
		if one := &r.rules[i]; (dir || !one.dirOnly) && one.matches(path, name) {
			return one.verdict
		}
	}
	return Silent
}

func (r *rule) matches(path, name string) bool {
	switch {
	case r.name != "":
		return name == r.name
	case r.suffix != "":
		return strings.HasSuffix(name, r.suffix)
	case r.anyDepth != nil:
		return r.anyDepth.matches(name)
	default:
		return matchPath(r.path, path)
	}
}

// parseLine reads one pattern; false means that the line can match nothing.
func parseLine(line string) (rule, bool) {
	if strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	text := trimSpaces(line)
	r := rule{verdict: Ignored}
	if rest, ok := strings.CutPrefix(text, "!"); ok {
		r.verdict, text = Kept, rest
	}
	text, r.dirOnly = strings.CutSuffix(text, "/")
	if text == "" {
		return rule{}, false
	}
	if strings.Contains(text, "/") {
		segments, ok := parsePath(strings.TrimPrefix(text, "/"))
		r.path = segments
		return r, ok
	}
	if !strings.ContainsAny(text, special) {
		r.name = text
		return r, true
	}
	if text[0] == '*' && len(text) > 1 && !strings.ContainsAny(text[1:], special) {
		r.suffix = text[1:]
		return r, true
	}
	parsed, rest, ok := parseSegment(text)
	r.anyDepth = &parsed
	return r, ok && rest == ""
}

// special are the characters that make a pattern more than a text.
const special = `*?[\`

// trimSpaces removes the spaces at the end of a line that no backslash escapes.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
		case '\\':
			i++
			end = min(i+1, len(line))
		default:
			end = i + 1
		}
	}
	return line[:end]
}
