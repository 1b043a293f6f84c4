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
	meta   bool // inside the _meta of those
	name   Text
	into   *Text // gets what is read; nil: nothing does
	at     int   // bytes of the line before the one that is scanned
}

// Message is what the scanner reports of a message.
type Message struct {
	HasMethod bool
	HasID     bool // there is a field for it, whatever it holds
	ID        Text // as it is written; empty if there is none, or none that is a text or a number
	Method    Text
	Cancels   Text   // the request that a notification cancels
	Params    Object // the message's params
	Meta      Object // the _meta in them
}

// Object is where an object of a message stands.
type Object struct {
	Found bool
	Empty bool
	End   int // of its last brace, in bytes from the start of the line
}

// Text is a text as it is written in a message, or the beginning of a long one.
type Text struct {
	text       []byte
	begin, end int
}

// Span is where the text stands, in bytes from the start of the line.
func (p *Text) Span() (begin, end int) { return p.begin, p.end }

const maxText = 256

func (p *Text) add(c ...byte) {
	p.text = append(p.text, c[:min(len(c), maxText-len(p.text))]...)
}

// again is the text, to be read anew: of two fields with one name the last counts.
func (p *Text) again() *Text {
	p.text, p.begin, p.end = p.text[:0], 0, 0
	return p
}

// addAt adds what stands at a place of the line.
func (p *Text) addAt(at int, c ...byte) {
	if len(p.text) == 0 {
		p.begin = at
	}
	p.add(c...)
	p.end = at + len(c)
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
			n := s.inText(data[i:])
			i, s.at = i+n, s.at+n
			if i == len(data) {
				return
			}
		}
		s.next(data[i])
		s.at++
	}
}

// inText scans the inside of a string, and returns its length.
func (s *Scanner) inText(data []byte) int {
	n := 0
	for n < len(data) && data[n] != '"' && data[n] != '\\' && data[n] != '\n' {
		n++
	}
	if s.into != nil {
		s.into.addAt(s.at, data[:n]...)
	}
	return n
}

// next scans one byte.
func (s *Scanner) next(c byte) {
	if c == '\n' { // here a message begins, whatever was read before
		s.line()
		s.at = -1 // the next byte is the line's first
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
		s.into.addAt(s.at, c)
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
		switch { // an object with a field is not empty
		case s.params && s.depth == s.base+1:
			s.now.Params.Empty = false
		case s.meta && s.depth == s.base+2:
			s.now.Meta.Empty = false
		}
	case ',':
		s.value, s.into = false, nil
	case '{', '[':
		if s.depth == 0 && c == '[' {
			s.base = 2
		}
		s.opened(c)
		s.depth++
		s.value, s.into = false, nil
	case '}', ']':
		s.depth--
		s.value, s.into = false, nil
		s.closed(c)
		if s.params = s.params && s.depth > s.base; c == '}' && s.depth == s.base-1 {
			s.report()
		}
	case ' ', '\t', '\r':
	default:
		s.keep(c)
	}
}

// opened notes the objects whose places are reported.
func (s *Scanner) opened(c byte) {
	switch {
	case s.depth == s.base:
		s.params = c == '{' && string(s.name.text) == `"params"`
		if s.params {
			s.now.Params = Object{Empty: true}
		}
	case s.params && s.depth == s.base+1:
		s.meta = c == '{' && string(s.name.text) == `"_meta"`
		if s.meta {
			s.now.Meta = Object{Empty: true}
		}
	}
}

// closed notes where they end.
func (s *Scanner) closed(c byte) {
	if c != '}' {
		return
	}
	switch {
	case s.params && s.depth == s.base:
		s.now.Params.Found, s.now.Params.End = true, s.at
	case s.meta && s.depth == s.base+1:
		s.now.Meta.Found, s.now.Meta.End = true, s.at
		s.meta = false
	}
}

// own reports whether a field is one of the message or of its params.
func (s *Scanner) own() bool { return s.depth == s.base || s.params && s.depth == s.base+1 }

// wanted is where the value of the last named field is kept; nil: nowhere.
func (s *Scanner) wanted() *Text {
	name := string(s.name.text)
	switch {
	case s.depth == s.base && name == `"id"`:
		s.now.HasID = true
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
	m.HasMethod, m.HasID = false, false
	m.Params, m.Meta = Object{}, Object{}
	m.ID.again()
	m.Method.again()
	m.Cancels.again()
}

// line starts a line.
func (s *Scanner) line() {
	s.begin()
	s.fresh, s.depth, s.base, s.at = true, 0, 1, 0
	s.text, s.escape, s.value, s.params, s.meta, s.into = false, false, false, false, false, nil
}
