package relay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"callgate/internal/protocol/messagescan"
)

// maxMessage is the default of Options.MaxMessage.
const maxMessage = 64 << 20

// joinBelow is the size below which a line is written at once.
const joinBelow = 64 << 10

// line is one line of a stream, and the messages that were found in it. A long one is
// kept in pieces, so that its memory is its size.
type line struct {
	pieces  [][]byte // nothing, if it is too long
	size    int
	tooLong bool
	cut     bool // the stream ended before the line did
	found   []message
}

// message is where the parts of a message are.
type message struct {
	method       string // "": it is an answer
	hasID        bool
	id           string // as it is written; "" if there is none that is a text or a number
	idAt         span
	cancels      string // the key of the request that it cancels
	cancelsAt    span
	params, meta messagescan.Object
}

type span struct{ begin, end int }

// edit replaces a part of a line.
type edit struct {
	span
	text string
}

// lineReader reads the lines of a stream.
type lineReader struct {
	in      *bufio.Reader
	limit   int // bytes of one line
	scanner messagescan.Scanner
	found   []message
}

func newLineReader(in io.Reader, limit int) *lineReader {
	r := &lineReader{in: bufio.NewReaderSize(in, 16<<10), limit: limit}
	r.scanner.Message = func(m *messagescan.Message) { r.found = append(r.found, parts(m)) }
	return r
}

func parts(m *messagescan.Message) message {
	p := message{hasID: m.HasID, id: m.ID.String(), params: m.Params, meta: m.Meta}
	p.idAt.begin, p.idAt.end = m.ID.Span()
	if m.HasMethod {
		p.method = unquoted(m.Method.String())
	}
	if p.method == cancelled {
		p.cancels = keyOf(m.Cancels.String())
		p.cancelsAt.begin, p.cancelsAt.end = m.Cancels.Span()
	}
	return p
}

// unquoted is the value of a text; of what is none, what is written.
func unquoted(text string) string {
	if isPlain(text) {
		return text[1 : len(text)-1]
	}
	var s string
	if json.Unmarshal([]byte(text), &s) == nil {
		return s
	}
	return text
}

// isPlain reports whether a text is quoted, and stands there letter by letter.
func isPlain(text string) bool {
	last := len(text) - 1
	if last < 1 || text[0] != '"' || text[last] != '"' {
		return false
	}
	for i := 1; i < last; i++ {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// keyOf is equal for equal ids, however they are written.
func keyOf(id string) string {
	if len(id) > 0 && id[0] == '"' {
		return `"` + unquoted(id)
	}
	return id
}

// next returns the next line that is not empty. The last one need not end.
func (r *lineReader) next() (*line, error) {
	for {
		l, err := r.read()
		if l != nil {
			return l, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// read reads a line; nil if it is empty.
func (r *lineReader) read() (*line, error) {
	l := &line{}
	r.found = nil
	for {
		piece, err := r.in.ReadSlice('\n')
		r.scanner.Write(piece)
		l.add(piece, r.limit)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && l.size > 0 {
			l.cut = true
			r.scanner.Write([]byte{'\n'})
			l.add([]byte{'\n'}, r.limit)
		}
		l.found = r.found
		l.exactIDs()
		if l.isEmpty() {
			return nil, err
		}
		return l, nil // an error comes again
	}
}

func (l *line) add(piece []byte, limit int) {
	l.size += len(piece)
	if l.size > limit {
		l.pieces, l.tooLong = nil, true
		return
	}
	l.pieces = append(l.pieces, bytes.Clone(piece))
}

func (l *line) isEmpty() bool {
	return !l.tooLong && !slices.ContainsFunc(l.pieces, func(p []byte) bool { return len(bytes.TrimSpace(p)) > 0 })
}

// exactIDs reads the ids again from the line: the scanner keeps only the beginning of
// a long one.
func (l *line) exactIDs() {
	for i := range l.found {
		m := &l.found[i]
		if !l.tooLong && len(m.id) != m.idAt.end-m.idAt.begin {
			m.id = string(l.part(m.idAt))
		}
		if !isID(m.id) {
			m.id = ""
		}
	}
}

// isID reports whether a text is a number or a text of JSON.
func isID(text string) bool {
	if isPlain(text) {
		return true
	}
	return len(text) > 0 && (text[0] == '"' || text[0] == '-' || '0' <= text[0] && text[0] <= '9') &&
		json.Valid([]byte(text))
}

// part returns a part of the line.
func (l *line) part(at span) []byte {
	var b []byte
	from := 0
	for _, p := range l.pieces {
		begin, end := max(at.begin-from, 0), min(at.end-from, len(p))
		if begin < end {
			b = append(b, p[begin:end]...)
		}
		from += len(p)
	}
	return b
}

// bytes is the whole line.
func (l *line) bytes() []byte {
	if len(l.pieces) == 1 {
		return l.pieces[0]
	}
	return bytes.Join(l.pieces, nil)
}

// newLine makes a line of a text.
func newLine(text []byte) *line {
	l := &line{}
	s := messagescan.Scanner{Message: func(m *messagescan.Message) { l.found = append(l.found, parts(m)) }}
	text = append(bytes.TrimSpace(text), '\n')
	s.Write(text)
	l.add(text, len(text))
	l.exactIDs()
	return l
}

// writeTo writes the line with edits, which come in their order.
func (l *line) writeTo(w io.Writer, edits ...edit) error {
	if l.size < joinBelow {
		_, err := w.Write(edited(l.bytes(), edits))
		return err
	}
	from := 0
	for _, p := range l.pieces {
		n := 0
		for n < len(edits) && edits[n].begin < from+len(p) {
			n++
		}
		// An edit that reaches into the next piece is rare, and joined.
		if n > 0 && edits[n-1].end > from+len(p) {
			_, err := w.Write(edited(l.bytes(), edits))
			return err
		}
		from += len(p)
	}
	from = 0
	for _, p := range l.pieces {
		var here []edit
		for _, e := range edits {
			if e.begin >= from && e.begin < from+len(p) {
				here = append(here, edit{span{e.begin - from, e.end - from}, e.text})
			}
		}
		if _, err := w.Write(edited(p, here)); err != nil {
			return err
		}
		from += len(p)
	}
	return nil
}

func edited(text []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.begin]...), e.text...)
		at = e.end
	}
	return append(out, text[at:]...)
}
