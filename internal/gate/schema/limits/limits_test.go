package limits_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"callgate/internal/gate/schema"
	"callgate/internal/gate/schema/schematest"
	"callgate/tool"
)

func TestUnreadableArgumentsAreExplained(t *testing.T) {
	t.Parallel()
	s := schematest.Compile(t, schematest.Prop(`{"type":"string"}`))
	tests := []struct{ name, args, want string }{
		{"cut off", `{"x":"a`, "cut off after byte 7"},
		{"not JSON", `{x:1}`, "at byte 2"},
		{"more after the end", `{"x":"a"} {"x":"b"}`, `more after the end of the value, at byte 10: "{\"x\":\"b\"}"`},
		{"garbage after the end", `{"x":"a"}}`, "at byte 9"},
		{"too deep", strings.Repeat("[", 100_000), "nested more than 1000 levels"},
		{"too deep and closed", strings.Repeat("[", 1001) + strings.Repeat("]", 1001), "nested more than 1000 levels"},
		{"absurd exponent", `{"x":1e999999}`, "the number at byte 5"},
		{"absurd negative exponent", `{"x":-1E-999999999999999999999}`, "the number at byte 5"},
		{"absurdly long number", `{"x":` + strings.Repeat("9", 5000) + `}`, "the number at byte 5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := schematest.Refused(t, s, tt.args, schema.Lenient)
			if !strings.Contains(e.Message, tt.want) || len(e.Message) > 800 {
				t.Errorf("message %.300q, want it to hold %q", e.Message, tt.want)
			}
			if string(e.Example) != `{"x":"some x"}` || len(e.Schema) == 0 || e.Hint == "" {
				t.Errorf("the error lacks what helps: %+v", e)
			}
		})
	}
}

// A schema whose alternatives multiply would keep the validator busy without end.
func TestMultiplyingSchemasAreRefused(t *testing.T) {
	t.Parallel()
	t.Run("on one value", func(t *testing.T) {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/a0","$defs":{"z":{}`)
		for i := range 40 {
			next := "a" + string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10))
			name := "a" + string(rune('0'+i/10)) + string(rune('0'+i%10))
			if i == 0 {
				name = "a0"
			}
			b.WriteString(`,"` + name + `":{"allOf":[{"$ref":"#/$defs/` + next + `"},{"$ref":"#/$defs/` + next + `"}]}`)
		}
		b.WriteString(`,"a40":{"type":"object"}}}`)
		_, err := schema.Compile(json.RawMessage(b.String()))
		if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), "alternatives multiply") {
			t.Errorf("Compile: %v", err)
		}
	})
	t.Run("with each level", func(t *testing.T) {
		s := schematest.Compile(t,
			`{"anyOf":[{"properties":{"n":{"$ref":"#"}},"required":["a"]},{"properties":{"n":{"$ref":"#"}},"required":["b"]}]}`)
		e := schematest.Refused(t, s, strings.Repeat(`{"n":`, 200)+`{}`+strings.Repeat("}", 200), schema.Lenient)
		if !strings.Contains(e.Message, "alternatives multiply") {
			t.Errorf("message %q", e.Message)
		}
		schematest.Refused(t, s, `{"n":{"n":{"n":{}}}}`, schema.Lenient)
		if _, err := s.Check(json.RawMessage(`{"a":1,"n":{"b":1}}`), schema.Exact); err != nil {
			t.Error(err)
		}
	})
}

// Items share the cost of their schema, except those with a schema of their own.
func TestMultiplyingItemsAreRefused(t *testing.T) {
	t.Parallel()
	const light = `{"type":"array"}`
	const heavy = `{"anyOf":[{"items":{"$ref":"#/$defs/heavy"},"minItems":1,"type":"array"},` +
		`{"items":{"$ref":"#/$defs/heavy"},"maxItems":1,"type":"array"}]}`
	deep := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	tests := []struct {
		name, keywords string
		args           string
		ok             bool
	}{
		{"the first alike", `"items":` + heavy, `[` + deep + `]`, false},
		{"a later one alike", `"items":` + heavy, `[[],[],` + deep + `]`, false},
		{"one with a schema of its own",
			`"prefixItems":[` + light + `,` + heavy + `],"items":` + light, `[[],` + deep + `]`, false},
		{"one after those", `"prefixItems":[` + light + `,` + light + `],"items":` + heavy, `[[],[],` + deep + `]`, false},
		{"one before those", `"prefixItems":[` + light + `],"items":` + heavy, `[` + deep + `]`, true},
		{"one after a heavy one", `"prefixItems":[` + heavy + `],"items":` + light, `[[],` + deep + `]`, true},
		{"one of a kind", `"items":` + light + `,"contains":` + heavy, `[` + deep + `,[]]`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := schematest.Compile(t, `{"type":"array",`+tt.keywords+`,"$defs":{"heavy":`+heavy+`}}`)
			if tt.ok {
				if _, err := s.Check(json.RawMessage(tt.args), schema.Exact); err != nil {
					t.Error(err)
				}
				return
			}
			if e := schematest.Refused(t, s, tt.args, schema.Exact); !strings.Contains(e.Message, "alternatives multiply") {
				t.Errorf("message %q", e.Message)
			}
		})
	}
}

// doubling is a schema that costs twice the work for each level of a value.
const doubling = `{"anyOf":[{"type":"object","properties":{"n":{"$ref":"#/$defs/h"},"d":{"default":1}},` +
	`"required":["a"]},{"type":"object","properties":{"n":{"$ref":"#/$defs/h"}},"required":["b"]}]}`

func nested(levels int) string {
	return strings.Repeat(`{"n":`, levels) + `{}` + strings.Repeat("}", levels)
}

// Values inside a schema, and values built for it, must not keep the validator busy
// either.
func TestCostlyDefaultsAndExamplesAreLimited(t *testing.T) {
	t.Parallel()
	with := func(rest string) string { return `{"$defs":{"h":` + doubling + `},` + rest + `}` }
	t.Run("a default", func(t *testing.T) {
		s := schematest.Compile(t,
			with(`"properties":{"x":{"$ref":"#/$defs/h","default":`+nested(100)+`},"y":{"default":1}}`))
		out, err := s.Check(json.RawMessage(`{}`), schema.Lenient)
		if err != nil || string(out.Args) != `{"y":1}` {
			t.Errorf("Check: %s, %v", out.Args, err)
		}
	})
	t.Run("many defaults", func(t *testing.T) {
		var properties strings.Builder
		for i := range 500 {
			fmt.Fprintf(&properties, `"x%d":{"$ref":"#/$defs/h","default":%s},`, i, nested(14))
		}
		s := schematest.Compile(t, with(`"properties":{`+properties.String()+`"y":{}}`))
		if out, err := s.Check(json.RawMessage(`{}`), schema.Lenient); err != nil || string(out.Args) != `{}` {
			t.Errorf("Check: %s, %v", out.Args, err)
		}
	})
	t.Run("an example that is shown", func(t *testing.T) {
		s := schematest.Compile(t,
			with(`"properties":{"x":{"$ref":"#/$defs/h","examples":[`+nested(100)+`]}},"required":["x"]`))
		if got := string(s.Example()); got != `{"x":{"a":"some a"}}` {
			t.Errorf("Example() = %s", got)
		}
	})
	t.Run("an example that many schemas must accept", func(t *testing.T) {
		const pair = `{"anyOf":[{"type":"object","properties":{"n":{"$ref":"#/$defs/p"}},"required":["n"],` +
			`"maxProperties":1},{"type":"object","properties":{"n":{"$ref":"#/$defs/p"}},"required":["n","z"]},{"const":1}]}`
		schemas := strings.Repeat(`{"properties":{"x":{"$ref":"#/$defs/p"},"y":{"$ref":"#/$defs/p"}},"required":["x","y"]},`,
			999)
		s := schematest.Compile(t, `{"type":"object","allOf":[`+schemas+`{}],"$defs":{"p":`+pair+`}}`)
		if got := s.Example(); got != nil && s.CheckResult(got) != nil {
			t.Errorf("Example() = %s, which is not valid", got)
		}
	})
	t.Run("JSON text", func(t *testing.T) {
		s := schematest.Compile(t, with(`"properties":{"x":{"type":"object","$ref":"#/$defs/h"}}`))
		text, _ := json.Marshal(nested(100))
		e := schematest.Refused(t, s, `{"x":`+string(text)+`}`, schema.Lenient)
		if !strings.Contains(e.Message, "alternatives multiply") {
			t.Errorf("message %q", e.Message)
		}
	})
	t.Run("defaults of a value", func(t *testing.T) {
		list := `[{}` + strings.Repeat(`,{}`, 3000) + `]`
		fits := strings.Repeat(`{"a":1,"n":`, 12) + `{"b":1}` + strings.Repeat("}", 12)
		s := schematest.Compile(t, with(`"items":{"properties":{"x":{"$ref":"#/$defs/h","default":`+fits+`}}}`))
		if out, err := s.Check(json.RawMessage(list), schema.Lenient); err != nil || string(out.Args) != list {
			t.Errorf("Check: %d bytes, %v", len(out.Args), err)
		}
		out, err := s.Check(json.RawMessage(`[{}]`), schema.Lenient)
		if err != nil || !strings.HasPrefix(string(out.Args), `[{"x":{"a":1,`) {
			t.Errorf("Check: %s, %v", out.Args, err)
		}
	})
}

// A long default in each item of a long list would be too long in all.
func TestDefaultsAreLimitedInAll(t *testing.T) {
	t.Parallel()
	s := schematest.Compile(t, `{"items":{"properties":{"x":{"default":"`+strings.Repeat("a", 10_000)+`"}}}}`)
	for n, filled := range map[int]bool{50: true, 5000: false} {
		list := `[{}` + strings.Repeat(`,{}`, n-1) + `]`
		out, err := s.Check(json.RawMessage(list), schema.Lenient)
		if err != nil || (len(out.Args) > n*10_000) != filled || !filled && string(out.Args) != list {
			t.Errorf("%d items became %d bytes, %v", n, len(out.Args), err)
		}
	}
}

// The deepest accepted value must not be too deep for the validator.
func TestDeepestValueIsChecked(t *testing.T) {
	t.Parallel()
	s := schematest.Compile(t, `{"type":"array","items":{"$ref":"#"}}`)
	deep := strings.Repeat("[", 1000) + strings.Repeat("]", 1000)
	if out, err := s.Check(json.RawMessage(deep), schema.Lenient); err != nil || string(out.Args) != deep {
		t.Errorf("Check: %v", err)
	}
	e := schematest.Refused(t, s, strings.Repeat("[", 1000)+"{}"+strings.Repeat("]", 1000), schema.Exact)
	if !strings.Contains(e.Message, "1000 levels") {
		t.Errorf("message %q", e.Message)
	}
	schematest.Refused(t, s, strings.Repeat("[", 999)+"{}"+strings.Repeat("]", 999), schema.Exact)
}

// A long chain of references, once for every level of a deep value, would overflow
// the stack.
func TestLongChainsOfReferencesAreLimited(t *testing.T) {
	t.Parallel()
	s := schematest.Compile(t, longRow(300))
	if _, err := s.Check(json.RawMessage(`[[[]]]`), schema.Exact); err != nil {
		t.Error(err)
	}
	e := schematest.Refused(t, s, strings.Repeat("[", 900)+strings.Repeat("]", 900), schema.Exact)
	if !strings.Contains(e.Message, "too deep to be checked") {
		t.Errorf("message %q", e.Message)
	}
}

// Decode must accept the repaired value.
func TestJSONTextThatMakesAValueTooDeepIsRefused(t *testing.T) {
	t.Parallel()
	s := schematest.Compile(t, `{"type":"array","items":{"$ref":"#"}}`)
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	args := strings.Repeat("[", 600) + `"` + deep + `"` + strings.Repeat("]", 600)
	e := schematest.Refused(t, s, args, schema.Lenient)
	if !strings.Contains(e.Message, "nested more than 1000 levels") {
		t.Errorf("message %q", e.Message)
	}
}

func longRow(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"items":{"$ref":"#/$defs/d0"}}}}`, n)
	return b.String()
}
