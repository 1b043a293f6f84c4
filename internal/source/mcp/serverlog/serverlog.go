// Package serverlog keeps the last of what a server wrote, within bounds.
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
)

// Line is one line that a server wrote.
type Line struct {
	Time   time.Time `json:"time"`
	Stream string    `json:"stream"` // "stderr", "stdout" (what was no message), or "log" (by the protocol)
	Text   string    `json:"text"`
}

// Log keeps the last lines of what a server wrote. It takes everything and
// never blocks: a server must not die of talking. The zero value is ready to
// use.
type Log struct {
	mu         sync.Mutex
	lines      []Line // oldest first
	size       int
	strayLines int // lines on stdout that were no messages
}

// Add adds a line.
func (b *Log) Add(stream, text string) {
	text = strings.TrimRight(tool.TruncateTo(strings.ToValidUTF8(text, "\uFFFD"), maxLogLine), "\r\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if stream == "stdout" {
		b.strayLines++
	}
	b.lines = append(b.lines, Line{time.Now(), stream, text})
	b.size += len(text) + lineCost
	drop := 0
	for b.size > maxLog {
		b.size -= len(b.lines[drop].Text) + lineCost
		drop++
	}
	if drop > 0 {
		clear(b.lines[:drop]) // what is let go must not stay in memory
		b.lines = b.lines[drop:]
	}
}

// StrayLines is how many lines on stdout were no messages.
func (b *Log) StrayLines() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.strayLines
}

// Last returns the last n lines since a time, oldest first; n < 0 means all.
func (b *Log) Last(n int, since time.Time) []Line {
	b.mu.Lock()
	defer b.mu.Unlock()
	from := 0
	if n >= 0 {
		from = max(0, len(b.lines)-n)
	}
	for from < len(b.lines) && b.lines[from].Time.Before(since) {
		from++
	}
	return slices.Clone(b.lines[from:])
}

// Writer cuts a stream into the lines of a book. It is for one writer at a
// time.
type Writer struct {
	Book   *Log
	Stream string
	rest   []byte
}

// Write takes everything and never fails.
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
		w.Book.Add(w.Stream, string(line[:min(len(line), maxLogLine+1)]))
		p = after
	}
	if room := maxLogLine + 1 - len(w.rest); room > 0 {
		w.rest = append(w.rest, p[:min(room, len(p))]...)
	}
	return n, nil
}

// Close keeps what was written after the last line feed.
func (w *Writer) Close() error {
	if len(w.rest) > 0 {
		w.Book.Add(w.Stream, string(w.rest))
		w.rest = nil
	}
	return nil
}
