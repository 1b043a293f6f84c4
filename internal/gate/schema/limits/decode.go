// Package limits bounds what reaches the validator. Schemas come from strangers
// and values from models, and either may be made to keep the kernel busy or to
// bring it down.
//
// The law: text becomes a value only through [Decode], and a value meets a
// schema only after [Budget.Allows] or within a [Trial]. Then depth, bulk, the
// size of a number, the validator's stack and the number of its steps are all
// bounded, however a schema refers to itself. What [Encode] writes, Decode
// reads again.
package limits

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// What a value may be before the validator sees it. The validator's recursion
// follows the value's depth, each of its complaints holds a path as long as
// its place is deep, and it takes numbers as exact fractions, so depth, bulk
// and the size of a number are what a hostile value would use against it.
const (
	maxDepth    = 1000      // levels of lists and objects
	maxBulk     = 4_000_000 // values, each counted as often as it is deep
	maxDigits   = 1000      // bytes of one number
	maxExponent = 1000      // either way
)

// Decode reads one JSON value and nothing after it, its numbers kept as they
// were written. It reports whether an object names a property twice; the last
// value is the one kept, as everywhere in Go.
func Decode(text []byte) (value any, doubled bool, err error) {
	names, err := scanLimits(text)
	if err != nil {
		return nil, false, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return nil, false, syntaxError(err, text)
	}
	end := int(dec.InputOffset())
	if rest := bytes.TrimLeft(text[end:], " \t\r\n"); len(rest) > 0 {
		return nil, false, fmt.Errorf("there is more after the end of the value, at byte %d: %s", len(text)-len(rest), near(rest, 0))
	}
	return value, names != countNames(value), nil
}

func syntaxError(err error, text []byte) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("it is cut off after byte %d: %s", len(text), near(text, max(0, len(text)-24)))
	case errors.As(err, &syntax):
		from := min(max(0, int(syntax.Offset)-12), len(text))
		return fmt.Errorf("%w, at byte %d: %s", err, syntax.Offset, near(text, from))
	default:
		return err
	}
}

// near quotes a little of text from a byte onwards.
func near(text []byte, from int) string {
	part := text[from:min(len(text), from+24)]
	return fmt.Sprintf("%q", bytes.ToValidUTF8(part, nil))
}

// scanLimits runs over the text of a value before it is decoded. It counts the
// names written in objects and refuses what is too deep, too much, or a
// number too large. What is not JSON is left for the decoder to complain of.
func scanLimits(text []byte) (names int, err error) {
	depth, bulk := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			i = endOfString(text, i)
		case c == '{' || c == '[':
			depth++
			bulk += depth
		case c == '}' || c == ']':
			depth--
		case c == ',':
			bulk += depth
		case c == ':':
			names++
		case c == '-' || '0' <= c && c <= '9':
			end := i + 1
			for end < len(text) && isNumberByte(text[end]) {
				end++
			}
			if !IsSmallNumber(text[i:end]) {
				return 0, fmt.Errorf("the number at byte %d (%s) is too large: at most %d digits and exponents to %d", i, near(text[:end], i), maxDigits, maxExponent)
			}
			i = end - 1
		}
		if depth > maxDepth {
			return 0, fmt.Errorf("it is nested more than %d levels deep", maxDepth)
		}
		if bulk > maxBulk {
			return 0, errors.New("it holds too many values")
		}
	}
	return names, nil
}

// endOfString returns the index of the quote that closes the one at start.
func endOfString(text []byte, start int) int {
	for i := start + 1; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return len(text)
		}
		i += n
		slashes := 0
		for text[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}

func isNumberByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}

// IsSmallNumber reports whether a number is small enough to be taken as an exact
// fraction without harm. It looks only at how the number is written.
func IsSmallNumber[T ~string | ~[]byte](number T) bool {
	if len(number) > maxDigits {
		return false
	}
	for i := range len(number) {
		if c := number[i]; c == 'e' || c == 'E' {
			exponent := 0
			for _, c := range []byte(number[i+1:]) {
				if '0' <= c && c <= '9' {
					exponent = min(exponent*10+int(c-'0'), maxExponent+1)
				}
			}
			return exponent <= maxExponent
		}
	}
	return true
}

func countNames(value any) int {
	n := 0
	switch value := value.(type) {
	case map[string]any:
		n = len(value)
		for _, v := range value {
			n += countNames(v)
		}
	case []any:
		for _, v := range value {
			n += countNames(v)
		}
	}
	return n
}

// Encode writes a value in its one canonical form: names sorted, nothing
// escaped that need not be. It refuses what Decode would not read again, as
// JSON text inside deep JSON may be too much together.
func Encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	text := bytes.TrimRight(b.Bytes(), "\n")
	if _, err := scanLimits(text); err != nil {
		return nil, err
	}
	return text, nil
}
