package search

import (
	"bytes"
	"encoding/json"

	"callgate/internal/search/lexical"
)

// maxNesting limits the depth at which inner parameters are read.
const maxNesting = 5

// params returns the parameters of an input schema in the order in which they
// are written, inner ones after their owner. A schema that is not an object with
// properties has none.
//
// A start reads thousands of schemas and needs three keys of each, so the rest
// is skipped and not decoded. What is skipped is not validated: text that is not
// JSON is read up to the mistake.
func params(schema json.RawMessage) []lexical.Param {
	p := &paramReader{scanner: scanner{text: schema}}
	p.schema(none, 0)
	return p.list
}

type paramReader struct {
	scanner
	list []lexical.Param
}

// schema reads a schema, which describes the parameter own, or none.
func (p *paramReader) schema(own, depth int) {
	p.object(func(key []byte) {
		switch {
		case string(key) == "description" && own != none && p.next() == '"':
			p.list[own].Text = unquote(p.string())
		case string(key) == "properties" && depth < maxNesting:
			p.object(func(name []byte) {
				p.list = append(p.list, lexical.Param{Name: unquote(name)})
				p.schema(len(p.list)-1, depth+1)
			})
		case string(key) == "items" && depth < maxNesting:
			p.schema(none, depth+1)
		default:
			p.skip()
		}
	})
}

// scanner reads JSON text. Every step advances, so it ends on any text.
type scanner struct {
	text []byte
	at   int
}

// next skips white space and returns the next byte, 0 at the end.
func (s *scanner) next() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// object calls member for each key of an object; member must read the value. A
// value of another kind is skipped.
func (s *scanner) object(member func(key []byte)) {
	if s.next() != '{' {
		s.skip()
		return
	}
	s.at++
	for {
		switch s.next() {
		case '"':
			key := s.string()
			if s.next() != ':' {
				s.at = len(s.text)
				return
			}
			s.at++
			member(key)
		case ',':
			s.at++
		case '}':
			s.at++
			return
		default:
			s.at = len(s.text)
			return
		}
	}
}

// string reads a string, and returns the text between its quotes.
func (s *scanner) string() []byte {
	s.at++
	start := s.at
	for s.at < len(s.text) {
		i := bytes.IndexAny(s.text[s.at:], `"\`)
		if i < 0 {
			break
		}
		s.at += i
		if s.text[s.at] == '"' {
			s.at++
			return s.text[start : s.at-1]
		}
		s.at = min(s.at+2, len(s.text))
	}
	s.at = len(s.text)
	return s.text[start:]
}

// skip reads a value of any kind.
func (s *scanner) skip() {
	depth := 0
	for {
		switch s.next() {
		case 0:
			return
		case '"':
			s.string()
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			depth--
			s.at++
		case ',', ':':
			s.at++
			if depth == 0 { // there is no value
				return
			}
			continue
		default:
			for s.at < len(s.text) && !bytes.ContainsRune([]byte(" \t\n\r,:{}[]\""), rune(s.text[s.at])) {
				s.at++
			}
		}
		if depth <= 0 {
			return
		}
	}
}

// unquote decodes the text between the quotes of a string.
func unquote(inside []byte) string {
	if bytes.IndexByte(inside, '\\') < 0 {
		return string(bytes.ToValidUTF8(inside, []byte("\uFFFD")))
	}
	var text string
	if json.Unmarshal(append(append([]byte{'"'}, inside...), '"'), &text) != nil {
		return string(bytes.ToValidUTF8(inside, []byte(" ")))
	}
	return text
}
