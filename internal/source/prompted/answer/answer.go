// Package answer reads the JSON out of what a model wrote.
//
// # Law
//
// A model was asked for one JSON value and may have written more: prose before and after, code
// fences, several blocks, brackets that are no JSON. The value is the first that is JSON and that
// the caller accepts: the whole text, then what stands in fences, then the objects and lists in
// the text, each in its order. A value that is JSON and not accepted is [Mismatched], a text
// without JSON is [Malformed]. Numbers, words and text count only where they are all that was
// written, or all in a fence. Nothing is mended: half a value is none.
package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"callgate/tool"
)

// Malformed says that there is no JSON in a text.
type Malformed struct {
	Err   error  // what the parser said of the likeliest part
	Wrote string // the beginning of the text
}

// Error says what is wrong, and shows the beginning of the text.
func (e *Malformed) Error() string {
	if e.Wrote == "" {
		return "the answer is empty, and no JSON"
	}
	return fmt.Sprintf("the answer holds no JSON (%v); it begins: %s", e.Err, e.Wrote)
}

// Unwrap returns what the parser said.
func (e *Malformed) Unwrap() error { return e.Err }

// Mismatched says that there is JSON in a text, and not the one that was asked for.
type Mismatched struct {
	Value json.RawMessage
	Err   error // why it was not accepted
}

// Error says why it was not accepted.
func (e *Mismatched) Error() string {
	return fmt.Sprintf("the JSON of the answer does not match its schema: %v", e.Err)
}

// Unwrap returns why it was not accepted.
func (e *Mismatched) Unwrap() error { return e.Err }

const (
	maxShown      = 500 // bytes of a text that an error shows
	maxCandidates = 64  // parts of a text that are tried
	maxOpenings   = 512 // brackets from which a part may begin
)

// Read returns the JSON value of a text. accept says whether a value is what was asked for, and
// may return another form of it; nil accepts everything.
func Read(text string, accept func(json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	var syntax error
	var mismatch *Mismatched
	tried := 0
	for candidate := range candidates(text) {
		if tried++; tried > maxCandidates {
			break
		}
		value, err := decode(candidate)
		if err != nil {
			// What the parser says of the part that comes last is of the smallest; the first is the
			// likeliest to have been meant.
			if syntax == nil || isFirstChar(syntax) {
				syntax = err
			}
			continue
		}
		if accept == nil {
			return value, nil
		}
		accepted, err := accept(value)
		if err == nil {
			return accepted, nil
		}
		if mismatch == nil {
			mismatch = &Mismatched{Value: value, Err: err}
		}
	}
	if mismatch != nil {
		return nil, mismatch
	}
	return nil, &Malformed{Err: syntax, Wrote: tool.TruncateTo(text, maxShown)}
}

// errNoValue is of a text that does not begin as JSON does.
var errNoValue = errors.New("it is text")

func isFirstChar(err error) bool { return errors.Is(err, errNoValue) }

// decode reads one value that is all of a text.
func decode(text string) (json.RawMessage, error) {
	var value json.RawMessage
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&value); err != nil {
		if !strings.ContainsAny(text[:min(1, len(text))], "{[") {
			return nil, errNoValue
		}
		return nil, err
	}
	if rest := strings.TrimSpace(text[dec.InputOffset():]); rest != "" {
		return nil, fmt.Errorf("more follows the value: %s", tool.TruncateTo(rest, 60))
	}
	return bytes.TrimSpace(value), nil
}

// candidates yields the parts of a text that may be the value, the likeliest first.
func candidates(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if text == "" || !yield(text) {
			return
		}
		for block := range fenced(text) {
			if !yield(block) {
				return
			}
		}
		for block := range bracketed(text) {
			if block != text && !yield(block) {
				return
			}
		}
	}
}

// fenced yields what stands in code fences. A fence that nothing closes goes to the end.
func fenced(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for {
			_, rest, ok := strings.Cut(text, "```")
			if !ok {
				return
			}
			block, after, closed := strings.Cut(rest, "```")
			if !closed {
				block, after = rest, ""
			}
			if !yield(strings.TrimSpace(withoutLanguage(block))) {
				return
			}
			text = after
		}
	}
}

// withoutLanguage takes the word off that names a fence's language.
func withoutLanguage(block string) string {
	line, rest, ok := strings.Cut(block, "\n")
	word := strings.TrimSpace(line)
	if ok && !strings.ContainsAny(word, "{[\"") && !isScalar(word) {
		return rest
	}
	if !ok || strings.ContainsAny(word, "{[\"") {
		for _, name := range []string{"json5", "jsonc", "json"} { // ```json {"a": 1}```
			if len(word) > len(name) && strings.EqualFold(word[:len(name)], name) {
				return strings.TrimSpace(block)[len(name):]
			}
		}
	}
	return block
}

func isScalar(word string) bool { return word != "" && json.Valid([]byte(word)) }

// bracketed yields the objects and lists of a text, by where they begin. What lies in one that
// was balanced is not looked at again.
func bracketed(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		openings := 0
		for at := 0; at < len(text) && openings < maxOpenings; {
			i := strings.IndexAny(text[at:], "{[")
			if i < 0 {
				return
			}
			at += i
			openings++
			end := balanced(text[at:])
			if end == 0 {
				at++
				continue
			}
			if block := text[at : at+end]; json.Valid([]byte(block)) {
				if !yield(block) {
					return
				}
				at += end
			} else {
				if !yield(block) { // for what the parser says of it
					return
				}
				at++
			}
		}
	}
}

// balanced returns how long the object or list is with which a text begins, or 0 if it does not
// end. Brackets in strings do not count.
func balanced(text string) int {
	depth, inString, escaped := 0, false, false
	for i := range len(text) {
		c := text[i]
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
