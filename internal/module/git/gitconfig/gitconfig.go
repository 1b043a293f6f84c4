// Package gitconfig reads and writes Git's settings files.
//
// It follows no include, which is an entry like any other, and looks nothing up.
// So the content of a hostile file is only data, and a file that is written
// holds exactly the given entries.
package gitconfig

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Entry is one setting. Section and Name are in lower case, because Git ignores
// their case; a subsection is as it is in the file.
type Entry struct {
	Section, Sub, Name string
	Value              string
}

// Key is the full name of the entry, as the git command writes it.
func (e Entry) Key() string {
	if e.Sub == "" {
		return e.Section + "." + e.Name
	}
	return e.Section + "." + e.Sub + "." + e.Name
}

// Parse reads a settings file. A name without a value has the value "true", as
// for Git.
func Parse(data []byte) ([]Entry, error) {
	p := parser{rest: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), line: 1}
	var at Entry
	var all []Entry
	for {
		p.skipBlank()
		c, ok := p.peek()
		switch {
		case !ok:
			return all, nil
		case c == '[':
			var err error
			if at, err = p.header(); err != nil {
				return nil, p.fail(err)
			}
		case !isLetter(c) || at.Section == "":
			return nil, p.fail(errors.New("a setting begins with a letter, and needs a [section] above it"))
		default:
			e := at
			if err := p.setting(&e); err != nil {
				return nil, p.fail(err)
			}
			all = append(all, e)
		}
	}
}

type parser struct {
	rest []byte
	line int
}

func (p *parser) fail(err error) error { return fmt.Errorf("line %d: %w", p.line, err) }

// peek returns the next byte. It skips a carriage return before a newline.
func (p *parser) peek() (byte, bool) {
	if len(p.rest) > 1 && p.rest[0] == '\r' && p.rest[1] == '\n' {
		p.rest = p.rest[1:]
	}
	if len(p.rest) == 0 {
		return 0, false
	}
	return p.rest[0], true
}

func (p *parser) next() (byte, bool) {
	c, ok := p.peek()
	if ok {
		p.rest = p.rest[1:]
		if c == '\n' {
			p.line++
		}
	}
	return c, ok
}

// skipBlank skips space, newlines and comments.
func (p *parser) skipBlank() {
	for {
		c, ok := p.peek()
		switch {
		case !ok:
			return
		case c == '#' || c == ';':
			p.skipLine()
		case isSpace(c) || c == '\n':
			p.next()
		default:
			return
		}
	}
}

func (p *parser) skipLine() {
	for c, ok := p.next(); ok && c != '\n'; c, ok = p.next() {
	}
}

// header reads [section], [section "sub"] or the old [section.sub].
func (p *parser) header() (Entry, error) {
	p.next()
	var name []byte
	for {
		c, ok := p.next()
		switch {
		case ok && c == ']':
			section, sub, _ := strings.Cut(strings.ToLower(string(name)), ".")
			if section == "" {
				return Entry{}, errors.New("a section has no name")
			}
			return Entry{Section: section, Sub: sub}, nil
		case ok && isSpace(c) && len(name) > 0:
			sub, err := p.subsection()
			return Entry{Section: strings.ToLower(string(name)), Sub: sub}, err
		case !ok || !isLetter(c) && !isDigit(c) && c != '-' && c != '.':
			return Entry{}, errors.New("a section's name holds letters, digits, - and . and ends with ]")
		}
		name = append(name, c)
	}
}

func (p *parser) subsection() (string, error) {
	for c, ok := p.peek(); ok && isSpace(c); c, ok = p.peek() {
		p.next()
	}
	if c, ok := p.next(); !ok || c != '"' {
		return "", errors.New("a subsection must be in quotes")
	}
	var sub []byte
	for {
		c, ok := p.next()
		if ok && c == '\\' {
			if c, ok = p.next(); ok && c != '\n' {
				sub = append(sub, c)
				continue
			}
		}
		switch {
		case !ok || c == '\n':
			return "", errors.New("a subsection's quotes are not closed")
		case c == '"':
			if c, ok := p.next(); !ok || c != ']' {
				return "", errors.New("a section ends with ]")
			}
			return string(sub), nil
		}
		sub = append(sub, c)
	}
}

func (p *parser) setting(e *Entry) error {
	var name []byte
	for c, ok := p.peek(); ok && (isLetter(c) || isDigit(c) || c == '-'); c, ok = p.peek() {
		p.next()
		name = append(name, c)
	}
	e.Name, e.Value = strings.ToLower(string(name)), "true"
	for c, ok := p.peek(); ok && isSpace(c); c, ok = p.peek() {
		p.next()
	}
	switch c, ok := p.next(); {
	case !ok || c == '\n':
		return nil
	case c != '=':
		return errors.New("a setting's name must be followed by =")
	}
	var err error
	e.Value, err = p.value()
	return err
}

// value reads a value up to the end of the line. It resolves quotes and escapes,
// and drops space around the value and a comment after it.
func (p *parser) value() (string, error) {
	var value []byte
	quoted, kept := false, 0 // space after kept is dropped
	for {
		c, ok := p.next()
		switch {
		case !ok || c == '\n':
			if quoted {
				return "", errors.New("a value's quotes are not closed")
			}
			return string(value[:kept]), nil
		case !quoted && (c == '#' || c == ';'):
			p.skipLine()
			return string(value[:kept]), nil
		case !quoted && isSpace(c):
			if len(value) > 0 {
				value = append(value, c)
			}
			continue
		case c == '"':
			quoted = !quoted
			kept = len(value)
			continue
		case c == '\\':
			c, ok = p.next()
			if ok && c == '\n' { // the value continues on the next line
				continue
			}
			if c, ok = unescape(c); !ok {
				return "", errors.New(`a backslash must be followed by n, t, b, " or a backslash`)
			}
		}
		value = append(value, c)
		kept = len(value)
	}
}

func unescape(c byte) (byte, bool) {
	switch c {
	case 'n':
		return '\n', true
	case 't':
		return '\t', true
	case 'b':
		return '\b', true
	case '"', '\\':
		return c, true
	}
	return 0, false
}

func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// Writable reports whether an entry can be written so that Git reads it back: a
// settings file has no zero bytes, and a subsection is one line.
func (e Entry) Writable() bool {
	return e.Section != "" && e.Name != "" && isLetter(e.Name[0]) && plain(e.Section) && plain(e.Name) &&
		!strings.ContainsAny(e.Sub, "\x00\n") && !strings.ContainsRune(e.Value, 0)
}

func plain(name string) bool {
	for _, c := range []byte(name) {
		if !isLetter(c) && !isDigit(c) && c != '-' {
			return false
		}
	}
	return true
}

// Format writes entries as a settings file, each below a header of its own. It
// skips entries that are not writable.
func Format(entries []Entry) []byte {
	var b bytes.Buffer
	for _, e := range entries {
		if !e.Writable() {
			continue
		}
		if e.Sub == "" {
			fmt.Fprintf(&b, "[%s]\n", e.Section)
		} else {
			fmt.Fprintf(&b, "[%s \"%s\"]\n", e.Section, subEscapes.Replace(e.Sub))
		}
		fmt.Fprintf(&b, "\t%s = \"%s\"\n", e.Name, valueEscapes.Replace(e.Value))
	}
	return b.Bytes()
}

var (
	subEscapes   = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	valueEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
)
