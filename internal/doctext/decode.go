package doctext

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"

	utf16 "golang.org/x/text/encoding/unicode"
)

// decode makes UTF-8 of the bytes of a text. Markup may say its encoding; otherwise a text is
// UTF-8, or has a mark at its beginning, or is taken for Windows-1252, as browsers do.
func (r *reader) decode(content []byte, markup bool) (string, error) {
	var t transform.Transformer
	switch {
	case bytes.HasPrefix(content, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(content, []byte("\x00\x00\xfe\xff")):
		t = utf32.UTF32(utf32.LittleEndian, utf32.UseBOM).NewDecoder()
	case bytes.HasPrefix(content, []byte("\xff\xfe")), bytes.HasPrefix(content, []byte("\xfe\xff")):
		t = utf16.UTF16(utf16.LittleEndian, utf16.UseBOM).NewDecoder()
	case bytes.HasPrefix(content, []byte("\xef\xbb\xbf")):
		content = content[3:]
	}
	if t == nil {
		if bytes.IndexByte(content[:min(len(content), 8<<10)], 0) >= 0 {
			return "", r.invalid("it is not text").WithHint("documents of text, office and PDF files are read")
		}
		if utf8.Valid(content) {
			return lines(string(content)), nil
		}
		t = charmap.Windows1252.NewDecoder()
		if markup {
			encoding, _, _ := charset.DetermineEncoding(content, "text/html")
			t = encoding.NewDecoder()
		} else {
			r.warn("it is not UTF-8, and was read as Windows-1252")
		}
	}
	out, _, err := transform.Bytes(t, content)
	if err != nil {
		return "", r.invalid("its encoding is damaged: %v", err)
	}
	return lines(strings.ToValidUTF8(string(out), "\ufffd")), nil
}

// lines ends every line as this program does.
func lines(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

// clean removes what no reader sees, but could mislead one.
func clean(text string) string {
	return strings.TrimRight(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d': // the last two join letters
			return r
		case r == '\u00a0':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		default:
			return r
		}
	}, strings.ToValidUTF8(text, "\ufffd")), " \t\n")
}

// maxHeading bounds a heading, which is repeated with every part of its section.
const maxHeading = 200

// oneLine makes a heading of a text.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(clean(text)), " ")
	if len(text) <= maxHeading {
		return text
	}
	return beginning(text, maxHeading) + "…"
}

// beginning is a text up to a number of bytes, cut between two characters.
func beginning[T ~string | ~[]byte](text T, most int) T {
	if most = max(most, 0); len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
