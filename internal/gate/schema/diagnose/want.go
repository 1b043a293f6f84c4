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

// phrase returns what was expected at one path and, if it is not simply the value,
// what came.
func (e explainer) phrase(p Problem, value any) (want, got string) {
	switch k := p.Kind.(type) {
	case *kind.Type:
		for _, sub := range walk.Locate(e.root, e.doc, p.At) {
			if text := describe(sub, 0); text != "" && sub.Location == p.schema {
				return text, ""
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
		return "at least " + phrase.Count(k.Want, "character"),
			phrase.Actual(value) + ", " + phrase.Count(k.Got, "character")
	case *kind.MaxLength:
		return "at most " + phrase.Count(k.Want, "character"),
			phrase.Actual(value) + ", " + phrase.Count(k.Got, "character")
	case *kind.FalseSchema:
		return "nothing here", ""
	case *kind.Not:
		for _, sub := range walk.Locate(e.root, e.doc, p.At) {
			if text := describeNot(sub); text != "" && sub.Location == p.schema {
				return text, ""
			}
		}
		return "anything but what the schema rules out", ""
	case *kind.OneOf:
		first, second := k.Subschemas[0]+1, k.Subschemas[1]+1
		return "to fit exactly one of the alternatives",
			phrase.Actual(value) + fmt.Sprintf(", which fits alternatives %d and %d", first, second)
	case *kind.RefCycle:
		return "a schema that does not refer to itself without end", ""
	}
	return rangeWanted(p.Kind)
}

// rangeWanted returns the wanted range of a number or of a count, and the count
// that came.
func rangeWanted(complaint any) (want, got string) {
	switch k := complaint.(type) {
	case *kind.Minimum:
		return numberWanted("at least ", k.Want), ""
	case *kind.Maximum:
		return numberWanted("at most ", k.Want), ""
	case *kind.ExclusiveMinimum:
		return numberWanted("more than ", k.Want), ""
	case *kind.ExclusiveMaximum:
		return numberWanted("less than ", k.Want), ""
	case *kind.MultipleOf:
		return numberWanted("a multiple of ", k.Want), ""
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
		return fmt.Sprintf("at least %s of the kind the schema asks for", phrase.Count(k.Want, "item")),
			fmt.Sprintf("%d of them", len(k.Got))
	case *kind.MaxContains:
		return fmt.Sprintf("at most %s of the kind the schema asks for", phrase.Count(k.Want, "item")),
			fmt.Sprintf("%d of them", len(k.Got))
	}
	return "what the schema asks for", ""
}

func numberWanted(start string, n *big.Rat) string {
	if n.IsInt() {
		return start + phrase.Truncate(n.Num().String(), phrase.MaxGot)
	}
	f, _ := n.Float64()
	return start + strconv.FormatFloat(f, 'g', -1, 64)
}
