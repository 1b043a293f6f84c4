package schema

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/gate/schema/limits"
	"callgate/internal/gate/schema/walk"
)

// 2.0, 2e0 and -0 are integers in JSON Schema, and not for every reader of
// integers: they are written 2, 2 and 0 where the schema wants an integer. The value
// stays exactly the same, so nobody is told.

// wantsInteger reports whether a schema itself allows integers and not all numbers.
func wantsInteger(s *jsonschema.Schema) bool {
	if s.Types == nil {
		return false
	}
	types := s.Types.ToStrings()
	return slices.Contains(types, "integer") && !slices.Contains(types, "number")
}

// writeIntegers writes the integers of a valid value as plain digits, and reports
// whether any was written otherwise.
func (s *Schema) writeIntegers(value any) (_ any, changed bool) {
	if !s.integers {
		return value, false
	}
	w := wholeNumbers{}
	w.find(value, nil)
	for _, n := range w.found {
		if !slices.ContainsFunc(walk.Locate(s.root, value, n.at), wantsInteger) {
			continue
		}
		if next, ok := walk.Replace(value, n.at, n.plain); ok {
			value, changed = next, true
		}
	}
	return value, changed
}

// wholeNumbers collects the whole numbers of a value that are not written as plain
// digits. There are few in real arguments, and finding the schema of each costs time:
// beyond maxCoercions they stay as they are.
type wholeNumbers struct{ found []wholeNumber }

type wholeNumber struct {
	at    []string
	plain json.Number
}

func (w *wholeNumbers) find(value any, at []string) {
	if len(w.found) >= maxCoercions {
		return
	}
	switch v := value.(type) {
	case json.Number:
		if plain, ok := plainInteger(string(v)); ok {
			w.found = append(w.found, wholeNumber{slices.Clone(at), plain})
		}
	case []any:
		for i, item := range v {
			w.find(item, append(at, strconv.Itoa(i)))
		}
	case map[string]any:
		for name, item := range v {
			w.find(item, append(at, name))
		}
	}
}

// plainInteger returns the digits of a whole number that is written in another way.
func plainInteger(text string) (json.Number, bool) {
	if text != "-0" && !strings.ContainsAny(text, ".eE") || !limits.IsSmallNumber(text) {
		return "", false
	}
	n, ok := new(big.Rat).SetString(text)
	if !ok || !n.IsInt() {
		return "", false
	}
	whole := n.Num().String()
	return json.Number(whole), limits.IsSmallNumber(whole)
}
