package translate

import (
	"strings"

	"callgate/internal/lazyregexp"
)

// saysDestroys finds a sentence that begins with the word for destroying
// something, or says that it will. To remove is not enough: texts lose blanks, and
// lists their duplicates, and nothing is lost.
var saysDestroys = lazyregexp.New(`(?i)(?:^|[.!?;:]\s+|\n\s*|[-*•]\s+)` + // a sentence begins
	`(?:(?:this\s+(?:tool\s+)?|it\s+)?(?:will\s+)?)` +
	`(?:(?:permanently|irreversibly|immediately|completely|forcibly|recursively|bulk|then|and)\s+)*` +
	`(?:deletes?|drops?|destroys?|wipes?|erases?|purges?|kills?|terminates?|uninstalls?|` +
	`permanently\s+removes?|irreversibly\s+removes?)\s+[a-z]|` +
	`\b(?:will|and)\s+(?:permanently|irreversibly)\s+(?:delete|remove|erase|destroy|drop)s?\b`)

// maxSaid bounds how much of a description is read for this: what a tool does
// stands at its beginning.
const maxSaid = 2000

// destroysBySelf reports whether a description says that the tool destroys
// something.
func (d Definition) destroysBySelf() bool {
	text := strings.TrimSpace(d.Description)
	return saysDestroys.MatchString(text[:min(len(text), maxSaid)])
}
