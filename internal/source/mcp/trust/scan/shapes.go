package scan

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

const (
	ruleBlob    = "encoded-text"
	ruleDataURL = "data-url"
	ruleLong    = "long-text"
)

const (
	whyProse   = "it holds a text in base64, which a model reads and a human does not"
	whyBlob    = "it holds a long stretch of encoded data, which a description has no use for"
	whyDataURL = "it carries a document inside an address"
	whyLong    = "so long a description is seldom read to its end by those who accept it"
)

// shapes scans for texts that are suspicious by their form: encoded data, and
// long texts.
func (s *scanner) shapes(p *piece) {
	if len(p.raw) > longText {
		s.report(ruleLong, Notice, s.where(p.at), p.raw[:40], whyLong)
	}
	if len(p.raw) >= minBlob {
		s.blobs(p)
	}
}

// Lengths of encoded data, in characters.
const (
	minBlob  = 32
	longBlob = 120
)

// blobs scans each run of characters that could be base64.
func (s *scanner) blobs(p *piece) {
	from := 0
	for i := 0; i <= len(p.raw); i++ {
		if i < len(p.raw) && isBase64[p.raw[i]] {
			continue
		}
		if i-from >= minBlob {
			s.blob(p, from, i)
		}
		from = i + 1
	}
}

func (s *scanner) blob(p *piece, from, to int) {
	run := p.raw[from:to]
	prose, coded := decodeBlob(run)
	end := min(from, len(p.folded))
	dataURL := from > 7 && strings.Contains(p.folded[max(0, end-60):end], "data:")
	switch {
	case prose && (s.codec || p.sample):
		s.report(ruleBlob, Notice, s.where(p.at), run, whyProse)
	case prose:
		s.report(ruleBlob, Serious, s.where(p.at), run, whyProse)
	case coded && dataURL:
		s.report(ruleDataURL, Notice, s.where(p.at), excerpt(p.raw, from, from+40), whyDataURL)
	case coded && len(run) >= longBlob:
		s.report(ruleBlob, Notice, s.where(p.at), run, whyBlob)
	}
}

// decodeBlob reports whether a run decodes to readable words, and whether its
// characters are at least mixed as in encoded data.
func decodeBlob(run string) (prose, coded bool) {
	var upper, lower, digit, sign int
	for i := range len(run) {
		switch c := run[i]; {
		case 'A' <= c && c <= 'Z':
			upper++
		case 'a' <= c && c <= 'z':
			lower++
		case '0' <= c && c <= '9':
			digit++
		default:
			sign++
		}
	}
	// A path, an identifier or a hash in hex is not mixed like this.
	if upper*12 < len(run) || lower*12 < len(run) || sign*6 > len(run) {
		return false, false
	}
	trimmed := strings.TrimRight(run, "=")
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if data, err := enc.DecodeString(trimmed[:len(trimmed)/4*4]); err == nil && readable(string(data)) {
			return true, true
		}
	}
	return false, digit*20 >= len(run)
}

// readable reports whether a text is words with blanks between them.
func readable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	letters, blanks := 0, 0
	for _, r := range s {
		switch {
		case r == ' ' || r == '\n':
			blanks++
		case r < ' ' || r == 0x7f:
			return false
		case 'a' <= r|0x20 && r|0x20 <= 'z' || r > 0xbf:
			letters++
		}
	}
	return blanks >= 2 && letters*10 >= utf8.RuneCountInString(s)*6
}

var isBase64 = func() (t [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=") {
		t[c] = true
	}
	return t
}()

// secretKey scans for a property whose name asks for a secret file: a model
// fills in what a parameter is called.
func (s *scanner) secretKey(p *piece) {
	if len(p.raw) < 10 {
		return
	}
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("- ./", r) {
			return '_'
		}
		return r
	}, p.folded)
	for _, file := range []string{
		"id_rsa", "id_ed25519", "etc_passwd", "etc_shadow", "aws_credentials", "mcp_json", "dot_env", "env_file",
	} {
		if !strings.Contains(name, file) {
			continue
		}
		for _, word := range []string{"content", "read", "from", "dump", "text_of"} {
			if strings.Contains(name, word) {
				s.report(ruleSecrets, Serious, s.where(p.at), p.raw, whySecrets)
				return
			}
		}
	}
}
