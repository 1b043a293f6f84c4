package pipeline_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"callgate/internal/app/pipeline"
)

func TestRender(t *testing.T) {
	t.Parallel()
	look := func(r pipeline.Reference) (any, error) {
		if r.Step == "none" {
			return nil, errors.New("there is none")
		}
		if r.Step == "" {
			return pipeline.Find(map[string]any{"n": 7.0, "list": []any{"a", map[string]any{"b": true}}}, r.Path)
		}
		return "given", nil
	}
	for text, want := range map[string]string{
		"plain":                     `"plain"`,
		"{{input.n}}":               `7`,
		"{{ input.n }} of 9":        `"7 of 9"`,
		"{{input.list.1.b}}":        `true`,
		"{{input.list}}!":           `"[\"a\",{\"b\":true}]!"`,
		"{{steps.a.text}}{{input}}": `"given{\"list\":[\"a\",{\"b\":true}],\"n\":7}"`,
		`{{ "{{" }}x`:               `"{{x"`,
		"{{input.list.2}}":          "error",
		"{{input.n.x}}":             "error",
		"{{steps.none.output}}":     "error",
		"{{steps.a}}":               "error",
		"{{other}}":                 "error",
		"{{input":                   "error",
		"{{input..n}}":              "error",
		"{{steps.a.text.b}}":        "error",
	} {
		got := "error"
		if value, err := pipeline.Render(text, look); err == nil {
			data, _ := json.Marshal(value)
			got = string(data)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// FuzzRender renders any text: nothing that was put in is read as a reference.
func FuzzRender(f *testing.F) {
	f.Add("{{input.a.0}} and {{steps.x.output.y}}", "{{input}}")
	f.Add(`{{ "{{" }}`, "}}")
	f.Add("{{", "")
	f.Fuzz(func(t *testing.T, text, value string) {
		asked := 0
		got, err := pipeline.Render([]any{text}, func(r pipeline.Reference) (any, error) {
			asked++
			if again, err := pipeline.ParseReference(r.String()); err != nil || again.String() != r.String() {
				t.Errorf("%q is read back as %q, %v", r, again, err)
			}
			return value, nil
		})
		if asked > strings.Count(text, "{{") {
			t.Errorf("%d references in %q", asked, text)
		}
		if list, ok := got.([]any); err == nil && (!ok || len(list) != 1) {
			t.Errorf("got %v", got)
		}
	})
}
