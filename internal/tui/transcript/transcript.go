// Package transcript shows a conversation as lines on a screen.
//
// # Law
//
// A transcript is a list of blocks. A block is laid out when one of its lines is
// on the screen, and its lines are kept until the block or the width changes. A
// position is a block and a line in it, not a number of lines from the beginning.
// So a frame and a new width cost as much as the screen holds, however long the
// conversation is.
package transcript

import "slices"

// Block is a piece of a transcript. Lines returns safe lines of at most width
// columns; open asks for the details, too.
type Block interface {
	Lines(width int, open bool) []string
}

// Entry is a block in its transcript.
type Entry struct {
	block Block
	gap   bool // an empty line stands before it
	open  bool
	width int // of lines; 0: they are stale
	lines []string
}

// Touch marks the block as changed.
func (e *Entry) Touch() { e.width = 0 }

// Replace shows another block in the place of this one.
func (e *Entry) Replace(b Block) {
	e.block = b
	e.Touch()
}

// Toggle shows the block's details, or hides them.
func (e *Entry) Toggle() {
	e.open = !e.open
	e.Touch()
}

func (e *Entry) laid(width int) []string {
	if e.width != width {
		lines := e.block.Lines(width, e.open)
		if e.gap && len(lines) > 0 {
			lines = append([]string{""}, lines...)
		}
		e.lines, e.width = lines, width
	}
	return e.lines
}

// Transcript is the list of blocks and the window that shows a part of it. The
// zero value is empty and shows the end.
type Transcript struct {
	entries       []*Entry
	width, height int
	held          bool // the window stays at top; else it shows the end
	top           linePos
	open          bool // details are shown
}

// linePos is a line: its block, and its number in the block.
type linePos struct{ entry, line int }

// Add appends a block; gap sets it apart from the one before.
func (t *Transcript) Add(b Block, gap bool) *Entry {
	e := &Entry{block: b, gap: gap && len(t.entries) > 0, open: t.open}
	t.entries = append(t.entries, e)
	return e
}

// Remove removes a block.
func (t *Transcript) Remove(e *Entry) {
	t.entries = slices.DeleteFunc(t.entries, func(other *Entry) bool { return other == e })
	if len(t.entries) > 0 && t.entries[0].gap {
		t.entries[0].gap = false
		t.entries[0].Touch()
	}
	t.top = linePos{min(t.top.entry, max(len(t.entries)-1, 0)), 0}
}

// Last returns the last lines at a width, at most n, and whether there are more.
func (t *Transcript) Last(width, n int) (lines []string, more bool) {
	for i := len(t.entries) - 1; i >= 0; i-- {
		laid := t.entries[i].laid(width)
		if left := n - len(lines); len(laid) > left {
			return append(slices.Clone(laid[len(laid)-left:]), lines...), true
		}
		lines = append(slices.Clone(laid), lines...)
	}
	return lines, false
}

// Clear removes all blocks.
func (t *Transcript) Clear() {
	t.entries, t.held = nil, false
}

// Resize sets the size of the window.
func (t *Transcript) Resize(width, height int) {
	if width != t.width && t.held {
		t.top.line = 0 // the block has other lines at another width
	}
	t.width, t.height = max(width, 1), max(height, 1)
}

// OpenAll shows or hides the details of all blocks, in turn. It reports whether
// they are shown now.
func (t *Transcript) OpenAll() bool {
	t.open = !t.open
	for _, e := range t.entries {
		e.open = t.open
		e.Touch()
	}
	t.top.line = 0
	return t.open
}

// Following reports whether the window shows the end.
func (t *Transcript) Following() bool { return !t.held }

// Follow moves the window to the end and keeps it there.
func (t *Transcript) Follow() { t.held = false }

// Scroll moves the window by n lines, down if n is positive. At the end it
// follows new lines.
func (t *Transcript) Scroll(n int) {
	top := t.first()
	for ; n < 0; n++ {
		for top.line == 0 && top.entry > 0 {
			top = linePos{top.entry - 1, len(t.lines(top.entry - 1))}
		}
		if top.line == 0 {
			break
		}
		top.line--
	}
	top = t.settled(top)
	last := t.last()
	for ; n > 0 && top.before(last); n-- {
		top.line++
		top = t.settled(top)
	}
	t.top, t.held = top, top.before(last)
}

// Home moves the window to the beginning.
func (t *Transcript) Home() {
	t.top = t.settled(linePos{})
	t.held = t.top.before(t.last())
}

// Window returns the lines in the window.
func (t *Transcript) Window() []string {
	var out []string
	for at := t.first(); at.entry < len(t.entries) && len(out) < t.height; at = (linePos{at.entry + 1, 0}) {
		lines := t.lines(at.entry)
		lines = lines[min(at.line, len(lines)):]
		out = append(out, lines[:min(len(lines), t.height-len(out))]...)
	}
	return out
}

// At returns the block in a row of the window, or nil.
func (t *Transcript) At(row int) *Entry {
	for at := t.first(); at.entry < len(t.entries) && row >= 0; at = (linePos{at.entry + 1, 0}) {
		n := len(t.lines(at.entry)) - at.line
		if row < n {
			return t.entries[at.entry]
		}
		row -= n
	}
	return nil
}

func (t *Transcript) lines(entry int) []string { return t.entries[entry].laid(t.width) }

func (s linePos) before(o linePos) bool {
	return s.entry < o.entry || s.entry == o.entry && s.line < o.line
}

// first is the first line in the window.
func (t *Transcript) first() linePos {
	last := t.last()
	if top := t.settled(t.top); t.held && top.before(last) {
		return top
	}
	return last
}

// settled moves a position past the end of a block to the next line.
func (t *Transcript) settled(s linePos) linePos {
	for s.entry < len(t.entries)-1 && s.line >= len(t.lines(s.entry)) {
		s = linePos{s.entry + 1, 0}
	}
	return s
}

// last is the first line of a window that shows the end.
func (t *Transcript) last() linePos {
	left := t.height
	for i := len(t.entries) - 1; i >= 0; i-- {
		n := len(t.lines(i))
		if n >= left {
			return linePos{i, n - left}
		}
		left -= n
	}
	return t.settled(linePos{})
}
