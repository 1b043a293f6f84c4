package diagnose

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"callgate/internal/gate/schema/phrase"
	"callgate/internal/gate/schema/walk"
)

// phrase says what was wanted at one place and, where it is not simply the
// value, what came.
func (t explainer) phrase(f Problem, value any) (want, got string) {
	switch k := f.Kind.(type) {
	case *kind.Type:
		for _, sub := range walk.Locate(t.root, t.doc, f.At) {
			if said := describe(sub, 0); said != "" && sub.Location == f.schema {
				return said, ""
			}
		}
		return phrase.Types(k.Want), ""
	case *Alternatives:
		var either []string
		if len(k.Types) > 0 {
			either = append(either, phrase.Types(k.Types))
		}
		if len(k.Values) > 0 {
			either = append(either, phrase.Enum(k.Values))
		}
		return strings.Join(either, ", or "), ""
	case *kind.Enum:
		return phrase.Enum(k.Want), ""
	case *kind.Const:
		return phrase.Literal(k.Want), ""
	case *kind.Format:
		if k.Want == "regex" {
			return fmt.Sprintf("a regular expression (%v)", k.Err), ""
		}
		return phrase.Format(k.Want), ""
	case *kind.Pattern:
		return "text that matches the pattern " + phrase.Truncate(k.Want, 2*phrase.MaxGot), ""
	case *kind.MinLength:
		return "at least " + phrase.Count(k.Want, "character"), phrase.Actual(value) + ", " + phrase.Count(k.Got, "character")
	case *kind.MaxLength:
		return "at most " + phrase.Count(k.Want, "character"), phrase.Actual(value) + ", " + phrase.Count(k.Got, "character")
	case *kind.FalseSchema:
		return "nothing here", ""
	case *kind.Not:
		for _, sub := range walk.Locate(t.root, t.doc, f.At) {
			if said := describeNot(sub); said != "" && sub.Location == f.schema {
				return said, ""
			}
		}
		return "anything but what the schema rules out", ""
	case *kind.OneOf:
		return "to fit exactly one of the alternatives", phrase.Actual(value) + fmt.Sprintf(", which fits alternatives %d and %d", k.Subschemas[0]+1, k.Subschemas[1]+1)
	case *kind.RefCycle:
		return "a schema that does not refer to itself without end", ""
	}
	return rangeWords(f.Kind)
}

// rangeWords says what was wanted of a number, or of how many there are.
func rangeWords(complaint any) (want, got string) {
	switch k := complaint.(type) {
	case *kind.Minimum:
		return numberWords("at least ", k.Want), ""
	case *kind.Maximum:
		return numberWords("at most ", k.Want), ""
	case *kind.ExclusiveMinimum:
		return numberWords("more than ", k.Want), ""
	case *kind.ExclusiveMaximum:
		return numberWords("less than ", k.Want), ""
	case *kind.MultipleOf:
		return numberWords("a multiple of ", k.Want), ""
	case *kind.MinItems:
		return "at least " + phrase.Count(k.Want, "item"), phrase.Count(k.Got, "item")
	case *kind.MaxItems:
		return "at most " + phrase.Count(k.Want, "item"), phrase.Count(k.Got, "item")
	case *kind.AdditionalItems:
		return phrase.Count(k.Count, "item") + " fewer", ""
	case *kind.UniqueItems:
		return "no two items alike", fmt.Sprintf("items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.MinProperties:
		return "at least " + phrase.Count(k.Want, "field"), phrase.Count(k.Got, "field")
	case *kind.MaxProperties:
		return "at most " + phrase.Count(k.Want, "field"), phrase.Count(k.Got, "field")
	case *kind.Contains:
		return "at least one item of the kind the schema asks for", ""
	case *kind.MinContains:
		return fmt.Sprintf("at least %s of the kind the schema asks for", phrase.Count(k.Want, "item")), fmt.Sprintf("%d of them", len(k.Got))
	case *kind.MaxContains:
		return fmt.Sprintf("at most %s of the kind the schema asks for", phrase.Count(k.Want, "item")), fmt.Sprintf("%d of them", len(k.Got))
	}
	return "what the schema asks for", ""
}

func numberWords(start string, n *big.Rat) string {
	if n.IsInt() {
		return start + phrase.Truncate(n.Num().String(), phrase.MaxGot)
	}
	f, _ := n.Float64()
	return start + strconv.FormatFloat(f, 'g', -1, 64)
}
