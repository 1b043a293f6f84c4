package client

import (
	"bytes"
	"encoding/json"
)

// cancelled is the method of the notification that cancels a request.
const cancelled = `"notifications/cancelled"`

// messageScanner scans a stream of JSON-RPC messages, one per line, that comes in
// pieces of any size, and reports the id and the method of each. It keeps nothing
// else of a message, however long it is. A line that is not a message is ignored.
type messageScanner struct {
	message func(*message)
	fresh   bool // at the start of a line

	now    message
	depth  int
	base   int  // the depth of a message's own fields: 1, and 2 in a batch
	text   bool // inside a string
	escape bool // after a backslash in it
	value  bool // after a colon; else a string is a field's name
	params bool // inside the message's params
	name   shortText
	into   *shortText // gets what is read; nil: nothing does
}

// message is what the scanner reports of a message.
type message struct {
	hasMethod bool
	id        shortText // as it is written; empty if there is none
	method    shortText
	cancels   shortText // the request that a notification cancels
}

// shortText is a text, or the beginning of a long one.
type shortText struct{ text []byte }

const maxShortText = 256

func (p *shortText) add(c ...byte) {
	p.text = append(p.text, c[:min(len(c), maxShortText-len(p.text))]...)
}

// key is equal for equal ids, however they are written.
func (p *shortText) key() string {
	var s string
	if len(p.text) > 0 && p.text[0] == '"' && json.Unmarshal(p.text, &s) == nil {
		return `"` + s
	}
	return string(bytes.TrimSpace(p.text))
}

// write scans the next piece of the stream.
func (s *messageScanner) write(data []byte) {
	for i := 0; i < len(data); i++ {
		if s.text && !s.escape {
			i += s.inText(data[i:])
			if i == len(data) {
				return
			}
		}
		s.next(data[i])
	}
}

// inText scans the inside of a string, and returns its length.
func (s *messageScanner) inText(data []byte) int {
	n := 0
	for n < len(data) && data[n] != '"' && data[n] != '\\' && data[n] != '\n' {
		n++
	}
	if s.into != nil {
		s.into.add(data[:n]...)
	}
	return n
}

// next scans one byte.
func (s *messageScanner) next(c byte) {
	if c == '\n' { // here a message begins, whatever was read before
		s.line()
		return
	}
	s.fresh = false
	switch {
	case s.escape:
		s.escape = false
		s.keep(c)
	case s.text:
		s.keep(c)
		s.escape = c == '\\'
		if c == '"' {
			s.text = false
			if !s.value {
				s.into = nil
			}
		}
	default:
		s.outside(c)
	}
}

func (s *messageScanner) keep(c byte) {
	if s.into != nil {
		s.into.add(c)
	}
}

// outside scans a byte outside of strings.
func (s *messageScanner) outside(c byte) {
	switch c {
	case '"':
		s.text = true
		if !s.value && s.own() {
			s.name.text = s.name.text[:0]
			s.into = &s.name
		}
		s.keep(c)
	case ':':
		s.value = true
		s.into = s.wanted()
	case ',':
		s.value, s.into = false, nil
	case '{', '[':
		if s.depth == 0 && c == '[' {
			s.base = 2
		}
		if s.depth == s.base {
			s.params = c == '{' && string(s.name.text) == `"params"`
		}
		s.depth++
		s.value, s.into = false, nil
	case '}', ']':
		s.depth--
		s.value, s.into = false, nil
		if s.params = s.params && s.depth > s.base; c == '}' && s.depth == s.base-1 {
			s.report()
		}
	case ' ', '\t', '\r':
	default:
		s.keep(c)
	}
}

// own reports whether a field is one of the message or of its params.
func (s *messageScanner) own() bool { return s.depth == s.base || s.params && s.depth == s.base+1 }

// wanted is where the value of the last named field is kept; nil: nowhere.
func (s *messageScanner) wanted() *shortText {
	name := string(s.name.text)
	switch {
	case s.depth == s.base && name == `"id"`:
		return &s.now.id
	case s.depth == s.base && name == `"method"`:
		s.now.hasMethod = true
		return &s.now.method
	case s.params && s.depth == s.base+1 && name == `"requestId"`:
		return &s.now.cancels
	}
	return nil
}

// report reports a message, and begins the next.
func (s *messageScanner) report() {
	if string(s.now.id.text) == "null" {
		s.now.id.text = s.now.id.text[:0]
	}
	s.message(&s.now)
	s.begin()
}

func (s *messageScanner) begin() {
	m := &s.now
	m.hasMethod = false
	m.id.text, m.method.text, m.cancels.text = m.id.text[:0], m.method.text[:0], m.cancels.text[:0]
}

// line starts a line.
func (s *messageScanner) line() {
	s.begin()
	s.fresh, s.depth, s.base = true, 0, 1
	s.text, s.escape, s.value, s.params, s.into = false, false, false, false, nil
}
