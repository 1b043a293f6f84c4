package example

import (
	"encoding/json"
	"math/big"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/gate/schema/limits"
	"callgate/internal/gate/schema/phrase"
)

// plainValues lists values of a plain type that all layers may accept, the most
// informative first.
func plainValues(t string, layers []*jsonschema.Schema, name string) []any {
	switch t {
	case "string":
		return texts(layers, name)
	case "integer", "number":
		return numbers(layers, t == "integer")
	case "boolean":
		return []any{true, false}
	default:
		return []any{nil}
	}
}

// texts lists texts for the formats and patterns, and the field's own name; then
// the same again, lengthened or shortened as required.
func texts(layers []*jsonschema.Schema, name string) []any {
	least, most := 0, maxText
	for _, s := range layers {
		if s.MinLength != nil {
			least = min(max(least, *s.MinLength), maxText)
		}
		if s.MaxLength != nil {
			most = min(most, max(0, *s.MaxLength))
		}
	}
	longer := func(text string) string {
		return text + strings.Repeat("x", max(0, least-utf8.RuneCountInString(text)))
	}
	shorter := func(text string) string {
		runes := []rune(text)
		return string(runes[:min(len(runes), most)])
	}
	var out, sized []any
	for _, s := range layers {
		var asked []string
		if s.Format != nil {
			asked = append(asked, phrase.Sample(s.Format.Name))
		}
		if s.Pattern != nil {
			asked = append(asked, matching(s.Pattern.String(), 1), matching(s.Pattern.String(), least))
		}
		for _, text := range asked {
			out = append(out, text)
			sized = append(sized, longer(text), shorter(longer(text)))
		}
	}
	out = append(out, filled(name))
	sized = append(sized, longer(filled(name)), shorter(longer(phrase.Truncate(name, phrase.MaxGot))))
	return append(out, sized...)
}

func numbers(layers []*jsonschema.Schema, integer bool) []any {
	one, half := big.NewRat(1, 1), big.NewRat(1, 2)
	near := []*big.Rat{one, new(big.Rat)}
	var steps []*big.Rat
	for _, s := range layers {
		for _, bound := range []*big.Rat{s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum} {
			if bound != nil {
				above, below := new(big.Rat).Add(bound, one), new(big.Rat).Sub(bound, one)
				near = append(near, bound, above, below, new(big.Rat).Mul(bound, half))
			}
		}
		if s.MultipleOf != nil {
			steps = append(steps, s.MultipleOf)
		}
	}
	if integer {
		steps = append(steps, one)
	}
	candidates := near
	for _, step := range steps {
		for _, n := range near {
			candidates = append(candidates, roundUp(n, step))
		}
	}
	var out []any
	for _, n := range candidates {
		if number := numberOf(n); limits.IsSmallNumber(number) {
			out = append(out, number)
		}
	}
	return out
}

// roundUp returns the least multiple of step that is not below n.
func roundUp(n, step *big.Rat) *big.Rat {
	q := new(big.Rat).Quo(n, step)
	whole := new(big.Int).Div(q.Num(), q.Denom())
	if !q.IsInt() {
		whole.Add(whole, big.NewInt(1))
	}
	return q.Mul(new(big.Rat).SetInt(whole), step)
}

// numberOf returns a fraction as a JSON number, exact if possible.
func numberOf(n *big.Rat) json.Number {
	if n.IsInt() {
		return json.Number(n.Num().String())
	}
	digits, _ := n.FloatPrec()
	return json.Number(n.FloatString(min(digits, maxDigits)))
}

// matching returns a short text that probably matches a pattern, with repeatable
// parts repeated the given number of times. The validator decides whether it does.
func matching(pattern string, times int) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	spell(re, times, &b)
	return b.String()
}

func spell(re *syntax.Regexp, times int, b *strings.Builder) {
	if b.Len() > maxText {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(friendly(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			spell(sub, times, b)
		}
	case syntax.OpAlternate:
		spell(re.Sub[0], times, b)
	case syntax.OpPlus, syntax.OpStar:
		for range max(times, 1) {
			spell(re.Sub[0], 1, b)
		}
	case syntax.OpRepeat:
		for range re.Min {
			spell(re.Sub[0], 1, b)
		}
	}
}

// friendly picks a letter or a digit from a class if it has one.
func friendly(class []rune) rune {
	for _, r := range "a1A-_ " {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= r && r <= class[i+1] {
				return r
			}
		}
	}
	if len(class) == 0 {
		return 'x'
	}
	return class[0]
}
