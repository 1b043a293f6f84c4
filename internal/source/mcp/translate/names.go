package translate

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	maxName    = 64 // bytes of a name that are kept
	hashDigits = 6  // of a suffix
)

// Namespace is the module of a server's tools.
func Namespace(server string) string {
	name, lossy := slug(server)
	if name == "" || lossy {
		name = suffixed(name, server, hashDigits)
	}
	return "mcp_" + name
}

// Names gives each of a server's tools its name, in the order of the
// definitions. The name is the server's own, in small letters and without what
// an ID may not hold. A name that is reserved, that loses letters on the way, is
// too long, or would be the same as another's gets a suffix: a hash of the
// server's whole name for the tool. So a tool has the same name in any order and
// company, and a name that needs no change is always kept.
func Names(defs []Definition, reserved ...string) []string {
	names := make([]string, len(defs))
	for i, d := range defs {
		name, lossy := slug(d.Name)
		if name == "" || lossy || slices.Contains(reserved, name) {
			name = suffixed(name, d.Name, hashDigits)
		}
		names[i] = name
	}
	for digits := hashDigits; digits <= 8*hashDigits; digits *= 2 { // such short hashes may be equal
		claims := make(map[string]int, len(defs))
		for _, name := range names {
			claims[name]++
		}
		if len(claims) == len(defs) {
			break
		}
		for i, d := range defs {
			if claims[names[i]] > 1 && names[i] != d.Name {
				base, _ := slug(d.Name)
				names[i] = suffixed(base, d.Name, digits)
			}
		}
	}
	return names
}

// suffixed adds some digits of a hash of the original to a name.
func suffixed(name, original string, digits int) string {
	sum := sha256.Sum256([]byte(original))
	if name == "" {
		name = "tool"
	}
	name = strings.TrimRight(name[:min(len(name), max(maxName-digits-1, 1))], "_-")
	return name + "_" + hex.EncodeToString(sum[:])[:digits]
}

// slug writes a name in small letters, digits, - and single _, without accents
// and with camel case taken apart. It reports whether anything that tells names
// apart was lost.
func slug(name string) (s string, lossy bool) {
	var b strings.Builder
	gap, small := false, false
	for _, r := range norm.NFKD.String(name) {
		switch {
		case r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			if gap || small && unicode.IsUpper(r) {
				separate(&b)
			}
			b.WriteRune(unicode.ToLower(r))
			gap, small = false, !unicode.IsUpper(r)
		case r == '-' && b.Len() > 0 && !gap:
			b.WriteByte('-')
			small = false
		case unicode.Is(unicode.Mn, r): // an accent, now by itself
		default:
			gap = true
			lossy = lossy || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSymbol(r)
		}
	}
	s = strings.Trim(b.String(), "_-")
	if len(s) > maxName {
		return s, true
	}
	return s, lossy
}

// separate writes one _ between two parts.
func separate(b *strings.Builder) {
	if s := b.String(); s != "" && s[len(s)-1] != '_' && s[len(s)-1] != '-' {
		b.WriteByte('_')
	}
}

// words returns the words of a name: those of get_user, getUser and get-user
// are the same two.
func words(name string) []string {
	s, _ := slug(name)
	return strings.FieldsFunc(s, func(r rune) bool { return r == '_' || r == '-' })
}
