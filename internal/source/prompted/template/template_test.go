package template_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"callgate/internal/source/prompted/template"
)

func TestRender(t *testing.T) {
	const values = `{
		"name": "Ada", "none": null, "n": 3, "yes": true, "empty": "",
		"user": {"first name": 1, "city": {"name": "Rome"}, "tags": ["a", "b"]},
		"list": ["x", {"k": "<&>"}, null, 2],
		"trick": "{{secret}}", "secret": "hidden", "_x1": "under"
	}`
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"plain", "plain"},
		{"Hello {{name}}!", "Hello Ada!"},
		{"{{ name }}{{\tname\n}}", "AdaAda"},
		{"{{none}}|{{empty}}|{{n}}|{{yes}}", "||3|true"},
		{"{{user.city.name}} {{user.tags.1}}", "Rome b"},
		{"{{user.tags}}", `["a","b"]`},
		{"{{list}}", `["x",{"k":"<&>"},null,2]`},
		{"{{list.1.k}}", "<&>"},
		{"{{trick}}", "{{secret}}"},
		{"{{_x1}}", "under"},
		{"{name} {{1x}} {{}} {{ }} {{a-b}} {{name", "{name} {{1x}} {{}} {{ }} {{a-b}} {{name"},
		{"{{{name}}}", "{Ada}"},
		{"{{user.tags | numbered}}", "1. a\n2. b"},
		{"{{user.tags|numbered 0}}", "0. a\n1. b"},
		{"{{list | bulleted}}", "- x\n- {\"k\":\"<&>\"}\n- \n- 2"},
		{"{{none | bulleted}}", ""},
	} {
		if got := render(t, test.text, values); got != test.want {
			t.Errorf("%q gives %q, want %q", test.text, got, test.want)
		}
	}
}

func render(t *testing.T, text, values string) string {
	t.Helper()
	parsed, err := template.Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	got, err := parsed.Render(decode(t, values))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return got
}

func decode(t *testing.T, text string) (values map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

func TestWhatHasNoValue(t *testing.T) {
	for _, test := range []struct{ text, values, want string }{
		{"{{nmae}}", `{"name": 1, "age": 2}`, "the variable nmae has no value; there are age, name"},
		{"{{x}}", `{}`, "the variable x has no value, and neither has any other"},
		{"{{user.name}}", `{"user": {}}`, "the variable user.name has no value: there is no name in user"},
		{"{{user.a.b}}", `{"user": {"a": null}}`, "there is no b in user.a"},
		{"{{l.2}}", `{"l": [1, 2]}`, "there is no 2 in l"},
		{"{{l.x}}", `{"l": [1, 2]}`, "there is no x in l"},
		{"{{l | bulleted}}", `{"l": "text"}`, "the variable l is no list, which bulleted wants"},
	} {
		parsed, err := template.Parse(test.text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parsed.Render(decode(t, test.values)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"{{x | upper}}", "{{x | upper}}: there is no filter upper; there are numbered, bulleted"},
		{"{{x | bulleted 3}}", "only numbered takes a number"},
	} {
		if _, err := template.Parse(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
}

func TestVariables(t *testing.T) {
	parsed, err := template.Parse("{{b.c}} {{a}} {{b.d}} {{x | numbered}}")
	if err != nil {
		t.Fatal(err)
	}
	if got := parsed.Variables(); !slices.Equal(got, []string{"b", "a", "x"}) {
		t.Errorf("the variables are %v", got)
	}
}

// FuzzRender checks that what a value says never has an effect of its own.
func FuzzRender(f *testing.F) {
	f.Add("a {{x}} b {{y.0}}", "{{secret}}")
	f.Add("{{x | numbered}}{{{{x}}}}", "}}{{")
	f.Fuzz(func(t *testing.T, text, value string) {
		parsed, err := template.Parse(text)
		if err != nil {
			return
		}
		const mark = "\x00SECRET\x00"
		got, err := parsed.Render(map[string]any{"x": value, "y": []any{value}, "secret": mark})
		if err != nil {
			return
		}
		if strings.Contains(got, mark) && !slices.Contains(parsed.Variables(), "secret") {
			t.Errorf("%q with %q reached another variable: %q", text, value, got)
		}
		if len(parsed.Variables()) == 0 && got != text {
			t.Errorf("%q has no variable, and became %q", text, got)
		}
	})
}
