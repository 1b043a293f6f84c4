package secret

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"callgate/internal/lazyregexp"
)

// MinScrubbed is the fewest bytes with which something is scrubbed: anything
// shorter would tear holes into ordinary text. The search counts on it.
const MinScrubbed = 8

// encodedForm is one way in which a value stands in a text.
type encodedForm struct {
	text string
	name string // of the secret
	// wraps says that it may be broken into lines anywhere, as programs do with
	// base64 and hex.
	wraps bool
}

// formsOf lists the ways a value is written that the search cannot work out by
// itself. What is escaped (JSON, URL, HTML, a shell's backslashes) it reads
// unescaped, so those need no form of their own.
func formsOf(name, value string) []encodedForm {
	var all []encodedForm
	add := func(text string, wraps bool) {
		if len(text) >= MinScrubbed {
			all = append(all, encodedForm{text, name, wraps})
		}
	}
	for _, text := range spellings(value) {
		add(text, false)
		digits := hex.EncodeToString([]byte(text))
		add(digits, true)
		add(strings.ToUpper(digits), true)
		for _, text := range base64Of(text) {
			add(text, true)
		}
	}
	add(strings.ReplaceAll(value, " ", "+"), false) // in a form's URL
	for _, text := range readings(value) {
		add(text, false)
		add(strings.ReplaceAll(text, " ", "+"), false)
	}
	for _, line := range tokenLine.FindAllString(value, -1) {
		if line != value {
			add(line, false)
		}
	}
	return all
}

// tokenLine is a whole line that is nothing but a long word, such as those of
// a private key. Programs indent such lines and change their ends.
var tokenLine = lazyregexp.New(`(?m)^[A-Za-z0-9+/=_.-]{24,}$`)

// spellings are the value itself, without the space around it, and as it is
// after a JSON encoder that does not know its bytes.
func spellings(value string) []string {
	all := []string{value}
	if trimmed := strings.TrimSpace(value); trimmed != value {
		all = append(all, trimmed)
	}
	if !utf8.ValidString(value) {
		var mangled strings.Builder
		for _, r := range value { // each bad byte is one U+FFFD
			mangled.WriteRune(r)
		}
		all = append(all, mangled.String())
	}
	return all
}

// base64Of writes a value in base64 at each of the three alignments, cut to
// what does not depend on its neighbours.
func base64Of(value string) []string {
	var all []string
	for shift := range 3 {
		padded := append(make([]byte, shift), value...)
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := enc.EncodeToString(padded)
			head := (shift*8 + 5) / 6 // characters that also hold bits of what stands before
			tail := len(text)
			if len(padded)%3 != 0 {
				tail-- // the last character also holds bits of what follows
			}
			if head < tail {
				all = append(all, text[head:tail])
			}
		}
	}
	return all
}
