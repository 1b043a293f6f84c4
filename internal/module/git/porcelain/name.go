// Package porcelain parses the output that Git writes for programs: states,
// commits, numbers of changed lines, blame, references and trees.
//
// The output holds bytes of a repository that is not trusted. A parser never
// looks anything up, and returns an error for output of another form.
package porcelain

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Name is a path in a repository as Git stores it: bytes, with slashes. As text
// it is written as it is, if it is valid and has no control characters, and
// otherwise as Git quotes it, in double quotes with C's escapes. [ParseName]
// reads both, so every name can be shown and given back.
type Name string

// String writes the name so that ParseName reads it.
func (n Name) String() string {
	text := string(n)
	if utf8.ValidString(text) && !strings.HasPrefix(text, `"`) && !strings.ContainsFunc(text, isControl) {
		return text
	}
	b := []byte{'"'}
	for i := 0; i < len(n); {
		r, size := utf8.DecodeRuneInString(string(n[i:]))
		switch {
		case r == utf8.RuneError && size == 1 || isControl(r):
			for _, c := range []byte(n[i : i+size]) {
				b = append(b, escape(c)...)
			}
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		default:
			b = append(b, n[i:i+size]...)
		}
		i += size
	}
	return string(append(b, '"'))
}

// MarshalText writes the name as String does.
func (n Name) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

func isControl(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 }

func escape(c byte) string {
	switch c {
	case '\n':
		return `\n`
	case '\t':
		return `\t`
	case '\r':
		return `\r`
	default:
		return fmt.Sprintf(`\%03o`, c)
	}
}

// ParseName reads a name as String writes it. A text that does not begin with a
// double quote is a name as it is.
func ParseName(text string) (Name, error) {
	if !strings.HasPrefix(text, `"`) {
		return Name(text), nil
	}
	if len(text) < 2 || !strings.HasSuffix(text, `"`) {
		return "", fmt.Errorf("the name %q begins with a quote and does not end with one", text)
	}
	var b []byte
	for rest := text[1 : len(text)-1]; rest != ""; {
		if rest[0] != '\\' {
			if rest[0] == '"' {
				return "", fmt.Errorf("the name %q has a quote inside its quotes; write it as \\\"", text)
			}
			b, rest = append(b, rest[0]), rest[1:]
			continue
		}
		c, n := unescape(rest[1:])
		if n == 0 {
			return "", fmt.Errorf("the name %q holds an escape that Git does not write", text)
		}
		b, rest = append(b, c), rest[1+n:]
	}
	return Name(b), nil
}

// unescape reads the escape after a backslash, and returns its length; 0 if
// there is none.
func unescape(s string) (byte, int) {
	if len(s) >= 3 && '0' <= s[0] && s[0] <= '3' && isOctal(s[1]) && isOctal(s[2]) {
		return (s[0]-'0')<<6 | (s[1]-'0')<<3 | (s[2] - '0'), 3
	}
	if s != "" {
		if i := strings.IndexByte(`abtnvfr"\`, s[0]); i >= 0 {
			return "\a\b\t\n\v\f\r\"\\"[i], 1
		}
	}
	return 0, 0
}

func isOctal(c byte) bool { return '0' <= c && c <= '7' }

// Text replaces what is not valid UTF-8.
func Text(data string) string { return strings.ToValidUTF8(data, "\uFFFD") }
