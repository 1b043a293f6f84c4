package argv

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Write makes the words that follow a tool's name out of its arguments, quoted
// for a POSIX shell. Parsing them gives the same arguments. What flags cannot
// express is written with --args.
func Write(params []Param, args json.RawMessage) string {
	var given map[string]json.RawMessage
	if json.Unmarshal(args, &given) != nil {
		return ""
	}
	var words []string
	for _, p := range params {
		v, ok := given[p.Name]
		if !ok {
			continue
		}
		delete(given, p.Name)
		flag, ok := p.write(v)
		if !ok {
			return allArgs(args)
		}
		words = append(words, flag...)
	}
	if len(given) > 0 {
		return allArgs(args)
	}
	return strings.Join(words, " ")
}

func allArgs(args json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, args) != nil {
		return ""
	}
	return "--args " + ShellQuote(b.String())
}

// write makes the words of one parameter. It returns false when parsing them
// would give another value.
func (p Param) write(v json.RawMessage) ([]string, bool) {
	flag := "--" + p.Flag()
	switch {
	case p.is("boolean") && string(v) == "true":
		return []string{flag}, true
	case p.is("boolean") && string(v) == "false":
		return []string{flag + "=false"}, true
	case p.is("array") && slices.Contains(p.Items, "array"):
		return nil, false
	case p.is("array") && typeOf(v) == "array" && len(elements(v)) > 0:
		return p.list(flag, v), true
	default:
		return p.word(flag, v)
	}
}

// list repeats the flag for each element, or writes the list as JSON when an
// element cannot be written alone.
func (p Param) list(flag string, v json.RawMessage) []string {
	var words []string
	for _, e := range elements(v) {
		word, ok := p.word(flag, e)
		if !ok || typeOf(e) == "array" {
			return []string{flag, ShellQuote(string(v))}
		}
		words = append(words, word...)
	}
	return words
}

func (p Param) word(flag string, v json.RawMessage) ([]string, bool) {
	text := string(v)
	if typeOf(v) == "string" {
		if json.Unmarshal(v, &text) != nil || text == "-" {
			return nil, false
		}
	}
	back, err := p.parse(text)
	if err != nil || !same(back, v) {
		return nil, false
	}
	if strings.HasPrefix(text, "-") {
		return []string{ShellQuote(flag + "=" + text)}, true
	}
	return []string{flag, ShellQuote(text)}, true
}

// same compares JSON texts by their compact forms.
func same(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return false
	}
	if typeOf(a) == "string" && typeOf(b) == "string" {
		var s, t string
		return json.Unmarshal(a, &s) == nil && json.Unmarshal(b, &t) == nil && s == t
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// ShellQuote quotes a word for a POSIX shell, when it needs it.
func ShellQuote(word string) string {
	plain := word != ""
	for _, c := range word {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.ContainsRune("-_./:=@%+,", c):
		default:
			plain = false
		}
	}
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
