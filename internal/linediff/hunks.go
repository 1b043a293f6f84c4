package linediff

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Hunk is one of the changes that turn a text into another, with the equal lines around it
// that Unified shows.
type Hunk struct {
	// ID is made of the hunk's lines and of nothing else, so that it stays when other hunks
	// of the same texts are applied. Of hunks that would have the same one, because of their
	// lines or because somebody has looked for lines with the same sum, the later ones count up:
	// no two hunks of a text share one.
	ID    string
	Head  string // "@@ -1,3 +1,4 @@"
	Lines []Line

	first, last int // of the old text's lines, the last one not included
}

const idLength = 12

// Hunks returns the hunks that turn old into new, from the top to the bottom.
func Hunks(old, new string) []Hunk {
	var all []Hunk
	seen := map[string]bool{}
	at := 0 // lines of the old text before the hunk
	whole := script(split(old), split(new))
	done := 0
	eachHunk(whole, func(from, to int) {
		for _, l := range whole[done:from] {
			at += inOld(l)
		}
		h := Hunk{Head: head(whole, from, to).Text, Lines: whole[from:to], first: at}
		for _, l := range h.Lines {
			at += inOld(l)
		}
		h.last, done = at, to
		h.ID = identify(h.text(), seen)
		all = append(all, h)
	})
	return all
}

func (h Hunk) text() string {
	var b strings.Builder
	for _, l := range h.Lines {
		fmt.Fprintf(&b, "%c%d %s\n", l.Sign, len(l.Text), l.Text)
	}
	return b.String()
}

// identify makes an ID that no hunk has yet.
func identify(text string, seen map[string]bool) string {
	for again := 0; ; again++ {
		sum := sha256.Sum256([]byte(fmt.Sprintf("%d %s", again, text)))
		if id := hex.EncodeToString(sum[:])[:idLength]; !seen[id] {
			seen[id] = true
			return id
		}
	}
}

// Apply applies those hunks of old that are chosen, from the bottom to the top, so that the
// lines of those above stay where they are. All hunks of Hunks(old, new) make new of old.
func Apply(old string, hunks []Hunk, chosen func(Hunk) bool) string {
	lines := split(old)
	for _, h := range slices.Backward(hunks) {
		if !chosen(h) {
			continue
		}
		var now []string
		for _, l := range h.Lines {
			if inNew(l) == 1 {
				now = append(now, l.Text+"\n")
			}
		}
		lines = slices.Replace(lines, h.first, h.last, now...)
	}
	var b strings.Builder
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\n") // of a line that split has marked, nothing
		text, unended := strings.CutSuffix(line, unendedMark)
		b.WriteString(text)
		if !unended || i < len(lines)-1 {
			b.WriteString("\n")
		}
	}
	return b.String()
}
