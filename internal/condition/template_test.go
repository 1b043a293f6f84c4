package condition_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/condition"
	"callgate/tool"
)

func TestTemplate(t *testing.T) {
	in := values(t, sample)
	for source, want := range map[string]string{
		`{"n": "{{ result.count }}"}`:                                                `{"n":7}`,
		`{"n": "{{result.items[*].x}}"}`:                                             `{"n":[1,2]}`,
		`{"n": "{{result.missing}}"}`:                                                `{"n":null}`,
		`{"t": "it is {{result.state}}, {{result.count}}"}`:                          `{"t":"it is done, 7"}`,
		`{"t": "[{{result.missing}}]"}`:                                              `{"t":"[]"}`,
		`{"t": "all: {{result.items[0]}}"}`:                                          `{"t":"all: {\"state\":\"failed\",\"x\":1}"}`,
		`{"t": "{{ \"{{\" }} and {{ '}}' }}"}`:                                       `{"t":"{{ and }}"}`,
		`{"a": ["{{count}}", {"b": "{{check.number}}"}], "c": 12345678901234567890}`: `{"a":[7,{"b":3}],"c":12345678901234567890}`,
		`"{{result.count > 5}}"`:                                                     `true`,
		`{"plain": "no place } } {"}`:                                                `{"plain":"no place } } {"}`,
		``:                                                                           `null`,
	} {
		c, err := condition.CompileTemplate(json.RawMessage(source), watcher)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		got, err := c.Render(in)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", source, got, err)
		}
		if c.Fixed() == strings.Contains(source, "{{") {
			t.Errorf("%s: fixed %v", source, c.Fixed())
		}
		if again, _ := c.Render(in); string(again) != want {
			t.Errorf("%s: the second time %s", source, again)
		}
	}
}

func TestTemplateRefused(t *testing.T) {
	for source, says := range map[string]string{
		`{"a": {"b": "{{ check.nothing }}"}}`: "a.b: the expression is wrong at character 1: check has no field nothing",
		`{"a": "{{ result.x "}`:               "has no }}",
		`{"a": "{{ }}"}`:                      "it is empty",
		`{"a": 1} 2`:                          "something follows",
		`{"a": `:                              "no JSON",
	} {
		_, err := condition.CompileTemplate(json.RawMessage(source), watcher)
		if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", source, err)
		}
	}
}

func TestTemplateBounded(t *testing.T) {
	in := map[string]any{"result": strings.Repeat("x", 400_000)}
	for _, source := range []string{`"{{result}}{{result}}{{result}}"`, `["{{result}}", "{{result}}", "{{result}}"]`} {
		c, err := condition.CompileTemplate(json.RawMessage(source), watcher)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Render(in); err == nil || !strings.Contains(err.Error(), "larger than") {
			t.Errorf("%s: %d bytes, %v", source, len(got), err)
		}
	}
}

func TestText(t *testing.T) {
	c, err := condition.CompileText("{{tool.name}} in turn {{turns}}: {{tool.params.a[-1]}}", hook)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Text(map[string]any{"turns": 3, "tool": map[string]any{"name": "fs.read",
		"params": map[string]any{"a": []any{"x", "y<z"}}}})
	if err != nil || got != "fs.read in turn 3: y<z" {
		t.Errorf("%q, %v", got, err)
	}
}

// Where the Env is Safe, a path that leads nowhere is nothing, whatever it leads through.
func TestSafePaths(t *testing.T) {
	env := condition.Env{Roots: map[string]condition.Type{"result": {}}, Safe: true}
	in := map[string]any{"result": map[string]any{"text": "a", "n": 7, "items": []any{map[string]any{"id": "x"}, "last"}}}
	for source, want := range map[string]string{
		"{{result.items.-1}}": "last", "{{result.items.-2.id}}": "x", "{{result.items.0.id}}": "x",
		"<{{result.text.deeper.still}}>": "<>", "<{{result.n[0]}}>": "<>", "<{{result.items.id}}>": "<>",
		"<{{result.items.-9.id}}>": "<>", "<{{result.items['x']}}>": "<>", "<{{result.text[*]}}>": "<>",
	} {
		c, err := condition.CompileText(source, env)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, err := c.Text(in); err != nil || got != want {
			t.Errorf("%s: %q, %v", source, got, err)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add(`{"a": "{{ result.x }} and {{ '}}' }}"}`)
	f.Add(`["{{", "}}", "{{{{}}}}"]`)
	f.Fuzz(func(t *testing.T, source string) {
		c, err := condition.CompileTemplate(json.RawMessage(source), watcher)
		if err != nil {
			return
		}
		if got, err := c.Render(map[string]any{"result": map[string]any{"x": []any{1, "a"}}}); err == nil && !json.Valid(got) {
			t.Fatalf("%q became %q", source, got)
		}
	})
}
