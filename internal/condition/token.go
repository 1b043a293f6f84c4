package condition

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is what a token is.
type tokenKind uint8

const (
	end    tokenKind = iota
	symbol           // an operator or a bracket: its text says which
	word             // a name or a word of the language
	number
	quoted
)

// token is one word of an expression, and where it stands.
type token struct {
	kind     tokenKind
	text     string // of quoted: what it means
	num      any    // int64 or float64
	pos, end int
}

// symbols in the order in which they are tried: the longer ones first.
var symbols = [...]string{"==", "!=", ">=", "<=", "&&", "||", "[*]", "?.", ">", "<", "!", "+", "-", "*", "/", "%",
	"(", ")", "[", "]", ",", "."}

// next reads the token at a byte.
func next(source string, pos int) (token, error) {
	for pos < len(source) && strings.IndexByte(" \t\r\n", source[pos]) >= 0 {
		pos++
	}
	t := token{pos: pos, end: pos}
	if pos == len(source) {
		return t, nil
	}
	switch c, size := utf8.DecodeRuneInString(source[pos:]); {
	case c == utf8.RuneError && size <= 1:
		return t, fault(source, pos, "there is a byte that is no text")
	case c == '"' || c == '\'':
		return readQuoted(source, pos)
	case c >= '0' && c <= '9':
		return readNumber(source, pos)
	case c == '_' || unicode.IsLetter(c):
		t.kind, t.end = word, pos+nameLen(source[pos:])
		t.text = source[pos:t.end]
		return t, nil
	}
	for _, s := range symbols {
		if strings.HasPrefix(source[pos:], s) {
			t.kind, t.text, t.end = symbol, s, pos+len(s)
			if s == "?." {
				t.text = "."
			}
			return t, nil
		}
	}
	e := fault(source, pos, "what is "+strconv.Quote(firstRune(source[pos:]))+"?")
	if source[pos] == '=' {
		e = fault(source, pos, "= is not a comparison").WithHint("write == to compare")
	}
	return t, e
}

// nameLen counts the bytes of the name that s begins with.
func nameLen(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return i
		}
	}
	return len(s)
}

func firstRune(s string) string {
	_, size := utf8.DecodeRuneInString(s)
	return s[:size]
}

// readNumber reads 5, 2.50 or 1e6.
func readNumber(source string, pos int) (token, error) {
	i := pos
	for i < len(source) && (source[i] >= '0' && source[i] <= '9' || source[i] == '.' || source[i] == '_' ||
		source[i]|0x20 >= 'a' && source[i]|0x20 <= 'z' || (source[i] == '-' || source[i] == '+') && source[i-1]|0x20 == 'e') {
		i++
	}
	t := token{kind: number, text: source[pos:i], pos: pos, end: i}
	if n, err := strconv.ParseInt(t.text, 10, 64); err == nil {
		t.num = n
		return t, nil
	}
	f, err := strconv.ParseFloat(t.text, 64)
	if err != nil || strings.ContainsAny(t.text, "_xXpP") {
		return t, fault(source, pos, strconv.Quote(t.text)+" is not a number").WithHint("put a text in quotes")
	}
	t.num = f
	return t, nil
}

// readQuoted reads a text in double or single quotes. A backslash before a quote or a
// backslash, and \n and \t, mean what they mean elsewhere; before anything else it
// is itself, so that regular expressions need no second one.
func readQuoted(source string, pos int) (token, error) {
	quote := source[pos]
	var b strings.Builder
	for i := pos + 1; i < len(source); i++ {
		c := source[i]
		switch {
		case c == quote:
			return token{kind: quoted, text: b.String(), pos: pos, end: i + 1}, nil
		case c == '\\' && i+1 < len(source):
			if plain := strings.IndexByte(`"'\nt`, source[i+1]); plain >= 0 {
				i++
				b.WriteByte("\"'\\\n\t"[plain])
				continue
			}
		}
		b.WriteByte(c)
	}
	return token{}, fault(source, pos, "the text that begins here has no end").WithHint("close it with %c", quote)
}
