// Package transcript is what was said and done in a conversation, as lines on a
// screen.
//
// # Law
//
// A transcript is a list of blocks. A block is laid out when a line of it is to
// be seen, and kept as it came out until it changes or the width does. Where one
// stands in the list is a block and a line in it, not a number of lines from the
// beginning: so neither a frame nor a change of the width costs more than what
// is on the screen, however long the conversation is.
package transcript

// Block is a piece of a transcript. Lines lays it out in a width; open says
// that its details are wanted. They are safe lines, each at most so wide.
type Block interface {
	Lines(width int, open bool) []string
}

// Entry is a block in its transcript.
type Entry struct {
	block Block
	gap   bool // an empty line stands before it
	open  bool
	width int // that lines are for; 0: they are stale
	lines []string
}

// Touch says that the block has changed.
func (e *Entry) Touch() { e.width = 0 }

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

// Transcript is the list, and the window through which it is seen. The zero
// value is empty, and shows its end.
type Transcript struct {
	entries       []*Entry
	width, height int
	held          bool // the window stays where top is; else it shows the end
	top           linePos
	open          bool // details are shown
}

// linePos is a line: the block that it is in, and its number there.
type linePos struct{ entry, line int }

// Add appends a block; gap sets it apart from the one before.
func (t *Transcript) Add(b Block, gap bool) *Entry {
	e := &Entry{block: b, gap: gap && len(t.entries) > 0, open: t.open}
	t.entries = append(t.entries, e)
	return e
}

// Clear forgets everything.
func (t *Transcript) Clear() {
	t.entries, t.held = nil, false
}

// Resize sets how large the window is.
func (t *Transcript) Resize(width, height int) {
	if width != t.width && t.held {
		t.top.line = 0 // the lines of this block are others now
	}
	t.width, t.height = max(width, 1), max(height, 1)
}

// OpenAll shows the details of all blocks, or hides them, in turn. It reports
// whether they are shown now.
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

// Follow has the window show the end, whatever comes.
func (t *Transcript) Follow() { t.held = false }

// Scroll moves the window by lines, down when n is positive. At the end it
// follows what comes.
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

// Home shows the beginning.
func (t *Transcript) Home() {
	t.top = t.settled(linePos{})
	t.held = t.top.before(t.last())
}

// Window is the lines that are seen, at most as many as it is high.
func (t *Transcript) Window() []string {
	var out []string
	for at := t.first(); at.entry < len(t.entries) && len(out) < t.height; at = (linePos{at.entry + 1, 0}) {
		lines := t.lines(at.entry)
		lines = lines[min(at.line, len(lines)):]
		out = append(out, lines[:min(len(lines), t.height-len(out))]...)
	}
	return out
}

// At is the block whose line is seen in a row of the window, or nil.
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

// first is the first line that is seen.
func (t *Transcript) first() linePos {
	last := t.last()
	if top := t.settled(t.top); t.held && top.before(last) {
		return top
	}
	return last
}

// settled is a spot at which there is a line: past blocks that have none left.
func (t *Transcript) settled(s linePos) linePos {
	for s.entry < len(t.entries)-1 && s.line >= len(t.lines(s.entry)) {
		s = linePos{s.entry + 1, 0}
	}
	return s
}

// last is the first line of the window that shows the end.
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
