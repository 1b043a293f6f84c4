package weburl

import "strings"

// Reading is one way in which a server may read a path, and the query.
type Reading struct {
	// Path is decoded, except that an encoded slash, backslash, question mark, number
	// sign or percent sign stays encoded in the first reading. It begins without a slash.
	Path string
	// Query is as in the canonical form, its slashes encoded, so that a pattern of a path
	// never crosses into it. Empty for no query.
	Query string
}

// Readings returns the ways in which servers may read the address: first as the standard
// says, then with encoded separators decoded, once and again, with repeated slashes as
// one, and with parameters (";") dropped from names.
func (u *URL) Readings() []Reading {
	query := ""
	if u.Query != "" {
		query = strings.ReplaceAll(u.Query, "/", "%2F")
	}
	all := []Reading{{strings.TrimPrefix(PlainPath(u.Path), "/"), query}}
	path := u.Path
	for range 3 {
		next := lenient(path)
		for _, p := range []string{next, withoutParameters(next)} {
			all = appendNew(all, Reading{strings.TrimPrefix(p, "/"), query})
		}
		if next == path {
			break
		}
		path = next
	}
	return all
}

func appendNew(all []Reading, r Reading) []Reading {
	for _, other := range all {
		if other == r {
			return all
		}
	}
	return append(all, r)
}

// PlainPath decodes a path, except for the characters that would change its shape.
func PlainPath(path string) string {
	return decoded(path, func(c byte) bool { return strings.IndexByte(`/\?#%`, c) < 0 && c >= ' ' && c != 0x7f })
}

// lenient decodes a path whole, takes "\" for "/" and several slashes for one, and
// resolves the dots that appear.
func lenient(path string) string {
	path = decoded(path, func(byte) bool { return true })
	path = strings.ReplaceAll(path, `\`, "/")
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return resolveDots(path)
}

// withoutParameters drops the parameters of the names of a path: /a;x=1/b is /a/b.
func withoutParameters(path string) string {
	if !strings.Contains(path, ";") {
		return path
	}
	names := strings.Split(path, "/")
	for i := range names {
		names[i], _, _ = strings.Cut(names[i], ";")
	}
	return lenient(strings.Join(names, "/"))
}
