package secret

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// A value that was escaped on its way into a text (as JSON, in a URL, for
// HTML, for a shell) is found by reading the text unescaped. That is done for
// all escapes at once, and up to depth times over, for JSON inside JSON inside
// a URL. Each reading knows where its bytes stand in the one before.

// depth is how many layers of escapes are taken off.
const depth = 3

// layer is a text without its outermost escapes.
type layer struct {
	text []byte
	// units are the escapes that were taken off. Most texts hold no secret, and
	// then nobody asks where something stands: they are listed when somebody does.
	units func() []unit
}

// unit is an escape: what it is written as, and what it stands for.
type unit struct {
	from, to int // in the text before
	at, size int // in this layer
}

// kinds are kinds of escapes.
type kinds uint8

const (
	backslashes kinds = 1 << iota // of JSON, shells and programming languages
	percents                      // of URLs
	entities                      // of HTML
	allKinds    = 1<<iota - 1
)

// kindOf is the kind of an escape by the byte that it begins with.
func kindOf(c byte) kinds {
	switch c {
	case '\\':
		return backslashes
	case '%':
		return percents
	default:
		return entities
	}
}

// unescape takes one layer off. It is nil when there is nothing to take. An
// escape that the text ends in the middle of is taken for plain text, unless
// there is more to come: then the layer ends before it, and open is where it
// begins. Otherwise open is the length of the text.
func unescape[T text](t T, k kinds, more bool) (l *layer, open int) {
	var out []byte
	done, found := 0, false // up to here it is copied
	open = escapes(t, k, more, func(u unit, means []byte) {
		if !found {
			found, out = true, make([]byte, 0, len(t))
		}
		out = append(append(out, t[done:u.from]...), means...)
		done = u.to
	})
	if !found && open == len(t) {
		return nil, open
	}
	return &layer{text: append(out, t[done:open]...), units: sync.OnceValue(func() (list []unit) {
		escapes(t, k, more, func(u unit, _ []byte) { list = append(list, u) })
		return list
	})}, open
}

// escapes visits the escapes of a text, and returns where it ends for unescape.
func escapes[T text](t T, k kinds, more bool, visit func(u unit, means []byte)) (open int) {
	var buf [utf8.UTFMax]byte
	shorter := 0 // by so much is the layer, so far
	for i := 0; i < len(t); {
		if c := t[i]; c != '\\' && c != '%' && c != '&' || kindOf(c)&k == 0 {
			i++
			continue
		}
		size, width := decode(t[i:], &buf)
		switch {
		case width == cutOff && more:
			return i
		case size == 0:
			i++
		default:
			visit(unit{i, i + width, i - shorter, size}, buf[:size])
			i += width
			shorter += width - size
		}
	}
	return len(t)
}

// outer is where something of this layer stands in the text before.
func (l *layer) outer(s span) span {
	s.from, s.to = l.begin(s.from), l.begin(s.to-1)
	units := l.units()
	if i, ok := slices.BinarySearchFunc(units, s.to, func(u unit, from int) int { return u.from - from }); ok {
		s.to = units[i].to
	} else {
		s.to++
	}
	return s
}

// begin is where a byte of this layer begins in the text before.
func (l *layer) begin(at int) int {
	units := l.units()
	i, _ := slices.BinarySearchFunc(units, at+1, func(u unit, at int) int { return u.at - at })
	if i == 0 {
		return at
	}
	switch u := units[i-1]; {
	case at < u.at+u.size:
		return u.from
	default:
		return u.to + at - u.at - u.size
	}
}

// inner is where a place of the text before stands in this layer; inside an
// escape it is the escape's beginning.
func (l *layer) inner(at int) int {
	units := l.units()
	i, _ := slices.BinarySearchFunc(units, at+1, func(u unit, at int) int { return u.from - at })
	if i == 0 {
		return at
	}
	switch u := units[i-1]; {
	case at < u.to:
		return u.at
	default:
		return u.at + u.size + at - u.to
	}
}

// cutOff is the width of an escape that the text ends in.
const cutOff = -1

// readings lists what becomes of a value that holds escapes itself when a text
// around it is unescaped: an encoder protects those of its own kind, and those
// of the other kinds are taken off with it.
func readings(value string) []string {
	const most = 64
	all := []string{value}
	for i, round := 0, 0; round < depth; round++ {
		for end := len(all); i < end; i++ {
			for k := kinds(1); k <= allKinds; k++ {
				l, _ := unescape(all[i], k, false)
				if l != nil && len(all) < most && !slices.Contains(all, string(l.text)) {
					all = append(all, string(l.text))
				}
			}
		}
	}
	return all[1:]
}

// decode reads the escape at the beginning of t: how many bytes it stands for,
// and how many it has. A size of 0 is no escape.
func decode[T text](t T, into *[utf8.UTFMax]byte) (size, width int) {
	switch t[0] {
	case '%':
		return decodeHex(t, 1, 2, into)
	case '&':
		return decodeEntity(t, into)
	}
	if len(t) == 1 {
		return 0, cutOff
	}
	switch c := t[1]; c {
	case 'x':
		return decodeHex(t, 2, 2, into)
	case 'u':
		return decodeUnicode(t, into)
	case '0', '1', '2', '3':
		return decodeOctal(t, into)
	default:
		if i := strings.IndexByte(controls, c); i >= 0 {
			into[0] = controlBytes[i]
			return 1, 2
		}
		if c >= utf8.RuneSelf || c < ' ' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			return 0, 0
		}
		into[0] = c
		return 1, 2
	}
}

// The letters that stand for control characters after a backslash.
const (
	controls     = "abfnrtv"
	controlBytes = "\a\b\f\n\r\t\v"
)

// decodeHex reads a byte of so many hex digits.
func decodeHex[T text](t T, from, digits int, into *[utf8.UTFMax]byte) (size, width int) {
	v, width := hexNumber(t, from, digits)
	if width <= 0 {
		return 0, width
	}
	into[0] = byte(v)
	return 1, width
}

// decodeOctal reads a byte of three octal digits after a backslash.
func decodeOctal[T text](t T, into *[utf8.UTFMax]byte) (size, width int) {
	v := 0
	for i := 1; i <= 3; i++ {
		if i >= len(t) {
			return 0, cutOff
		}
		if t[i] < '0' || t[i] > '7' {
			return 0, 0
		}
		v = v<<3 | int(t[i]-'0')
	}
	into[0] = byte(v)
	return 1, 4
}

// decodeUnicode reads \uXXXX, or a pair of them that is one character.
func decodeUnicode[T text](t T, into *[utf8.UTFMax]byte) (size, width int) {
	v, width := hexNumber(t, 2, 4)
	if width <= 0 {
		return 0, width
	}
	r := rune(v)
	if utf16.IsSurrogate(r) {
		const whole = `\u0000\u0000`
		switch {
		case r >= 0xDC00:
			return 0, 0
		case len(t) == 6, len(t) == 7 && t[6] == '\\':
			return 0, cutOff
		case t[6] != '\\' || t[7] != 'u':
			return 0, 0
		}
		second, end := hexNumber(t, 8, 4)
		if end <= 0 {
			return 0, end
		}
		if r, width = utf16.DecodeRune(r, rune(second)), len(whole); r == utf8.RuneError {
			return 0, 0
		}
	}
	return utf8.EncodeRune(into[:], r), width
}

// hexNumber reads so many hex digits, and returns where they end: 0 when they
// are none, cutOff when the text ends first.
func hexNumber[T text](t T, from, digits int) (v uint32, end int) {
	for i := from; i < from+digits; i++ {
		if i >= len(t) {
			return 0, cutOff
		}
		d := hexDigit(t[i])
		if d < 0 {
			return 0, 0
		}
		v = v<<4 | uint32(d)
	}
	return v, from + digits
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// maxEntity is the longest entity that is read: &#1114111;.
const maxEntity = 10

// decodeEntity reads what HTML writes for a character.
func decodeEntity[T text](t T, into *[utf8.UTFMax]byte) (size, width int) {
	end := 1
	for ; end < len(t) && end < maxEntity && t[end] != ';'; end++ {
		if c := t[end]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '#' && end == 1) {
			return 0, 0
		}
	}
	switch {
	case end == maxEntity:
		return 0, 0
	case end == len(t):
		return 0, cutOff
	}
	r := entity(string(t[1:end]))
	if r <= 0 || !utf8.ValidRune(r) {
		return 0, 0
	}
	return utf8.EncodeRune(into[:], r), end + 1
}

// entity is the character of a name or a number, or 0.
func entity(name string) rune {
	switch name {
	case "amp":
		return '&'
	case "lt":
		return '<'
	case "gt":
		return '>'
	case "quot":
		return '"'
	case "apos":
		return '\''
	}
	if len(name) < 2 || name[0] != '#' {
		return 0
	}
	digits, base := name[1:], rune(10)
	if digits[0] == 'x' || digits[0] == 'X' {
		digits, base = digits[1:], 16
	}
	var r rune
	for i := range len(digits) {
		d := rune(hexDigit(digits[i]))
		if d < 0 || d >= base {
			return 0
		}
		r = r*base + d // at most seven digits
	}
	return r
}
