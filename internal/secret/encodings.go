package secret

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"mime/quotedprintable"
	"slices"
	"strings"
	"unicode/utf16"
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
		for _, text := range slices.Concat(base64Of(text), base32Of(text), encodedTwice(text)) {
			add(text, true)
		}
		for _, text := range listings(text) {
			add(text, false)
		}
	}
	for _, text := range wideForms(value) {
		for _, text := range spellings(text) {
			add(text, false)
		}
		for _, text := range base64Of(text) { // as PowerShell is given its commands
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

// listings writes every byte of a value as a number, the way that debuggers, dumps
// and programs print bytes: hex with something between, octal, decimal; and as mail
// does.
func listings(value string) []string {
	var all []string
	for _, how := range []struct {
		format  string // of a byte
		between []string
	}{
		{"%02x", []string{" ", ":", "-", ", ", ","}},
		{"%02X", []string{" ", ":", "-", ", ", ","}},
		{"0x%02x", []string{" ", ", ", ","}},
		{"0x%02X", []string{" ", ", ", ","}},
		{"%03o", []string{" ", ""}},
		{"%d", []string{" ", ", ", ","}},
		{"=%02X", []string{""}},
	} {
		numbers := make([]string, len(value))
		for i := range len(value) {
			numbers[i] = fmt.Sprintf(how.format, value[i])
		}
		for _, between := range how.between {
			all = append(all, strings.Join(numbers, between))
		}
	}
	var mail strings.Builder
	w := quotedprintable.NewWriter(&mail)
	_, _ = w.Write([]byte(value)) // into memory
	_ = w.Close()
	return append(all, mail.String(), strings.ReplaceAll(mail.String(), "\r\n", "\n"), pairs(value))
}

// pairs writes a value as dumps do: hex, two bytes at a time.
func pairs(value string) string {
	var b strings.Builder
	for i := range len(value) {
		if i > 0 && i%2 == 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%02x", value[i])
	}
	return b.String()
}

// wideForms writes a value in UTF-16, the smaller byte first and last.
func wideForms(value string) []string {
	var little, big []byte
	for _, unit := range utf16.Encode([]rune(value)) {
		little = binary.LittleEndian.AppendUint16(little, unit)
		big = binary.BigEndian.AppendUint16(big, unit)
	}
	return []string{string(little), string(big)}
}

// base32Of writes a value in base32, without what depends on its end.
func base32Of(value string) []string {
	text := strings.TrimRight(base32.StdEncoding.EncodeToString([]byte(value)), "=")
	if len(value)%5 != 0 && text != "" {
		text = text[:len(text)-1]
	}
	return []string{text, strings.ToLower(text)}
}

// encodedTwice writes a value in base64 or hex, and that in base64.
func encodedTwice(value string) []string {
	var all []string
	for _, once := range []string{
		base64.StdEncoding.EncodeToString([]byte(value)), base64.URLEncoding.EncodeToString([]byte(value)),
		hex.EncodeToString([]byte(value)),
	} {
		all = append(all, base64Of(once)...)
		all = append(all, hex.EncodeToString([]byte(once)))
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
