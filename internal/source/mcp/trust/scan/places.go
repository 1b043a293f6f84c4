package scan

import "strings"

// addressAt returns the length of the address that begins at a place: a URL, an
// e-mail address, a host, an IP address or a phone number. 0 is none.
func addressAt(s string, i int) int {
	c := s[i]
	if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+') {
		return 0
	}
	n := i
	dotted := false
	for n < len(s) && !endsAddress[s[n]] {
		dotted = dotted || s[n] == '.' || s[n] == ':'
		n++
	}
	if !dotted && c != '+' {
		return 0
	}
	word := strings.TrimRight(s[i:n], ".:!?")
	if strings.HasPrefix(word, "api.") || strings.Contains(word, "://api.") {
		return 0 // a service that the tool is made for
	}
	switch {
	case strings.Contains(word, "://"):
		scheme, rest, _ := strings.Cut(word, "://")
		switch scheme {
		case "http", "https", "ws", "wss", "ftp", "sftp", "s3", "gs", "tcp":
			if len(rest) > 3 {
				return len(word)
			}
		}
	case strings.Contains(word, "@"):
		name, host, _ := strings.Cut(word, "@")
		if name != "" && isHost(host) {
			return len(word)
		}
	case c == '+':
		// A phone number may have blanks and hyphens.
		n, digits := i+1, 0
		for ; n < len(s) && strings.IndexByte("0123456789 -()", s[n]) >= 0; n++ {
			if s[n] >= '0' {
				digits++
			}
		}
		if digits >= 7 {
			return n - i
		}
	default:
		host, _, _ := strings.Cut(word, "/")
		host, _, _ = strings.Cut(host, ":")
		if isHost(host) && (host != word || goesTo(s[:i])) || isIP(host) {
			return len(word)
		}
	}
	return 0
}

var endsAddress = func() (t [256]bool) {
	for i := range t {
		t[i] = i <= ' ' || i >= 0x80 || strings.IndexByte("\"'`<>()|,;", byte(i)) >= 0
	}
	return t
}()

// goesTo reports whether a text ends in a word that says where something goes.
func goesTo(s string) bool {
	for _, word := range []string{" to ", " with ", " into ", " via ", " curl ", " wget ", " through ", "\nto "} {
		if strings.HasSuffix(s, word) {
			return true
		}
	}
	return false
}

// isHost reports whether a word is a host name under a well-known top-level
// domain: other words have dots too.
func isHost(s string) bool {
	at := strings.LastIndexByte(s, '.')
	if at < 1 {
		return false
	}
	switch s[at+1:] {
	case "com", "net", "org", "io", "dev", "app", "co", "ai", "xyz", "info", "biz", "ru", "cn", "example", "test", "invalid",
		"site", "online", "top", "me", "us", "uk", "de", "fr", "tk", "ly", "gg", "cloud", "tech", "live", "pro", "cc", "ws":
	default:
		return false
	}
	for i := range at {
		if c := s[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.') {
			return false
		}
	}
	return true
}

func isIP(s string) bool {
	parts := strings.Split(s, ".")
	if len(parts) != 4 {
		return false
	}
	for _, part := range parts {
		if part == "" || len(part) > 3 || strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return true
}
