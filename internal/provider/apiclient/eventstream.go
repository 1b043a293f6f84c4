package apiclient

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// MaxEvent bounds one line of an event stream, and the data of one event. No provider sends
// anything near it; without a bound a server could fill the memory. An event is in memory several times while
// it is read.
const MaxEvent = 4 << 20

var errEventTooLarge = fmt.Errorf("an event of the stream is larger than %d MiB", MaxEvent>>20)

// Event is one event of a stream.
type Event struct {
	Type string // the field "event"; "" when the server left it out
	Data []byte // the "data" lines, joined by line feeds; valid until the next call of Next
}

// EventReader reads a stream of server-sent events, as the HTML standard defines it: lines end with
// LF, CR or CRLF, a byte order mark may come first, lines that begin with a colon are comments, and
// an empty line ends an event.
//
// It differs from the standard in two points. The fields "id" and "retry" are ignored: they serve a
// client that reconnects, and the response of a model cannot be resumed. An event that the end of the
// stream cuts off is returned: some servers leave out the last empty line, and half of a JSON object
// is not a JSON object, so decoding a torn event still fails.
type EventReader struct {
	in      *bufio.Reader
	data    []byte // of the event so far
	line    []byte // a line that did not lie in the buffer as a whole
	started bool   // the first line was read
	skipLF  bool   // the last line ended with CR: a line feed that follows belongs to it
	err     error  // the stream ended; Next returns nothing else any more
}

// NewEventReader returns a reader of the events in r.
func NewEventReader(r io.Reader) *EventReader {
	return &EventReader{in: bufio.NewReaderSize(r, 16<<10)}
}

// Next returns the next event. Its error is io.EOF at the end of the stream.
func (r *EventReader) Next() (Event, error) {
	if r.err != nil {
		return Event{}, r.err
	}
	r.data = r.data[:0]
	var event Event
	hasData := false
	for {
		line, err := r.readLine()
		if err != nil {
			r.err = err
			if err == io.EOF && hasData {
				event.Data = r.data
				return event, nil
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if hasData {
				event.Data = r.data
				return event, nil
			}
			event.Type = "" // without data there is no event
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			event.Type = string(value)
		case "data":
			if len(r.data)+len(value) >= MaxEvent {
				r.err = errEventTooLarge
				return Event{}, r.err
			}
			if hasData {
				r.data = append(r.data, '\n')
			}
			r.data, hasData = append(r.data, value...), true
		}
	}
}

// readLine returns the next line without its end, valid until the next call. The error is io.EOF
// when the stream ended; a last line without an end is returned before that.
//
// It never reads beyond the end of a line: a line feed after CR is skipped with the next line, so
// that an event is complete as soon as its last byte is here.
func (r *EventReader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		if _, err := r.in.Peek(1); err != nil {
			if err == io.EOF && len(r.line) > 0 {
				return r.firstLine(r.line), nil
			}
			return nil, err
		}
		buffered, _ := r.in.Peek(r.in.Buffered())
		if r.skipLF {
			r.skipLF = false
			if buffered[0] == '\n' {
				_, _ = r.in.Discard(1)
				continue
			}
		}
		part, end := buffered, lineEnd(buffered)
		if end >= 0 {
			part = buffered[:end]
		}
		if len(r.line)+len(part) > MaxEvent {
			return nil, errEventTooLarge
		}
		if end < 0 {
			r.line = append(r.line, part...)
			_, _ = r.in.Discard(len(buffered))
			continue
		}
		r.skipLF = buffered[end] == '\r'
		_, _ = r.in.Discard(end + 1) // part stays valid until the next read
		if len(r.line) > 0 {
			r.line = append(r.line, part...)
			part = r.line
		}
		return r.firstLine(part), nil
	}
}

// firstLine takes the byte order mark off the first line.
func (r *EventReader) firstLine(line []byte) []byte {
	if r.started {
		return line
	}
	r.started = true
	return bytes.TrimPrefix(line, []byte("\ufeff"))
}

// lineEnd returns the index of the first CR or LF, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}
