package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"callgate/internal/gate/schema/diagnose"
	"callgate/internal/gate/schema/limits"
	"callgate/internal/gate/schema/phrase"
	"callgate/internal/gate/schema/walk"
)

// Mode limits the coercions of a check.
type Mode uint8

// The modes. The zero value is Lenient.
const (
	// Lenient tries every safe coercion: text that is exactly a number, a boolean
	// or null; a number or boolean where text is wanted; one value where a list is
	// wanted; JSON text where an object or a list is wanted; an allowed value in
	// another case; null for an optional property that does not accept it, as if
	// the property were absent.
	Lenient Mode = iota
	// Strict coerces only text that is, letter for letter, a JSON number or true
	// or false. It is for tools that can do harm: there a doubtful value is better
	// refused.
	Strict
	// Exact coerces nothing.
	Exact
)

// action is the change that a coercion makes to a value.
type action uint8

const (
	replace action = iota // another value replaces it
	wrap                  // it becomes a list of one
	drop                  // it is removed
)

// candidate is a coerced value, and the note that reports the coercion.
type candidate struct {
	value any
	note  string
	act   action
}

// read returns the safe coercion that may solve a complaint of the validator, if
// there is one.
func read(complaint, value any, mode Mode) (candidate, bool) {
	if mode == Exact {
		return candidate{}, false
	}
	switch k := complaint.(type) {
	case *kind.Type:
		return readType(value, k.Want, mode)
	case *kind.Enum:
		return matchEnum(value, k.Want, mode)
	case *kind.Const:
		return matchEnum(value, []any{k.Want}, mode)
	case *diagnose.Alternatives:
		if c, ok := matchEnum(value, k.Values, mode); ok {
			return c, true
		}
		// If the type of the value is allowed, only its content is wrong, and
		// another type would be a surprise.
		sameType := func(v any) bool { return phrase.TypeName(v) == phrase.TypeName(value) }
		if slices.ContainsFunc(k.Values, sameType) {
			return candidate{}, false
		}
		return readType(value, k.Types, mode)
	}
	return candidate{}, false
}

func readType(value any, want []string, mode Mode) (candidate, bool) {
	wants := func(t string) bool { return slices.Contains(want, t) }
	switch v := value.(type) {
	case string:
		if c, ok := readText(v, wants, mode); ok {
			return c, true
		}
		if v == "" {
			return candidate{}, false // empty text means no value, not a list of one
		}
	case json.Number:
		if wants("string") && mode == Lenient {
			shown := phrase.Truncate(string(v), phrase.MaxGot)
			note := fmt.Sprintf("the number %s taken as the text %q", shown, shown)
			return candidate{value: string(v), note: note}, true
		}
	case bool:
		if wants("string") && mode == Lenient {
			return candidate{value: fmt.Sprint(v), note: fmt.Sprintf(`%v taken as the text "%v"`, v, v)}, true
		}
	case nil, []any:
		return candidate{}, false
	}
	if wants("array") && mode == Lenient {
		return candidate{value: []any{value}, note: phrase.Quote(value) + " taken as a list of one", act: wrap}, true
	}
	return candidate{}, false
}

// readText returns the value that the whole text spells exactly.
func readText(text string, wants func(string) bool, mode Mode) (candidate, bool) {
	shown := phrase.Quote(text)
	if mode == Lenient {
		text = strings.TrimSpace(text)
	}
	if wants("number") || wants("integer") {
		if n, ok := readNumber(text, !wants("number")); ok {
			note := fmt.Sprintf("%s taken as the number %s", shown, phrase.Truncate(string(n), phrase.MaxGot))
			return candidate{value: n, note: note}, true
		}
	}
	if wants("boolean") {
		if b, ok := readBool(text, mode); ok {
			return candidate{value: b, note: fmt.Sprintf("%s taken as %v", shown, b)}, true
		}
	}
	if mode != Lenient {
		return candidate{}, false
	}
	if wants("null") && text == "null" {
		return candidate{value: nil, note: shown + " taken as null"}, true
	}
	if strings.HasPrefix(text, "{") && wants("object") || strings.HasPrefix(text, "[") && wants("array") {
		if v, _, err := limits.Decode([]byte(text)); err == nil {
			return candidate{value: v, note: "JSON text taken as " + phrase.Types([]string{phrase.TypeName(v)})}, true
		}
	}
	return candidate{}, false
}

// readNumber accepts text that is a JSON number from end to end. An integer is
// written without fraction and exponent, since not every reader of integers
// accepts 40.0 or 4e1.
func readNumber(text string, integer bool) (json.Number, bool) {
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return "", false
	}
	if !limits.IsSmallNumber(text) || !json.Valid([]byte(text)) {
		return "", false
	}
	if !integer {
		return json.Number(text), true
	}
	n, ok := new(big.Rat).SetString(text)
	if !ok || !n.IsInt() {
		return "", false
	}
	whole := n.Num().String()
	return json.Number(whole), limits.IsSmallNumber(whole)
}

func readBool(text string, mode Mode) (value, ok bool) {
	if mode == Lenient {
		text = strings.ToLower(text)
	}
	return text == "true", text == "true" || text == "false"
}

// matchEnum returns the only allowed value that a value spells.
func matchEnum(value any, members []any, mode Mode) (candidate, bool) {
	var found any
	n := 0
	for _, member := range members {
		if isSpelling(value, member, mode) && (n == 0 || !same(found, member)) {
			found = member
			n++
		}
	}
	if n != 1 {
		return candidate{}, false
	}
	return candidate{value: found, note: phrase.Quote(value) + " taken as " + phrase.Literal(found)}, true
}

// isSpelling reports whether value is member in another notation.
func isSpelling(value, member any, mode Mode) bool {
	switch v := value.(type) {
	case string:
		switch m := member.(type) {
		case json.Number:
			if mode == Lenient {
				v = strings.TrimSpace(v)
			}
			n, ok := readNumber(v, false)
			return ok && same(n, m)
		case bool:
			b, ok := readBool(v, mode)
			return ok && b == m
		case string:
			return mode == Lenient && strings.EqualFold(v, m)
		}
	case json.Number, bool:
		m, ok := member.(string)
		return ok && mode == Lenient && m == fmt.Sprint(v)
	}
	return false
}

// same reports whether two plain values are equal, numbers by their numeric value.
// Lists and objects are never the same here: no text spells them.
func same(a, b any) bool {
	x, ok1 := a.(json.Number)
	y, ok2 := b.(json.Number)
	if !ok1 || !ok2 {
		return !walk.IsContainer(a) && !walk.IsContainer(b) && a == b
	}
	p, ok1 := new(big.Rat).SetString(string(x))
	q, ok2 := new(big.Rat).SetString(string(y))
	return ok1 && ok2 && p.Cmp(q) == 0
}
