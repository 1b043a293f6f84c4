package memory

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"callgate/internal/module/memory/memstore"
	"callgate/internal/module/memory/rank"
	"callgate/internal/module/memory/redact"
	"callgate/tool"
)

// service is the module while it is open.
type service struct {
	shelf      *memstore.Store
	ranker     *rank.Ranker
	summarizer Summarizer
	scrub      func(string) string
}

// memoryCall is one call.
type memoryCall struct {
	*service
	op            string
	by            tool.Principal
	settings      *settings
	redactedCount int // secrets that were taken out
}

// The books that the call may write in.
func (v *memoryCall) session() memstore.Key   { return sessionOf(v.by) }
func (v *memoryCall) knowledge() memstore.Key { return knowledgeOf(v.by) }

func sessionOf(p tool.Principal) memstore.Key {
	return memstore.Key{User: p.User, App: p.App, Session: p.Session}
}

func knowledgeOf(p tool.Principal) memstore.Key {
	return memstore.Key{User: p.User, App: p.App, Knowledge: true}
}

// cleanText makes a text fit to be kept: tidy, and without secrets.
func (v *memoryCall) cleanText(what, text string) (string, error) {
	text = tidy(text)
	if text == "" {
		return "", tool.Errorf(v.op, tool.Invalid, "the %s is empty", what).WithHint("say in words what is to be kept")
	}
	before := v.redactedCount
	if clean := v.scrub(text); clean != text {
		text = clean
		v.redactedCount++
	}
	if v.settings.Redact {
		clean, n := v.settings.redactor.Text(text)
		text = clean
		v.redactedCount += n
	}
	if v.redactedCount > before && redact.IsEmpty(text) {
		return "", tool.Errorf(v.op, tool.Invalid, "the %s is a secret, and secrets are not kept here", what).
			WithHint("keep what it is for and its name; the user stores the value with: callgate secret set NAME")
	}
	if len(text) > maxEntry {
		return "", tool.Errorf(v.op, tool.Invalid, "the %s has %d bytes; at most %d are kept", what, len(text), maxEntry).
			WithHint("keep the essence, or split it; whole documents belong in files")
	}
	return text, nil
}

// optional is kept for a text that may be missing.
func (v *memoryCall) optional(what, text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", nil
	}
	return v.cleanText(what, text)
}

// warn says in a result that secrets were taken out.
func (v *memoryCall) warn(r *tool.Result) {
	if v.redactedCount > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s taken out before this was kept: memory holds no secrets", count(v.redactedCount, "part that looks like a secret was", "parts that look like secrets were")))
	}
}

// tidy takes away what no note needs: space around it, broken characters,
// control characters, and those that are there but cannot be seen.
func tidy(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\ufffd")
	return strings.TrimSpace(norm.NFC.String(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d': // the last two join letters and pictures
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		default:
			return r
		}
	}, text)))
}

// same reports whether two texts say the same, certainly: in the same words,
// but for space, the case of the first letter, and a full stop.
func same(a, b string) bool { return plain(a) == plain(b) }

func plain(text string) string {
	text = strings.TrimRight(strings.Join(strings.Fields(text), " "), ".!; ")
	_, first := utf8.DecodeRuneInString(text)
	return strings.ToLower(text[:first]) + text[first:]
}

// oneLine is a text on one line, of at most most bytes.
func oneLine(text string, most int) string {
	return cut(strings.Join(strings.Fields(text), " "), most)
}

// cut is the beginning of a text, whole characters, with … where it was cut.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	at := most
	for at > 0 && text[at]&0xc0 == 0x80 {
		at--
	}
	return text[:at] + "…"
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
