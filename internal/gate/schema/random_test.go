package schema_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"callgate/internal/gate/schema"
)

// TestLawsOnRandomSchemas checks random values under random schemas and asserts
// the laws of every check. People seldom write such schemas: alternatives in
// alternatives, defaults everywhere, references to themselves.
func TestLawsOnRandomSchemas(t *testing.T) {
	t.Parallel()
	const rounds = 150
	for seed := range uint64(rounds) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		doc := g.schema(3).(map[string]any)
		doc["$defs"] = map[string]any{"a": g.schema(2), "b": g.schema(2)}
		if g.IntN(3) == 0 {
			doc["$schema"] = "http://json-schema.org/draft-07/schema#"
		}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		s, twin := twins(t, text)
		if s == nil {
			t.Fatalf("seed %d: %s does not compile", seed, text)
		}
		for range 4 {
			args, err := json.Marshal(g.value(3))
			if err != nil {
				t.Fatal(err)
			}
			for _, mode := range []schema.Mode{schema.Lenient, schema.Strict, schema.Exact} {
				checkLaws(t, s, args, mode)
			}
			checkTexts(t, s, twin, args)
		}
	}
}

type generator struct{ *rand.Rand }

func (g generator) one(of ...any) any { return of[g.IntN(len(of))] }

func (g generator) name() string { return fmt.Sprint(g.one("a", "b", "c", "d")) }

// schema makes a valid schema of at most depth levels.
func (g generator) schema(depth int) any {
	s := map[string]any{}
	if g.IntN(3) > 0 {
		s["type"] = g.one("object", "object", "array", "string", "integer", "number", "boolean", "null",
			[]any{"integer", "null"}, []any{"string", "boolean"})
	}
	if g.IntN(4) == 0 {
		s["default"] = g.value(2)
	}
	for range g.IntN(3) {
		g.keyword(s)
	}
	if depth == 0 {
		return s
	}
	for range 1 + g.IntN(3) {
		g.applicator(s, depth-1)
	}
	return s
}

func (g generator) keyword(s map[string]any) {
	switch g.IntN(9) {
	case 0:
		s["enum"] = []any{g.plain(), "Zed", json.Number("77")}
	case 1:
		s["const"] = g.plain()
	case 2:
		s["minimum"] = g.one(1, 2.5)
	case 3:
		s["maxLength"] = g.IntN(3)
	case 4:
		s["minItems"] = g.IntN(3)
	case 5:
		s["required"] = []any{g.name()}
	case 6:
		s["format"] = g.one("date", "email", "uuid")
	case 7:
		s["uniqueItems"] = true
	case 8:
		s["dependentRequired"] = map[string]any{g.name(): []any{g.name()}}
	}
}

func (g generator) applicator(s map[string]any, depth int) {
	subs := func() []any { return []any{g.schema(depth), g.schema(depth)} }
	switch g.IntN(14) {
	case 0, 1, 2, 3:
		s["properties"] = map[string]any{g.name(): g.schema(depth), g.name(): g.schema(depth)}
	case 4:
		s["additionalProperties"] = g.one(false, g.schema(depth))
	case 5:
		s["items"] = g.schema(depth)
	case 6:
		s["allOf"] = subs()
	case 7:
		s["anyOf"] = subs()
	case 8:
		s["oneOf"] = subs()
	case 9:
		s["$ref"] = g.one("#", "#/$defs/a", "#/$defs/b")
	case 10:
		s["not"] = g.schema(0)
	case 11:
		s["if"], s["then"], s["else"] = g.schema(0), g.schema(depth), g.schema(depth)
	case 12:
		s["unevaluatedProperties"] = g.one(false, g.schema(0))
	case 13:
		s["propertyNames"] = g.one(map[string]any{"enum": []any{"a", "b"}}, map[string]any{"maxLength": 1})
	}
}

func (g generator) plain() any {
	return g.one(nil, true, json.Number("1"), json.Number("3.0"), json.Number("2.5"),
		"a", "", "5", "true", "null", "zed", "[1]", `{"a":"5"}`, "2026-01-31")
}

func (g generator) value(depth int) any {
	switch {
	case depth == 0 || g.IntN(4) == 0:
		return g.plain()
	case g.IntN(4) == 0:
		return []any{g.value(depth - 1), g.value(depth - 1)}
	default:
		return map[string]any{g.name(): g.value(depth - 1), g.name(): g.value(depth - 1), g.name(): g.value(depth - 1)}
	}
}
