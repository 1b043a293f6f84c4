// Package text makes text fit for a terminal: safe, short, and as people say it.
package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"callgate/internal/visible"
)

// Safe writes text so that a terminal shows all of it and obeys nothing in it.
// Newlines and tabs stay.
func Safe(text string) string { return visible.Lines(text) }

// OneLine is Safe text without line breaks.
func OneLine(text string) string {
	return strings.Join(strings.Fields(Safe(text)), " ")
}

// JSON lays a JSON text out over lines, with escapes of JSON for what a reader
// would not see. Text that is not JSON is made safe.
func JSON(data []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") != nil {
		return Safe(string(data))
	}
	return visible.JSON(b.String())
}

// Compact writes a JSON text in one line of at most n runes.
func Compact(data []byte, n int) string {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return Clip(string(data), n)
	}
	return Clip(visible.JSON(b.String()), n)
}

// Clip writes text in one line of at most n runes.
func Clip(s string, n int) string {
	s = OneLine(s)
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return s
}

// Wrap breaks text into lines of at most width runes; those after the first
// begin with a margin. A longer word has a line of its own.
func Wrap(words string, width int, margin string) string {
	var b strings.Builder
	used := 0
	for i, word := range strings.Fields(Safe(words)) {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+length > width:
			b.WriteString("\n" + margin)
			used = utf8.RuneCountInString(margin)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += length
	}
	return b.String() + "\n"
}

// Duration writes a duration as people say it.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strings.Replace(fmt.Sprintf("%.1f s", d.Seconds()), ".0", "", 1)
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
}
