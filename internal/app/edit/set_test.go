package edit_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/app/edit"
	"callgate/tool"
)

const settable = `# mine
app:
  id: demo # keep
tools:
  modules:
    http: {config: {timeout: 5}} # flow
    shell:
  capabilities:
    grant:
      - filesystem.read
    default: approve   # the word

runtime:
  max_turns: 50
`

func TestSet(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path, value string // value: JSON; "": the key goes
		old, new          string // what is replaced in the text; old "": new is at the end
	}{
		{"a number", "runtime.max_turns", `20`, "max_turns: 50", "max_turns: 20"},
		{"a word with a comment after it", "tools.capabilities.default", `"block"`, "default: approve ", "default: block "},
		{"in braces", "tools.modules.http.config.timeout", `9`, "timeout: 5", "timeout: 9"},
		{"a new key in braces", "tools.modules.http.config.retries", `2`, "timeout: 5}", "timeout: 5, retries: 2}"},
		{"a new key of a block", "runtime.timeout", `"5m"`, "max_turns: 50\n", "max_turns: 50\n  timeout: \"5m\"\n"},
		{"into a level that is empty", "tools.modules.shell.config.timeout", `3`, "    shell:\n",
			"    shell:\n      config:\n        timeout: 3\n"},
		{"a list", "tools.capabilities.grant", `["filesystem.read","shell.bash: ls *"]`, "grant:\n      - filesystem.read",
			`grant: [filesystem.read, "shell.bash: ls *"]`},
		{"a new level", "security.max_risk", `"low"`, "", "\nsecurity:\n  max_risk: low\n"},
		{"a key goes", "runtime.max_turns", "", "  max_turns: 50\n", ""},
		{"a key that is not there goes", "runtime.nothing", "", "", ""},
		{"text that looks like a number", "app.name", `"007"`, "id: demo # keep\n", "id: demo # keep\n  name: \"007\"\n"},
		{"text that looks like YAML", "app.name", `"a: &x *x {b} # c\n- d"`, "id: demo # keep\n",
			"id: demo # keep\n  name: \"a: &x *x {b} # c\\n- d\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := edit.Change{Path: strings.Split(tt.path, ".")}
			if tt.value != "" {
				if err := json.Unmarshal([]byte(tt.value), &c.Value); err != nil {
					t.Fatal(err)
				}
			}
			got, err := edit.Set([]byte(settable), []edit.Change{c})
			if err != nil {
				t.Fatal(err)
			}
			want := settable + tt.new
			if tt.old != "" {
				want = strings.Replace(settable, tt.old, tt.new, 1)
			}
			if string(got) != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		edit.Change
	}{
		"no path":                    {settable, edit.Change{Value: "x"}},
		"an empty key":               {settable, edit.Change{Path: []string{"app", ""}, Value: "x"}},
		"below a text":               {settable, edit.Change{Path: []string{"app", "id", "x"}, Value: "x"}},
		"below a list":               {settable, edit.Change{Path: []string{"tools", "capabilities", "grant", "0"}, Value: "x"}},
		"a null in the value":        {settable, edit.Change{Path: []string{"app"}, Value: map[string]any{"id": nil}}},
		"comments inside would go":   {settable, edit.Change{Path: []string{"app"}, Value: map[string]any{"id": "x"}}},
		"a text that is no YAML":     {"a: [", edit.Change{Path: []string{"app"}, Value: "x"}},
		"an alias that means more":   {"a: &x {b: 1}\nc: *x\n", edit.Change{Path: []string{"c", "b"}, Value: 2.0}},
		"a merge key that hides one": {"a: &x {b: 1}\nc:\n  <<: *x\n", edit.Change{Path: []string{"a", "b"}, Value: 2.0}},
	} {
		got, err := edit.Set([]byte(c.text), []edit.Change{c.Change})
		if err == nil || tool.KindOf(err) == "" {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// What is set reads back as it was given, whatever the text is, and setting it again
// changes nothing.
func FuzzSet(f *testing.F) {
	f.Add(settable, "tools.capabilities.default", `"block"`)
	f.Add("a: {b: [1, 2]} # x\n", "a.b", `{"c":[true,1.5,"x: y"]}`)
	f.Add("", "a.b", `{}`)
	f.Add("a:\r\n  b: |+\r\n    x\r\n\r\nc: 1", "c", `null`)
	f.Fuzz(func(t *testing.T, text, path, value string) {
		c := edit.Change{Path: strings.Split(path, ".")}
		if json.Unmarshal([]byte(value), &c.Value) != nil {
			return
		}
		once, err := edit.Set([]byte(text), []edit.Change{c})
		if err != nil {
			return
		}
		twice, err := edit.Set(once, []edit.Change{c})
		if err == nil && c.Value == nil && string(twice) != string(once) {
			t.Errorf("taken out twice: %q, %q", once, twice)
		}
	})
}
