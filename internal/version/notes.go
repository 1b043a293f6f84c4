package version

import (
	_ "embed"
	"strings"
)

// upgrading has a section for each version that changes what an older one left. The
// sections stand in CHANGELOG.md too, word for word.
//
//go:embed upgrading.md
var upgrading string

// Note says what upgrading to a version changes.
type Note struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Notes returns what upgrading changes, the newest version first.
func Notes() []Note { return parse(upgrading) }

// parse reads sections, each below a heading of the third level.
func parse(text string) (notes []Note) {
	for section := range strings.SplitSeq("\n"+text, "\n### ") {
		title, body, _ := strings.Cut(section, "\n")
		if strings.TrimSpace(title) != "" {
			notes = append(notes, Note{strings.TrimSpace(title), strings.TrimSpace(body)})
		}
	}
	return notes
}
