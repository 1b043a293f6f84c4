// Package vcard reads and writes contacts as address books keep them: vCard 3.0 and 4.0.
//
// # Law
//
// A card is a list of lines. What a change does not name stays as it was, byte for byte, also
// lines that this package does not know. What is written is folded and escaped, and a text can
// never become a line of its own. What is read is bounded.
package vcard

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MIMEType is that of a card.
const MIMEType = "text/vcard; charset=utf-8"

// The bounds of a card.
const (
	maxLines = 5000
	maxBytes = 8 << 20 // a picture may be in it
)

// Card is one contact. Make one with Parse or New.
type Card struct {
	lines   []line
	version string
}

// line is one property.
type line struct {
	raw    string // as it was read, with its folds and its end; "" for one that was made here
	group  string // of several lines that belong together: item1
	name   string // in upper case
	params []param
	value  string // as it is written, with its escapes
}

type param struct{ name, value string }

// Parse reads a card. Of a file with several only the first would be a contact, so that is an
// error.
func Parse(data []byte) (*Card, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case len(data) > maxBytes:
		return nil, fmt.Errorf("the card has more than %d bytes", maxBytes)
	case !utf8.Valid(data):
		return nil, errors.New("the card is not in UTF-8")
	}
	c := &Card{}
	for _, raw := range unfold(string(data)) {
		if strings.TrimSpace(raw) == "" {
			continue
		}
		if len(c.lines) == maxLines {
			return nil, fmt.Errorf("the card has more than %d lines", maxLines)
		}
		l, err := parseLine(raw)
		if err != nil {
			return nil, err
		}
		if l.name == "VERSION" {
			c.version = strings.TrimSpace(l.value)
		}
		c.lines = append(c.lines, l)
	}
	return c, c.check()
}

func (c *Card) check() error {
	n := len(c.lines)
	is := func(i int, name string) bool {
		return c.lines[i].name == name && strings.EqualFold(strings.TrimSpace(c.lines[i].value), "VCARD")
	}
	if n < 2 || !is(0, "BEGIN") || !is(n-1, "END") {
		return errors.New("it is no vCard")
	}
	for i := range c.lines[1 : n-1] {
		if name := c.lines[i+1].name; name == "BEGIN" || name == "END" {
			return errors.New("there is more than one card in it")
		}
	}
	if c.version != "3.0" && c.version != "4.0" {
		return fmt.Errorf("it is vCard %q, and only 3.0 and 4.0 are read", c.version[:min(len(c.version), 20)])
	}
	return nil
}

// unfold splits a text into lines, each with the lines that continue it.
func unfold(text string) []string {
	var all []string
	for len(text) > 0 {
		end := 0
		for {
			next := strings.IndexByte(text[end:], '\n')
			if next < 0 {
				end = len(text)
				break
			}
			end += next + 1
			if end == len(text) || text[end] != ' ' && text[end] != '\t' {
				break
			}
		}
		all = append(all, text[:end])
		text = text[end:]
	}
	return all
}

// parseLine reads one property.
func parseLine(raw string) (line, error) {
	flat := strings.NewReplacer("\r\n ", "", "\r\n\t", "", "\n ", "", "\n\t", "").Replace(raw)
	flat = strings.TrimRight(flat, "\r\n")
	l := line{raw: raw}
	colon, inQuotes := -1, false
	var parts []string
	from := 0
	for i := 0; i < len(flat) && colon < 0; i++ {
		switch c := flat[i]; {
		case c == '"':
			inQuotes = !inQuotes
		case inQuotes:
		case c == ';':
			parts, from = append(parts, flat[from:i]), i+1
		case c == ':':
			parts, colon = append(parts, flat[from:i]), i
		}
	}
	if colon < 0 {
		return l, fmt.Errorf("the line %q has no value", flat[:min(len(flat), 60)])
	}
	l.value, l.name = flat[colon+1:], strings.TrimSpace(parts[0])
	if group, name, ok := strings.Cut(l.name, "."); ok {
		l.group, l.name = group, name
	}
	l.name = strings.ToUpper(l.name)
	for _, text := range parts[1:] {
		name, value, ok := strings.Cut(text, "=")
		if !ok { // as old programs write it: TEL;HOME:…
			name, value = "TYPE", text
		}
		l.params = append(l.params, param{strings.ToUpper(strings.TrimSpace(name)), value})
	}
	return l, nil
}

// types are the words that say what a value is for, in lower case: home, work, cell.
func (l line) types() []string {
	var all []string
	for _, p := range l.params {
		if p.name != "TYPE" {
			continue
		}
		for word := range strings.SplitSeq(p.value, ",") {
			if word = strings.ToLower(strings.Trim(word, `" `)); word != "" {
				all = append(all, word)
			}
		}
	}
	return all
}

// text is the value without its escapes.
func (l line) text() string { return unescape(l.value) }

// fields splits a value that has parts.
func (l line) fields() []string { return split(l.value, ';') }

// split splits a value at a sign that is not escaped, and takes the escapes away.
func split(value string, at byte) []string {
	var all []string
	from := 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case at:
			all, from = append(all, unescape(value[from:i])), i+1
		}
	}
	return append(all, unescape(value[from:]))
}

func unescape(value string) string {
	if !strings.Contains(value, `\`) {
		return value
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' || i+1 == len(value) {
			b.WriteByte(value[i])
			continue
		}
		i++
		switch value[i] {
		case 'n', 'N':
			b.WriteByte('\n')
		case '\\', ',', ';', ':':
			b.WriteByte(value[i])
		default:
			b.WriteString(value[i-1 : i+1])
		}
	}
	return b.String()
}

var escapes = strings.NewReplacer(`\`, `\\`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`, ",", `\,`, ";", `\;`, "\x00", "")

func escape(text string) string { return escapes.Replace(strings.ToValidUTF8(text, "\ufffd")) }

// Bytes writes the card.
func (c *Card) Bytes() []byte {
	var b bytes.Buffer
	for _, l := range c.lines {
		if l.raw == "" {
			l.raw = fold(l.written())
		}
		b.WriteString(l.raw)
		if !strings.HasSuffix(l.raw, "\n") {
			b.WriteString("\r\n")
		}
	}
	return b.Bytes()
}

func (l line) written() string {
	var b strings.Builder
	if l.group != "" {
		b.WriteString(l.group + ".")
	}
	b.WriteString(l.name)
	for _, p := range l.params {
		b.WriteString(";" + p.name + "=" + p.value)
	}
	return b.String() + ":" + l.value
}

// fold breaks a line after at most 75 bytes, never inside of a character.
func fold(text string) string {
	const most = 75
	var b strings.Builder
	for room := most; len(text) > room; room = most - 1 {
		at := room
		for at > room-utf8.UTFMax && !utf8.RuneStart(text[at]) {
			at--
		}
		b.WriteString(text[:at] + "\r\n ")
		text = text[at:]
	}
	return b.String() + text + "\r\n"
}
