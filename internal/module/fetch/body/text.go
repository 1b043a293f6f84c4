package body

import (
	"bytes"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// Kind classifies a body for a reader.
type Kind int

// The kinds.
const (
	Binary  Kind = iota // bytes that mean nothing to a reader
	Plain               // text
	JSON                // text that calls itself JSON
	Picture             // an image of a type that models can see
)

// MaxPicture bounds an image that a model is shown, as the strictest of the
// model APIs does.
const MaxPicture = 5 << 20

// KindOf classifies a body by its content type, and by its first bytes where
// the content type says nothing useful.
func KindOf(contentType string, head []byte) Kind {
	switch kind := MediaType(contentType); {
	case IsJSON(kind):
		return JSON
	case IsPicture(kind):
		return Picture
	case IsText(kind):
		return Plain
	case kind != "" && kind != "application/octet-stream" && kind != "binary/octet-stream" && kind != "unknown/unknown":
		return Binary
	}
	head = head[:min(len(head), 4096)]
	if strings.HasPrefix(http.DetectContentType(head), "text/") && !bytes.ContainsRune(head, 0) {
		return Plain
	}
	return Binary
}

// MediaType returns a content type without its parameters, in lower case.
func MediaType(contentType string) string {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind, _, _ = strings.Cut(strings.ToLower(contentType), ";")
	}
	return strings.TrimSpace(kind)
}

// IsJSON reports whether a media type is JSON.
func IsJSON(mediaType string) bool {
	return mediaType == "application/json" || mediaType == "text/json" || strings.HasSuffix(mediaType, "+json")
}

// IsPicture reports whether a media type is an image that models can see.
func IsPicture(mediaType string) bool {
	switch mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// IsText reports whether a media type is text other than JSON.
func IsText(mediaType string) bool {
	return strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "/xml") ||
		strings.HasSuffix(mediaType, "+xml") || strings.HasSuffix(mediaType, "+yaml") || textTypes[mediaType]
}

// textTypes lists types that are text though their names do not begin with it.
var textTypes = map[string]bool{
	"application/javascript": true, "application/ecmascript": true, "application/x-javascript": true,
	"application/x-ndjson": true, "application/ndjson": true, "application/jsonl": true, "application/jsonlines": true,
	"application/json-seq": true, "application/json5": true, "application/yaml": true, "application/x-yaml": true,
	"application/toml": true, "application/x-sh": true, "application/sql": true, "application/graphql": true,
	"application/x-www-form-urlencoded": true, "application/csv": true, "application/x-tex": true,
	"application/pgp-signature": true, "application/x-pem-file": true, "application/mbox": true, "message/rfc822": true,
}

var xmlEncoding = regexp.MustCompile(`^\s*<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9_.:-]+)["']`)

// Decode converts a text to UTF-8. The byte order mark, the content type or the
// document itself say its encoding, in that order. Charset names an encoding
// other than UTF-8; lossy reports bytes that mean nothing in it.
// Truncated says that the end of the text may be half a character.
func Decode(content []byte, contentType string, truncated bool) (text, charset string, lossy bool) {
	enc, label := encodingOf(content, contentType, truncated)
	if label == "utf-8" || enc == encoding.Nop {
		content = bytes.TrimPrefix(content, []byte("\ufeff"))
		if truncated {
			content = wholeRunes(content)
		}
		return strings.ToValidUTF8(string(content), "\ufffd"), "", !utf8.Valid(content)
	}
	out, err := enc.NewDecoder().Bytes(content)
	if err != nil {
		return strings.ToValidUTF8(string(content), "\ufffd"), "", true
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(out), "\ufffd"), "\ufeff"), label, false
}

func encodingOf(content []byte, contentType string, truncated bool) (encoding.Encoding, string) {
	enc, label, certain := charset.DetermineEncoding(content, contentType)
	if certain {
		return enc, label
	}
	if m := xmlEncoding.FindSubmatch(content[:min(len(content), 1024)]); m != nil {
		if e, n := charset.Lookup(string(m[1])); e != nil {
			enc, label = e, n
		}
	}
	// Browsers fall back to windows-1252. Nothing asks for it here, so what is
	// valid UTF-8 is taken for that.
	if label == "windows-1252" && (utf8.Valid(content) || truncated && utf8.Valid(wholeRunes(content))) {
		return encoding.Nop, "utf-8"
	}
	return enc, label
}

// wholeRunes removes a character at the end that a limit cut in two.
func wholeRunes(text []byte) []byte {
	for i := 1; i <= min(len(text), utf8.UTFMax-1); i++ {
		if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return text[:len(text)-i]
			}
			break
		}
	}
	return text
}
