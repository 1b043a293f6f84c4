// Package limits bounds the schemas and values that reach the validator. Schemas
// come from strangers and values from models; either may be made to keep the
// kernel busy or to crash it.
//
// The law: text becomes a value only through [Decode], and a value is validated
// only after [Budget.Allows] or within a [TrialRun]. So depth, number of values,
// size of a number, the validator's stack and the number of its steps are all
// bounded, however a schema refers to itself. Decode accepts everything that
// [Encode] writes.
package limits

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The limits of a value. The validator recurses as deep as the value, each of its
// errors holds a path of that depth, and it computes numbers as exact fractions.
// So a hostile value would use depth, the number of values, or the size of a
// number.
const (
	maxDepth    = 1000      // levels of lists and objects
	maxBulk     = 4_000_000 // values, each counted as often as it is deep
	maxDigits   = 1000      // bytes of one number
	maxExponent = 1000      // either way
)

// Decode decodes one JSON value with nothing after it, and keeps numbers as
// written. It reports whether an object has a duplicate name; the last value
// wins, as everywhere in Go.
func Decode(text []byte) (value any, doubled bool, err error) {
	names, err := scanLimits(text)
	if err != nil {
		return nil, false, err
	}
	if value, ok := decodeLarge(text); ok {
		return value, names != countNames(value), nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return nil, false, syntaxError(err, text)
	}
	end := int(dec.InputOffset())
	if rest := bytes.TrimLeft(text[end:], " \t\r\n"); len(rest) > 0 {
		const format = "there is more after the end of the value, at byte %d: %s"
		return nil, false, fmt.Errorf(format, len(text)-len(rest), near(rest, 0))
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

// scanLimits scans the text of a value before it is decoded. It counts the names
// in objects and refuses text that is too deep, holds too many values, or a
// number that is too large. The decoder reports text that is not JSON.
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
				const format = "the number at byte %d (%s) is too large: at most %d digits and exponents to %d"
				return 0, fmt.Errorf(format, i, near(text[:end], i), maxDigits, maxExponent)
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

// IsSmallNumber reports whether the notation of a number is short enough to compute
// with it as an exact fraction.
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

// Encode encodes a value in canonical form: names sorted, no needless escapes. It
// refuses a value that Decode would refuse, such as deep JSON text inside deep
// JSON.
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
