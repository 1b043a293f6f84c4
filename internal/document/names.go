package document

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

// maxPart bounds a part of a name in bytes, so that four parts fit into
// [MaxName].
const maxPart = 120

// Join makes the name of a collection, or a key, of parts that may be any
// text. The parts are escaped and separated by slashes. Two lists of parts
// have two names, and the name of a list begins with that of its first parts
// and a slash. A long part is cut, and its hash follows.
func Join(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = escapePart(part)
	}
	return strings.Join(escaped, "/")
}

// escapePart escapes slashes, tildes and everything that a name cannot have. A
// tilde stands before the hash of a part that was cut, and nowhere else.
func escapePart(part string) string {
	text := strings.ReplaceAll(url.PathEscape(part), "~", "%7E")
	if len(text) <= maxPart {
		return text
	}
	sum := sha256.Sum256([]byte(part))
	hash := "~" + hex.EncodeToString(sum[:16])
	return text[:maxPart-len(hash)] + hash
}
