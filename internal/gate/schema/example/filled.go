package example

import (
	"strings"

	"callgate/internal/gate/schema/phrase"
)

// usual is what stands under names that many tools use. A model copies an example, so
// it holds values that could be meant, and nothing that is still to be filled in.
var usual = map[string]string{
	"path": "notes.txt", "file": "notes.txt", "filename": "notes.txt",
	"dir": "docs", "directory": "docs", "folder": "docs", "cwd": "docs",
	"url": "https://example.com/", "uri": "https://example.com/", "host": "example.com",
	"command": "ls -l", "cmd": "ls -l", "pattern": "TODO", "regex": "TODO", "glob": "*.txt",
	"query": "release notes", "email": "ada@example.com", "id": "1", "date": "2026-01-31",
}

// filled returns a text for a field of which only the name is known: the usual one of
// the last word in it, or the name in words.
func filled(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if len(words) > 0 {
		if text, ok := usual[words[len(words)-1]]; ok {
			return text
		}
	}
	return "some " + phrase.Truncate(strings.ReplaceAll(name, "_", " "), phrase.MaxGot)
}
