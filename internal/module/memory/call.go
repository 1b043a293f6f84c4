package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"callgate/internal/amount"
	"callgate/internal/module/memory/memstore"
	"callgate/internal/module/memory/rank"
	"callgate/internal/module/memory/redact"
	"callgate/tool"
)

// service is the module while it is open.
type service struct {
	store      *memstore.Store
	ranker     *rank.Ranker
	summarizer Summarizer
	scrub      func(string) string
}

// memoryCall is one call.
type memoryCall struct {
	*service
	op            string
	call          tool.Call
	by            tool.Principal
	settings      *settings
	redactedCount int            // secrets that were removed
	attempts      []tool.Attempt // what was asked of models
	warnings      []string
}

// The collections that a call may write.
func (c *memoryCall) session() memstore.Key   { return sessionOf(c.by) }
func (c *memoryCall) knowledge() memstore.Key { return knowledgeOf(c.by) }

func sessionOf(p tool.Principal) memstore.Key {
	return memstore.Key{User: p.User, App: p.App, Session: p.Session}
}

func knowledgeOf(p tool.Principal) memstore.Key {
	return memstore.Key{User: p.User, App: p.App, Knowledge: true}
}

// cleanText returns a text as it is stored: normalized, and without secrets.
func (c *memoryCall) cleanText(what, text string) (string, error) {
	text = normalize(text)
	if text == "" {
		return "", tool.Errorf(c.op, tool.Invalid, "the %s is empty", what).WithHint("say in words what to remember")
	}
	before := c.redactedCount
	if clean := c.scrub(text); clean != text {
		text = clean
		c.redactedCount++
	}
	if c.settings.Redact {
		clean, n := c.settings.redactor.Text(text)
		text = clean
		c.redactedCount += n
	}
	if c.redactedCount > before && redact.IsEmpty(text) {
		return "", tool.Errorf(c.op, tool.Invalid, "the %s is a secret, and memory stores no secrets", what).
			WithHint("store its purpose and its name; the user stores the value with: callgate secrets set NAME")
	}
	if len(text) > maxEntry {
		return "", tool.Errorf(c.op, tool.Invalid,
			"the %s has %d bytes, and an entry has at most %d", what, len(text), maxEntry).
			WithHint("store the essence, or split it; whole documents belong in files")
	}
	return text, nil
}

// optional is cleanText for a text that may be missing.
func (c *memoryCall) optional(what, text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", nil
	}
	return c.cleanText(what, text)
}

// warn adds to a result what its reader should know, if secrets were removed or something was left undone.
func (c *memoryCall) warn(r *tool.Result) {
	r.Attempts, r.Warnings = c.attempts, append(r.Warnings, c.warnings...)
	if c.redactedCount > 0 {
		parts := amount.As(c.redactedCount, "part that looks like a secret was", "parts that look like secrets were")
		r.Warnings = append(r.Warnings, parts+" taken out before this was kept: memory holds no secrets")
	}
}

// normalize removes the space around a text, invalid characters, control
// characters and invisible characters.
func normalize(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\ufffd")
	return strings.TrimSpace(norm.NFC.String(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d': // the last two join letters and emoji
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		default:
			return r
		}
	}, text)))
}

// same reports whether two texts certainly mean the same: they differ only in
// space, the case of the first letter, and a full stop.
func same(a, b string) bool { return canonical(a) == canonical(b) }

func canonical(text string) string {
	text = strings.TrimRight(strings.Join(strings.Fields(text), " "), ".!; ")
	_, first := utf8.DecodeRuneInString(text)
	return strings.ToLower(text[:first]) + text[first:]
}

// oneLine returns a text on one line, cut to a number of bytes.
func oneLine(text string, limit int) string {
	return cut(strings.Join(strings.Fields(text), " "), limit)
}

// cut cuts a text to a number of bytes, between two characters, and appends … to it.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	at := limit
	for at > 0 && text[at]&0xc0 == 0x80 {
		at--
	}
	return text[:at] + "…"
}
