package secret

import (
	"bytes"
	"strings"

	"callgate/tool"
)

// Scrubbed is text without secrets. Only a Vault makes it, so text that is cut
// from it was scrubbed first: a secret that is cut before can no longer be found.
type Scrubbed struct{ text string }

// String returns the whole text.
func (s Scrubbed) String() string { return s.text }

// Truncate returns the text cut to at most n bytes and a mark.
func (s Scrubbed) Truncate(n int) string { return tool.TruncateTo(s.text, n) }

// ScrubText scrubs a short text that a human or a model reads: a summary, a
// warning, an error. Whoever wrote it may have cut it already, so parts of secrets
// are taken out of its end too, and from before and after every mark of a cut.
func (v *Vault) ScrubText(text string) Scrubbed {
	return Scrubbed{v.scrubber().fragments(v.ScrubString(text), true)}
}

// TakenOut is the warning of a result out of which secrets were taken.
const TakenOut = "secrets were taken out of this result"

// ScrubPayload scrubs what a tool returned. As ScrubText, it takes out parts of
// secrets beside the marks of a cut, but its end is no mark.
func (v *Vault) ScrubPayload(payload []byte) []byte {
	clean := v.Scrub(payload)
	for _, mark := range marks {
		if bytes.Contains(clean, []byte(mark)) {
			return []byte(v.scrubber().fragments(string(clean), false))
		}
	}
	return clean
}

// ScrubPayloadString is ScrubPayload for a string.
func (v *Vault) ScrubPayloadString(payload string) string {
	return v.scrubber().fragments(v.ScrubString(payload), false)
}

const (
	// minFragment is the fewest bytes of a secret's form that are taken for a part
	// of it. In base64, up to two characters of the value stand beside the form.
	minFragment = MinScrubbed - 2
	fragment    = "[part of a secret]"
	maxSplit    = 6 // bytes that may remain of an escape whose beginning was cut
)

// marks are written where a text was cut; the second is the first as some
// encoders of JSON write it.
var marks = [...]string{"…", `\u2026`, "..."}

// nextMark finds the first mark in a text.
func nextMark(t string) (at, size int) {
	at = -1
	for _, mark := range marks {
		head := t
		if at >= 0 {
			head = t[:at]
		}
		if i := strings.Index(head, mark); i >= 0 {
			at, size = i, len(mark)
		}
	}
	return at, size
}

// fragments takes out the parts of secrets that stand before or after a mark,
// and with end those at the end of the text.
func (s *scrubber) fragments(t string, end bool) string {
	if at, _ := nextMark(t); s == nil || at < 0 && !end {
		return t
	}
	var b strings.Builder
	after := false
	for {
		at, size := nextMark(t)
		piece := t
		if at >= 0 {
			piece = t[:at]
		}
		clean := piece
		if after {
			clean = s.withoutTail(clean)
		}
		if at >= 0 || end {
			clean = s.withoutHead(clean)
		}
		b.WriteString(clean)
		if at < 0 {
			return b.String()
		}
		b.WriteString(t[at : at+size])
		t, after = t[at+size:], true
	}
}

// withoutHead takes the head of a secret from the end of a text.
func (s *scrubber) withoutHead(t string) string {
	body := strings.TrimRight(t, " \t\r\n\"'")
	_, open := find(s, body, true)
	if len(body)-open < minFragment {
		return t
	}
	return body[:open] + fragment + t[len(body):]
}

// withoutTail takes the tail of a secret from the beginning of a text, which may
// begin inside of an escape.
func (s *scrubber) withoutTail(t string) string {
	body := strings.TrimLeft(t, " \t\r\n\"'")
	space := t[:len(t)-len(body)]
	for skip := range min(len(body), maxSplit) {
		if n := s.tail(body[skip:], minFragment); n > 0 {
			return space + fragment + body[skip+n:]
		}
	}
	l, _ := unescape(body, allKinds, false)
	if l == nil {
		return t
	}
	plain := string(l.text)
	for skip := range min(len(plain), maxSplit) {
		n := s.tail(plain[skip:], minFragment/2)
		if n == 0 {
			continue
		}
		if end := l.outer(span{from: skip, to: skip + n}).to; end >= minFragment {
			return space + fragment + body[end:]
		}
	}
	return t
}

// tail returns how much of the beginning of a text is the tail of a form, or a
// part of one that the text ends in; 0 when that is less than least.
func (s *scrubber) tail(t string, least int) int {
	var key []byte // across line breaks
	for at := skipBreak(t, 0); at < len(t) && len(key) < least; at = skipBreak(t, at+1) {
		key = append(key, t[at])
	}
	if len(key) < least || !s.inside(string(key)) {
		return 0
	}
	longest := 0
	for _, forms := range s.begin {
		for _, f := range forms {
			for from := 0; ; from++ {
				i := strings.Index(f.text[from:], string(key))
				if i < 0 {
					break
				}
				from += i
				longest = max(longest, f.tailAt(t, from))
			}
		}
	}
	return longest
}

// tailAt compares a text with a form from a place on, and returns how much of the
// text is equal when one of them ends, else 0.
func (f encodedForm) tailAt(t string, from int) int {
	at := 0
	for _, c := range []byte(f.text[from:]) {
		if f.wraps {
			at = skipBreak(t, at)
		}
		if at == len(t) {
			break
		}
		if t[at] != c {
			return 0
		}
		at++
	}
	return at
}
