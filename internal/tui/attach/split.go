package attach

import (
	"callgate/internal/lazyregexp"
)

// begun matches the beginning of an attachment.
var begun = lazyregexp.New(`\n\n<(file|user-command)(?:-\d+)? (?:path|line)="([^"\n]*)">\n`)

// Split takes a message that was sent apart: what the user wrote, and the names of
// what was attached. It is for showing only: who writes such a tag sees it folded.
func Split(text string) (words string, names []string) {
	found := begun.FindAllStringSubmatchIndex(text, -1)
	if len(found) == 0 {
		return text, nil
	}
	for _, at := range found {
		names = append(names, text[at[4]:at[5]])
	}
	return text[:found[0][0]], names
}
