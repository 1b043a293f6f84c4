package linesearch

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"callgate/internal/module/filesystem/textfile"
)

const (
	chunkSize = 256 << 10 // bytes searched at a time
	maxChunk  = 8 << 20   // what that grows to for a line that is longer
	maxShown  = 500       // bytes of a line that are shown
	lead      = 100       // bytes before the match that are shown of a cut line
)

// fileSearch is the search of one file. The buffer holds a window of it: the lines
// before pos were searched and are kept as context, those after pos were not. A
// line longer than the largest window is searched in pieces.
type fileSearch struct {
	*worker
	r     io.Reader
	size  int64
	read  int64
	end   int  // bytes in the buffer
	pos   int  // start of the first line that is not searched yet
	last  bool // the buffer holds the end of the file
	line  int  // number of the line at pos, from 0
	after int  // lines of context that are still to be returned
	given int  // number of the last line returned
	found *FileResult
}

var errBinary = errors.New("the file is binary")

func (t *fileSearch) search(f io.ReaderAt) error {
	if err := t.fill(); err != nil {
		return err
	}
	head := t.buf[:min(t.end, textfile.SniffLen)]
	switch e := textfile.EncodingOf(head); {
	case e.Wide():
		if err := t.decode(f, e); err != nil {
			return err
		}
	case bytes.IndexByte(head, 0) >= 0:
		return errBinary
	default:
		t.end = copy(t.buf, t.buf[len(e.Mark()):t.end])
	}
	t.stopAtZero(0)
	for !t.searchWindow() && !t.last {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		t.slide()
		from := t.end
		if err := t.fill(); err != nil {
			return err
		}
		t.stopAtZero(from)
	}
	return nil
}

// decode replaces the bytes of a UTF-16 file by its text.
func (t *fileSearch) decode(f io.ReaderAt, e textfile.Encoding) error {
	src, err := textfile.Text(f, t.size, e)
	if err != nil {
		return err
	}
	t.r, t.size, t.read, t.end, t.last = src, src.Size(), 0, 0, false
	return t.fill()
}

// fill reads until the buffer is full or the file ends.
func (t *fileSearch) fill() error {
	for t.end < len(t.buf) && !t.last {
		n, err := t.r.Read(t.buf[t.end:])
		t.end += n
		t.read += int64(n)
		if err != nil && err != io.EOF {
			return err
		}
		t.last = err == io.EOF || t.size > 0 && t.read >= t.size
	}
	return nil
}

// stopAtZero ends the text at a zero byte: the rest is not text.
func (t *fileSearch) stopAtZero(from int) {
	if i := bytes.IndexByte(t.buf[from:t.end], 0); i >= 0 {
		t.end, t.last = from+i, true
	}
}

// searchWindow searches the complete lines in the buffer, and reports whether it
// found enough.
func (t *fileSearch) searchWindow() bool {
	end := t.end
	if !t.last {
		end = bytes.LastIndexByte(t.buf[:t.end], '\n') + 1
		if end <= t.pos { // one line, longer than the buffer
			if len(t.buf) < maxChunk {
				return false
			}
			end = t.end
		}
	}
	text := t.buf[:end]
	if t.Matcher.fold {
		t.low = lowered(t.low[:0], text)
		text = t.low
	}
	t.finder.reset(t.Matcher, text)
	for t.pos < end {
		at := t.finder.from(t.pos)
		if at < 0 {
			t.skipTo(end)
			break
		}
		t.skipTo(t.pos + bytes.LastIndexByte(t.buf[t.pos:at], '\n') + 1)
		if t.searchLine(lineEnd(t.buf[:end], t.pos)) {
			return true
		}
	}
	return false
}

// skipTo skips lines that do not match.
func (t *fileSearch) skipTo(start int) {
	for t.after > 0 && t.pos < start {
		t.skipLine(lineEnd(t.buf[:start], t.pos))
	}
	t.line += bytes.Count(t.buf[t.pos:start], []byte("\n"))
	t.pos = start
}

// skipLine skips the line that ends at next, and returns it if it is context.
func (t *fileSearch) skipLine(next int) {
	if t.after > 0 {
		t.emit(t.pos, next, t.line, false)
		t.after--
	}
	if t.buf[next-1] == '\n' {
		t.line++
	}
	t.pos = next
}

// searchLine searches the line from pos to next, and reports whether enough was
// found.
func (t *fileSearch) searchLine(next int) bool {
	if !t.Matcher.plain && !t.Matcher.re.Match(trimNewline(t.buf[t.pos:next])) {
		t.skipLine(next)
		return false
	}
	t.found.Count++
	switch {
	case t.Mode == Files, t.Mode == Content && t.found.Count > t.Limit:
		return true
	case t.Mode == Content:
		t.emitBefore()
		t.emit(t.pos, next, t.line, true)
	}
	t.after = 0
	t.skipLine(next)
	if t.Mode == Content {
		t.after = t.Context
	}
	return false
}

// emitBefore returns the context before the line at pos, without lines that were
// returned already.
func (t *fileSearch) emitBefore() {
	start, line := t.pos, t.line
	for line > t.given+1 && t.line-line < t.Context && start > 0 {
		start = bytes.LastIndexByte(t.buf[:start-1], '\n') + 1
		line--
	}
	for ; line < t.line; line++ {
		next := lineEnd(t.buf, start)
		t.emit(start, next, line, false)
		start = next
	}
}

// emit adds a line to the result, unless it is there already.
func (t *fileSearch) emit(from, to, line int, match bool) {
	if line <= t.given {
		return
	}
	t.given = line
	shown := trimNewline(t.buf[from:to])
	if len(shown) > maxShown {
		shown = t.shorten(shown, match)
	}
	valid, _ := textfile.Valid(shown)
	t.found.Lines = append(t.found.Lines, Line{line + 1, match, valid})
}

// shorten cuts a long line around its match.
func (t *fileSearch) shorten(line []byte, match bool) []byte {
	from := 0
	if match {
		if at := t.Matcher.re.FindIndex(line); at != nil && at[0] > maxShown-lead {
			from = at[0] - lead
			for from < at[0] && !utf8.RuneStart(line[from]) {
				from++
			}
		}
	}
	var out []byte
	if from > 0 {
		out = append(out, "…"...)
	}
	shown := textfile.Cut(line[from:], maxShown)
	out = append(out, shown...)
	if from+len(shown) < len(line) {
		out = append(out, "…"...)
	}
	return out
}

// slide moves to the front of the buffer the lines that are not searched yet, and
// before them those that may become context. If those fill it, the buffer grows.
func (t *fileSearch) slide() {
	keep := t.pos
	for i := 0; i < t.Context && keep > 0; i++ {
		keep = bytes.LastIndexByte(t.buf[:keep-1], '\n') + 1
	}
	switch {
	case keep > 0:
	case len(t.buf) < maxChunk:
		t.buf = append(t.buf, make([]byte, len(t.buf))...)
	default:
		keep = t.pos // no memory for context this long
	}
	t.end = copy(t.buf, t.buf[keep:t.end])
	t.pos -= keep
}

// lineEnd returns the end of the line that holds from, after its newline.
func lineEnd(text []byte, from int) int {
	if i := bytes.IndexByte(text[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(text)
}

// trimNewline removes the newline of a line, and a carriage return before it.
func trimNewline(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}
