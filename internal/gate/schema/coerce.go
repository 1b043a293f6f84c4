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

// Mode says how far a check may go in reading a value as the schema wants it.
type Mode uint8

// The modes. The zero value is Lenient.
const (
	// Lenient tries every safe reading: text that is exactly a number, a
	// boolean or null; a number or boolean where text is wanted; one value
	// where a list is wanted; JSON text where an object or a list is wanted;
	// one of the allowed values but for its case; null for an optional
	// property that does not take it, as if the property were absent.
	Lenient Mode = iota
	// Strict takes only text that is, letter for letter, a JSON number or
	// true or false. It is for tools that can do harm: there, a value that
	// means something else than it says is better sent back.
	Strict
	// Exact takes nothing but what the schema says.
	Exact
)

// action is what a reading does with the value at its place.
type action uint8

const (
	replace action = iota // another value is put there
	wrap                  // it is put into a list of one
	drop                  // it is taken out
)

// candidate is a value as the schema wants it, and the words that tell of it.
type candidate struct {
	value any
	words string
	act   action
}

// read finds the safe reading that answers a complaint, if there is one.
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
		if r, ok := matchEnum(value, k.Values, mode); ok {
			return r, true
		}
		// Where the value's own type is welcome, only its content is wrong,
		// and making something else of it would be a surprise.
		if slices.ContainsFunc(k.Values, func(v any) bool { return phrase.TypeName(v) == phrase.TypeName(value) }) {
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
		if r, ok := readText(v, wants, mode); ok {
			return r, true
		}
		if v == "" {
			return candidate{}, false // no value at all, rather than a list of one
		}
	case json.Number:
		if wants("string") && mode == Lenient {
			return candidate{value: string(v), words: fmt.Sprintf("the number %s taken as the text %q", phrase.Truncate(string(v), phrase.MaxGot), phrase.Truncate(string(v), phrase.MaxGot))}, true
		}
	case bool:
		if wants("string") && mode == Lenient {
			return candidate{value: fmt.Sprint(v), words: fmt.Sprintf(`%v taken as the text "%v"`, v, v)}, true
		}
	case nil, []any:
		return candidate{}, false
	}
	if wants("array") && mode == Lenient {
		return candidate{value: []any{value}, words: phrase.Quote(value) + " taken as a list of one", act: wrap}, true
	}
	return candidate{}, false
}

// readText reads what a text spells, exactly and as a whole.
func readText(text string, wants func(string) bool, mode Mode) (candidate, bool) {
	shown := phrase.Quote(text)
	if mode == Lenient {
		text = strings.TrimSpace(text)
	}
	if wants("number") || wants("integer") {
		if n, ok := readNumber(text, !wants("number")); ok {
			return candidate{value: n, words: fmt.Sprintf("%s taken as the number %s", shown, phrase.Truncate(string(n), phrase.MaxGot))}, true
		}
	}
	if wants("boolean") {
		if b, ok := readBool(text, mode); ok {
			return candidate{value: b, words: fmt.Sprintf("%s taken as %v", shown, b)}, true
		}
	}
	if mode != Lenient {
		return candidate{}, false
	}
	if wants("null") && text == "null" {
		return candidate{value: nil, words: shown + " taken as null"}, true
	}
	if strings.HasPrefix(text, "{") && wants("object") || strings.HasPrefix(text, "[") && wants("array") {
		if v, _, err := limits.Decode([]byte(text)); err == nil {
			return candidate{value: v, words: "JSON text taken as " + phrase.Types([]string{phrase.TypeName(v)})}, true
		}
	}
	return candidate{}, false
}

// readNumber takes text that is a JSON number from end to end. An integer is
// written out, since not every reader of integers takes 40.0 or 4e1.
func readNumber(text string, integer bool) (json.Number, bool) {
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') || !limits.IsSmallNumber(text) || !json.Valid([]byte(text)) {
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

// matchEnum finds the one allowed value that a value spells.
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
	return candidate{value: found, words: phrase.Quote(value) + " taken as " + phrase.Literal(found)}, true
}

// isSpelling reports whether value says the same as member in another writing.
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

// same reports whether two plain values are equal, numbers by what they are
// worth. Lists and objects are never the same here: nothing spells them.
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
