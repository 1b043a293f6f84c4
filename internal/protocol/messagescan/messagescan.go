// Package messagescan finds the ids and methods of JSON-RPC messages without
// decoding them: in a stream, and in a text that is not quite JSON. Who waits for
// an answer and who refuses a broken request read the same id, because both read it
// here.
package messagescan

import (
	"bytes"
	"encoding/json"
)

// Scanner scans a stream of JSON-RPC messages, one per line, that comes in pieces of
// any size, and reports the id and the method of each. It keeps nothing else of a
// message, however long it is. A line that is not a message is ignored.
type Scanner struct {
	Message func(*Message) // takes what is found; it is valid until Message returns
	fresh   bool           // at the start of a line

	now    Message
	depth  int
	base   int  // the depth of a message's own fields: 1, and 2 in a batch
	text   bool // inside a string
	escape bool // after a backslash in it
	value  bool // after a colon; else a string is a field's name
	params bool // inside the message's params
	name   Text
	into   *Text // gets what is read; nil: nothing does
}

// Message is what the scanner reports of a message.
type Message struct {
	HasMethod bool
	ID        Text // as it is written; empty if there is none
	Method    Text
	Cancels   Text // the request that a notification cancels
}

// Text is a text as it is written in a message, or the beginning of a long one.
type Text struct{ text []byte }

const maxText = 256

func (p *Text) add(c ...byte) {
	p.text = append(p.text, c[:min(len(c), maxText-len(p.text))]...)
}

// again is the text, to be read anew: of two fields with one name the last counts.
func (p *Text) again() *Text {
	p.text = p.text[:0]
	return p
}

// String is the text as it is written.
func (p *Text) String() string { return string(p.text) }

// Key is equal for equal ids, however they are written.
func (p *Text) Key() string {
	var s string
	if len(p.text) > 0 && p.text[0] == '"' && json.Unmarshal(p.text, &s) == nil {
		return `"` + s
	}
	return string(bytes.TrimSpace(p.text))
}

// RequestIDs returns the ids of the requests in a line that cannot be decoded, as
// they are written there; none if no id can be told.
func RequestIDs(line []byte) []json.RawMessage {
	var ids []json.RawMessage
	s := Scanner{Message: func(m *Message) {
		id := m.ID.text
		if m.HasMethod && len(id) < maxText && json.Valid(id) && bytes.IndexByte([]byte(`"-0123456789`), id[0]) >= 0 {
			ids = append(ids, bytes.Clone(id))
		}
	}}
	s.Write(line)
	return ids
}

// AtLineStart reports whether the stream is at the start of a line.
func (s *Scanner) AtLineStart() bool { return s.base == 0 || s.fresh }

// Write scans the next piece of the stream.
func (s *Scanner) Write(data []byte) {
	if s.base == 0 {
		s.line()
	}
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
func (s *Scanner) inText(data []byte) int {
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
func (s *Scanner) next(c byte) {
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

func (s *Scanner) keep(c byte) {
	if s.into != nil {
		s.into.add(c)
	}
}

// outside scans a byte outside of strings.
func (s *Scanner) outside(c byte) {
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
func (s *Scanner) own() bool { return s.depth == s.base || s.params && s.depth == s.base+1 }

// wanted is where the value of the last named field is kept; nil: nowhere.
func (s *Scanner) wanted() *Text {
	name := string(s.name.text)
	switch {
	case s.depth == s.base && name == `"id"`:
		return s.now.ID.again()
	case s.depth == s.base && name == `"method"`:
		s.now.HasMethod = true
		return s.now.Method.again()
	case s.params && s.depth == s.base+1 && name == `"requestId"`:
		return s.now.Cancels.again()
	}
	return nil
}

// report reports a message, and begins the next.
func (s *Scanner) report() {
	if string(s.now.ID.text) == "null" {
		s.now.ID.text = s.now.ID.text[:0]
	}
	s.Message(&s.now)
	s.begin()
}

func (s *Scanner) begin() {
	m := &s.now
	m.HasMethod = false
	m.ID.text, m.Method.text, m.Cancels.text = m.ID.text[:0], m.Method.text[:0], m.Cancels.text[:0]
}

// line starts a line.
func (s *Scanner) line() {
	s.begin()
	s.fresh, s.depth, s.base = true, 0, 1
	s.text, s.escape, s.value, s.params, s.into = false, false, false, false, nil
}
