// Package mention reads and completes the files that a user names in a message:
// @path, or @"a path with spaces".
//
// # Law
//
// A mention begins a word. What it names is taken as written: nothing is looked up
// here, so a mention of a file that is not there is only text.
package mention

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"callgate/internal/lazyregexp"
)

// written matches a mention: what may stand before it, and its path.
var written = lazyregexp.New(`(^|[\s(\[{,;])@(?:"([^"\n]+)"|([^\s"@]+))`)

// trailing are characters that end a sentence rather than a path.
const trailing = ".,;:!?)]}'"

// Find returns the paths that a text mentions, each once, in their order. exists
// decides about a path that ends like a sentence: it is shortened until it exists.
func Find(text string, exists func(path string) bool) []string {
	var paths []string
	seen := map[string]bool{}
	for rest := text; ; {
		at := written.FindStringSubmatchIndex(rest)
		if at == nil {
			return paths
		}
		path := ""
		if at[4] >= 0 {
			path = rest[at[4]:at[5]]
		} else {
			path = shorten(rest[at[6]:at[7]], exists)
		}
		if path != "" && !seen[path] && exists(path) {
			seen[path], paths = true, append(paths, path)
		}
		rest = rest[at[1]:]
	}
}

// shorten takes the end of a sentence off a path, unless the path has it.
func shorten(path string, exists func(string) bool) string {
	for path != "" && !exists(path) && strings.ContainsRune(trailing, rune(path[len(path)-1])) {
		path = path[:len(path)-1]
	}
	return path
}

// Query returns what is written of a mention that ends at the end of a text: the
// text before a cursor. length is the number of characters that a completion
// replaces.
func Query(before string) (query string, length int, ok bool) {
	line := before[strings.LastIndexByte(before, '\n')+1:]
	for at := len(line); at > 0; {
		if at = strings.LastIndexByte(line[:at], '@'); at < 0 {
			return "", 0, false
		}
		word := line[at+1:]
		begins := at == 0 || strings.ContainsRune(" \t([{,;", rune(line[at-1]))
		quoted, isQuoted := strings.CutPrefix(word, `"`)
		switch {
		case !begins:
		case isQuoted && !strings.Contains(quoted, `"`):
			return quoted, utf8.RuneCountInString(word) + 1, true
		case !isQuoted && !strings.ContainsFunc(word, unicode.IsSpace):
			return word, utf8.RuneCountInString(word) + 1, true
		}
	}
	return "", 0, false
}

// Write writes a mention of a path.
func Write(path string) string {
	if strings.ContainsAny(path, " \t\"@") {
		return `@"` + path + `"`
	}
	return "@" + path
}
