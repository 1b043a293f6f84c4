package question

import (
	"encoding/json"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"callgate/tool"
)

// maxReply is how many bytes a reply in words may have.
const maxReply = 64 << 10

// Value reads a reply to a field: a value of JSON, or what a person typed. It has the
// field's type then: string, float64, int64, bool, or []string. It is nil for no reply.
func (f *Field) Value(v any) (any, error) {
	if text, ok := v.(string); ok {
		if len(text) > maxReply {
			return nil, mistake("has more than %d bytes", maxReply)
		}
		if f.Type != Password {
			text = clean(text)
		}
		if f.Type != TextArea && f.Type != Password {
			text = strings.TrimSpace(text)
		}
		if v = text; text == "" {
			return nil, nil
		}
	}
	switch f.Type {
	case Boolean:
		return f.boolean(v)
	case Number, Range:
		return f.number(v)
	case Integer, Rating:
		return f.integer(v)
	case MultiSelect:
		return f.selected(v)
	}
	if v == nil {
		return nil, nil
	}
	text, ok := plainText(v)
	if !ok {
		return nil, mistake("must be text")
	}
	return f.text(text)
}

// mistake is what a person is told of one part of a reply.
func mistake(format string, args ...any) error {
	return tool.Errorf("question.Read", tool.Invalid, format, args...)
}

// messageOf is an error without where it is from.
func messageOf(err error) string {
	if e, ok := err.(*tool.Error); ok {
		return e.Message
	}
	return err.Error()
}

// plainText is a text, or a number or a truth as text.
func plainText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// clean takes out of a text what nobody sees and a model reads.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || r == utf8.RuneError || 0xE0000 <= r && r <= 0xE007F || 0x202A <= r && r <= 0x202E {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

func (f *Field) text(text string) (any, error) {
	if n := utf8.RuneCountInString(text); n < f.MinLength {
		return nil, mistake("needs at least %d characters, and has %d", f.MinLength, n)
	}
	if f.Pattern != "" && f.Type != Select {
		if whole, err := regexp.Compile(`^(?:` + f.Pattern + `)$`); err != nil || !whole.MatchString(text) {
			return nil, mistake("must match %s", f.Pattern)
		}
	}
	switch f.Type {
	case Select:
		return pick(text, f.Options)
	case Date:
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return nil, mistake("must be a date such as 2025-01-31, not %q", tool.Truncate(text))
		}
		return day.Format(time.DateOnly), nil
	case Email:
		if a, err := mail.ParseAddress(text); err != nil || a.Address != text {
			return nil, mistake("must be an address such as ann@example.org, not %q", tool.Truncate(text))
		}
	case URL:
		if u, err := url.Parse(text); err != nil || u.Scheme == "" || u.Host == "" {
			return nil, mistake("must be an address such as https://example.org, not %q", tool.Truncate(text))
		}
	}
	return text, nil
}

// pick finds an option, however its letters are written.
func pick(text string, options []string) (string, error) {
	if slices.Contains(options, text) {
		return text, nil
	}
	found := ""
	for _, o := range options {
		if !strings.EqualFold(o, text) {
			continue
		}
		if found != "" {
			return "", mistake("%q may mean two of the options", tool.Truncate(text))
		}
		found = o
	}
	if found == "" {
		return "", mistake("%q is not one of %s", tool.Truncate(text), strings.Join(options, ", "))
	}
	return found, nil
}

func parseBool(text string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "yes", "y", "true", "t", "on", "1", "approve", "approved", "ok":
		return true, true
	case "no", "n", "false", "f", "off", "0", "deny", "denied":
		return false, true
	}
	return false, false
}

func (f *Field) boolean(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	if b, ok := v.(bool); ok {
		return b, nil
	}
	if text, ok := plainText(v); ok {
		if b, ok := parseBool(text); ok {
			return b, nil
		}
	}
	return nil, mistake("must be yes or no")
}

func (f *Field) number(v any) (any, error) {
	n, ok, err := readNumber(v)
	if err != nil || !ok {
		return nil, err
	}
	return n, f.bounds(n)
}

func (f *Field) integer(v any) (any, error) {
	n, ok, err := readNumber(v)
	if err != nil || !ok {
		return nil, err
	}
	if n != math.Trunc(n) || math.Abs(n) > 1<<53 {
		return nil, mistake("must be a whole number")
	}
	if err := f.bounds(n); err != nil {
		return nil, err
	}
	return int64(n), nil
}

// readNumber reports false for no reply.
func readNumber(v any) (n float64, ok bool, err error) {
	if v == nil {
		return 0, false, nil
	}
	switch i := v.(type) {
	case int64:
		return float64(i), true, nil
	case int: // of a program
		return float64(i), true, nil
	}
	text, isText := plainText(v)
	if _, isBool := v.(bool); !isText || isBool {
		return 0, false, mistake("must be a number")
	}
	n, bad := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if bad != nil || math.IsNaN(n) || math.IsInf(n, 0) || strings.ContainsAny(text, "xXpP") {
		return 0, false, mistake("must be a number, not %q", tool.Truncate(text))
	}
	return n, true, nil
}

func (f *Field) bounds(n float64) error {
	switch {
	case f.Min != nil && f.Max != nil && (n < *f.Min || n > *f.Max):
		return mistake("must be from %v to %v", *f.Min, *f.Max)
	case f.Min != nil && n < *f.Min:
		return mistake("must be at least %v", *f.Min)
	case f.Max != nil && n > *f.Max:
		return mistake("must be at most %v", *f.Max)
	}
	if f.Step == nil {
		return nil
	}
	from := 0.0
	if f.Min != nil {
		from = *f.Min
	}
	steps := (n - from) / *f.Step
	if math.Abs(steps-math.Round(steps)) > 1e-6 {
		return mistake("must be %v and then in steps of %v", from, *f.Step)
	}
	return nil
}

func (f *Field) selected(v any) (any, error) {
	words, err := wordList(v, f.Options)
	if err != nil || len(words) == 0 {
		return nil, err
	}
	var chosen []string
	for _, w := range words {
		o, err := pick(w, f.Options)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(chosen, o) {
			chosen = append(chosen, o)
		}
	}
	switch n := float64(len(chosen)); {
	case f.Min != nil && n < *f.Min:
		return nil, mistake("choose at least %v", *f.Min)
	case f.Max != nil && n > *f.Max:
		return nil, mistake("choose at most %v", *f.Max)
	}
	return chosen, nil
}

// wordList reads several words: a list of JSON, or words between commas.
func wordList(v any, options []string) ([]string, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []string:
		return v, nil
	case string:
		return splitList(v, options), nil
	case []any:
		var words []string
		for _, one := range v {
			w, ok := plainText(one)
			if !ok {
				return nil, mistake("must be a list of texts")
			}
			words = append(words, strings.TrimSpace(w))
		}
		return words, nil
	}
	return nil, mistake("must be a list of texts")
}

// splitList splits words at their commas, but for one that is an option as it stands.
func splitList(text string, options []string) []string {
	text = strings.TrimSpace(text)
	if slices.Contains(options, text) {
		return []string{text}
	}
	var list []string
	if json.Unmarshal([]byte(text), &list) == nil {
		return list
	}
	for w := range strings.SplitSeq(text, ",") {
		if w = strings.TrimSpace(w); w != "" {
			list = append(list, w)
		}
	}
	return list
}

// ValueText is a value of a field as a person reads it.
func ValueText(v any) string {
	switch v := v.(type) {
	case nil:
		return "(nothing)"
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case []string:
		return strings.Join(v, ", ")
	case []any:
		words, _ := wordList(v, nil)
		return strings.Join(words, ", ")
	}
	if text, ok := plainText(v); ok {
		return text
	}
	return fmt.Sprint(v)
}
