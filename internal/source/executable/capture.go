package executable

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// headBuffer keeps the first bytes that are written to it. At the first byte too
// many it calls over, once, and drops the rest; a writer never waits.
type headBuffer struct {
	most int
	over func()

	mu   sync.Mutex
	kept bytes.Buffer
	full bool
}

func (h *headBuffer) Write(p []byte) (int, error) {
	h.mu.Lock()
	left := h.most - h.kept.Len()
	h.kept.Write(p[:min(len(p), left)])
	first := len(p) > left && !h.full
	h.full = h.full || first
	h.mu.Unlock()
	if first {
		h.over()
	}
	return len(p), nil
}

// bytes returns what was kept, and whether there was more.
func (h *headBuffer) bytes() ([]byte, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kept.Bytes(), h.full
}

// tailBuffer keeps the last bytes that are written to it, and counts all. Past a
// limit of all it calls over, once.
type tailBuffer struct {
	most  int   // bytes kept
	limit int64 // bytes in all
	over  func()

	mu    sync.Mutex
	kept  []byte // up to twice as many, so that few writes move bytes
	total int64
}

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	before := t.total
	t.total += int64(len(p))
	if len(p) >= t.most {
		t.kept = append(t.kept[:0], p[len(p)-t.most:]...)
	} else {
		if len(t.kept)+len(p) > 2*t.most {
			t.kept = append(t.kept[:0], t.kept[len(t.kept)-t.most:]...)
		}
		t.kept = append(t.kept, p...)
	}
	first := before <= t.limit && t.total > t.limit
	t.mu.Unlock()
	if first {
		t.over()
	}
	return len(p), nil
}

// text returns the last lines in a form that can be shown, at most so many
// bytes, and the number of bytes in all.
func (t *tailBuffer) text(most int) (string, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mark, last := "", t.kept[max(0, len(t.kept)-most):]
	if len(last) < len(t.kept) || int64(len(t.kept)) < t.total { // a part: it begins with a whole line
		if i := bytes.IndexByte(last, '\n'); i >= 0 && i < len(last)-1 {
			last = last[i+1:]
		}
		mark = "… " // it also tells who scrubs the text that a secret may have been cut
	}
	return mark + plain(string(last)), t.total
}

var escapes = regexp.MustCompile("\x1b(\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?)")

// plain makes the output of a program safe to show: UTF-8, without colours and
// without anything that moves a terminal's cursor.
func plain(s string) string {
	s = strings.ToValidUTF8(escapes.ReplaceAllString(s, ""), "�")
	s = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return -1
		}
		return c
	}, s)
	return strings.TrimSpace(s)
}
