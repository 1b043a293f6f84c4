// Package serverlog keeps the last lines that an MCP server wrote, within
// bounds.
package serverlog

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/tool"
)

const (
	maxLog     = 256 << 10 // bytes of a server's log that are kept
	maxLogLine = 4 << 10   // bytes of one line
	lineCost   = 64        // what a line costs beside its text

	tailLines = 12      // lines that an error quotes
	tailBytes = 2 << 10 // bytes that an error quotes
)

// Line is one line that a server wrote.
type Line struct {
	Time   time.Time `json:"time"`
	Stream string    `json:"stream"` // "stderr"; "stdout": not a message; "log": sent through the protocol
	Text   string    `json:"text"`
}

// Log keeps the last lines that a server wrote. It accepts everything and never
// blocks, so that no server stops because it writes too much. The zero value is
// ready to use.
type Log struct {
	mu         sync.Mutex
	lines      []Line // oldest first
	size       int
	strayLines int // lines on stdout that were not messages
}

// Add adds a line.
func (l *Log) Add(stream, text string) {
	text = strings.TrimRight(tool.TruncateTo(strings.ToValidUTF8(text, "\uFFFD"), maxLogLine), "\r\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if stream == "stdout" {
		l.strayLines++
	}
	l.lines = append(l.lines, Line{time.Now(), stream, text})
	l.size += len(text) + lineCost
	drop := 0
	for l.size > maxLog {
		l.size -= len(l.lines[drop].Text) + lineCost
		drop++
	}
	if drop > 0 {
		clear(l.lines[:drop]) // so that dropped texts can be freed
		l.lines = l.lines[drop:]
	}
}

// StrayLines counts the lines on stdout that were not messages.
func (l *Log) StrayLines() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.strayLines
}

// Last returns the last n lines since a time, oldest first; n < 0 means all.
func (l *Log) Last(n int, since time.Time) []Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := 0
	if n >= 0 {
		from = max(0, len(l.lines)-n)
	}
	for from < len(l.lines) && l.lines[from].Time.Before(since) {
		from++
	}
	return slices.Clone(l.lines[from:])
}

// Tail is the end of a sentence that quotes the last lines on stderr since a
// time, redacted; it is empty when there are none.
func (l *Log) Tail(since time.Time, redact func(string) string) string {
	var texts []string
	for _, line := range l.Last(-1, since) {
		if line.Stream == "stderr" {
			texts = append(texts, line.Text)
		}
	}
	texts = texts[max(0, len(texts)-tailLines):]
	text := redact(strings.Join(texts, "\n"))
	if len(text) > tailBytes {
		text = "…" + strings.ToValidUTF8(text[len(text)-tailBytes:], "")
	}
	if text == "" {
		return ""
	}
	return "; its log ends:\n" + text
}

// Writer cuts a stream into lines of a log. Only one goroutine may write to it
// at a time.
type Writer struct {
	Log    *Log
	Stream string
	rest   []byte
}

// Write accepts everything and never fails.
func (w *Writer) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, after, found := bytes.Cut(p, []byte{'\n'})
		if !found {
			break
		}
		if len(w.rest) > 0 {
			line = append(w.rest, line...)
			w.rest = w.rest[:0]
		}
		w.Log.Add(w.Stream, string(line[:min(len(line), maxLogLine+1)]))
		p = after
	}
	if left := maxLogLine + 1 - len(w.rest); left > 0 {
		w.rest = append(w.rest, p[:min(left, len(p))]...)
	}
	return n, nil
}

// Close adds what was written after the last line feed.
func (w *Writer) Close() error {
	if len(w.rest) > 0 {
		w.Log.Add(w.Stream, string(w.rest))
		w.rest = nil
	}
	return nil
}
