package tokenizer

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// rewriter is one step of normalisation, of the text of s.
type rewriter func(s *scratch)

// eachRune rewrites a text character by character.
func eachRune(s *scratch, change func(out []byte, r rune) []byte) {
	out := s.spare[:0]
	for i := 0; i < len(s.text); {
		r, size := utf8.DecodeRune(s.text[i:])
		out = change(out, r)
		i += size
	}
	s.text, s.spare = out, s.text
}

func toForm(name string) rewriter {
	form := map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}[name]
	return func(s *scratch) { s.normalized(form) }
}

func lowercase(s *scratch) { eachRune(s, appendLower) }

// appendLower writes the full lower case of a character. Only the capital i with
// a dot has a lower case of two characters.
func appendLower(out []byte, r rune) []byte {
	if r == 'İ' {
		return append(out, "i\u0307"...)
	}
	return utf8.AppendRune(out, unicode.ToLower(r))
}

func dropMarks(s *scratch) {
	eachRune(s, func(out []byte, r rune) []byte {
		if r >= utf8.RuneSelf && unicode.Is(unicode.Mn, r) {
			return out
		}
		return utf8.AppendRune(out, r)
	})
}

// plainSpace replaces white space by spaces and drops control characters.
func plainSpace(s *scratch) {
	eachRune(s, func(out []byte, r rune) []byte {
		switch {
		case isSpace(r):
			return append(out, ' ')
		case unicode.IsControl(r):
			return out
		}
		return utf8.AppendRune(out, r)
	})
}

// bertClean drops invisible characters, replaces white space by spaces, and puts
// spaces around Chinese characters, so that each is a word.
func bertClean(clean, chinese bool) rewriter {
	change := func(out []byte, r rune) []byte {
		switch {
		case clean && (r == '\t' || r == '\n' || r == '\r'):
			return append(out, ' ')
		case clean && (r == 0 || r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)):
			return out
		case clean && isSpace(r):
			return append(out, ' ')
		case chinese && isChinese(r):
			return append(utf8.AppendRune(append(out, ' '), r), ' ')
		}
		return utf8.AppendRune(out, r)
	}
	return func(s *scratch) { eachRune(s, change) }
}

// isChinese follows BERT's list of ranges, with its gaps.
func isChinese(r rune) bool {
	return 0x4E00 <= r && r <= 0x9FFF || 0x3400 <= r && r <= 0x4DBF || 0xF900 <= r && r <= 0xFAFF ||
		0x20000 <= r && r <= 0x2A6DF || 0x2A700 <= r && r <= 0x2B81F || 0x2B920 <= r && r <= 0x2CEAF ||
		0x2F800 <= r && r <= 0x2FA1F
}

func strip(left, right bool) rewriter {
	return func(s *scratch) {
		from, to := 0, len(s.text)
		for left && from < to {
			r, size := utf8.DecodeRune(s.text[from:])
			if !isSpace(r) {
				break
			}
			from += size
		}
		for right && from < to {
			r, size := utf8.DecodeLastRune(s.text[from:to])
			if !isSpace(r) {
				break
			}
			to -= size
		}
		s.text = append(s.text[:0], s.text[from:to]...)
	}
}

// prepend puts a prefix before a text that is not empty.
func prepend(prefix string) rewriter {
	return func(s *scratch) {
		if len(s.text) > 0 {
			out := append(append(s.spare[:0], prefix...), s.text...)
			s.text, s.spare = out, s.text
		}
	}
}

func replaceText(old, content string) rewriter {
	pattern := []byte(old)
	return func(s *scratch) {
		out, rest := s.spare[:0], s.text
		for {
			i := bytes.Index(rest, pattern)
			if i < 0 || len(out) > s.most {
				break
			}
			out = append(append(out, rest[:i]...), content...)
			rest = rest[i+len(pattern):]
		}
		out = append(out, rest...)
		s.text, s.spare = out, s.text
	}
}

// replaceSpace replaces each run of at least n characters that are white space.
func replaceSpace(n int, white func(rune) bool, content string) rewriter {
	return func(s *scratch) {
		out := s.spare[:0]
		for i := 0; i < len(s.text) && len(out) <= s.most; {
			count, j := 0, i
			for j < len(s.text) {
				r, size := utf8.DecodeRune(s.text[j:])
				if !white(r) {
					break
				}
				count, j = count+1, j+size
			}
			if count >= n {
				out = append(out, content...)
			} else {
				out = append(out, s.text[i:j]...)
			}
			if i = j; i < len(s.text) {
				_, size := utf8.DecodeRune(s.text[i:])
				out = append(out, s.text[i:i+size]...)
				i += size
			}
		}
		s.text, s.spare = out, s.text
	}
}

func isSpace(r rune) bool { return unicode.IsSpace(r) }
func isBlank(r rune) bool { return r == ' ' }
