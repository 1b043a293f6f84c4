package translate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/app"
	"callgate/internal/importer/translate"
)

// notes keeps what a person is told.
type notes []string

func (n *notes) Note(format string, args ...any) { *n = append(*n, fmt.Sprintf(format, args...)) }
func (n *notes) NeedSecret(name, why string)     { *n = append(*n, name+" ("+why+")") }
func (n *notes) OwnSecret(name string) string    { return "own_" + name }

func TestExpand(t *testing.T) {
	const all = translate.BareDollar | translate.Commands | translate.BracesEnv
	for _, c := range []struct {
		text   string
		syntax translate.Syntax
		want   string
		notes  notes
	}{
		{"plain {{x}} $5", 0, "plain {{{{x}} $5", nil},
		{"${SET}/x", 0, "{{env.SET}}/x", nil},
		{"${A}", 0, "{{env.A}}", notes{"the variable A is not set here: set it where the kernel is started"}},
		{"${A:-b} ${A:-${SET}} ${A:-it's}", 0, "{{env.A ?? b}} {{env.A ?? env.SET}} {{env.A ?? 'it's'}}", nil},
		{"{${SET}", 0, "{{'{'}}{{env.SET}}", nil},
		{"${workspaceFolder}${pathSeparator}${userHome}", 0, "{{workdir}}/{{env.HOME}}", nil},
		{"${workspaceFolderBasename}", 0, "demo", nil},
		{"${input:key}", 0, "{{secret.key}}", notes{`key (it asked for: "the key")`}},
		{"${API_TOKEN}", 0, "{{secret.API_TOKEN}}", notes{"API_TOKEN (it was taken from the variable API_TOKEN)"}},
		{"$SET {env:SET}", 0, "$SET {env:SET}", nil},
		{"$SET {env:SET}", all, "{{env.SET}} {{env.SET}}", nil},
		{"{file:k}", all, "{{secret.own_k}}", notes{`own_k (what the file "k" holds)`}},
		{`$(echo "a $SET")`, all, "a {{env.SET}}", nil},
		{"$(cat k)", all, "{{secret.own_cat k}}", notes{`own_cat k (what the command "cat k" prints)`}},
		{"${A", all, "${A", nil},
	} {
		var n notes
		translator := translate.Translator{
			Syntax: c.syntax, GOOS: "linux", Workspace: "/work/demo", SecretVars: true,
			Getenv: func(name string) string { return map[string]string{"SET": "x"}[name] },
			Inputs: map[string]string{"key": "the key"}, Notes: &n,
		}
		var text translate.Text
		translator.Expand(&text, c.text)
		if got := text.String(); got != c.want {
			t.Errorf("%q became %q, want %q", c.text, got, c.want)
		}
		if diff := cmp.Diff(c.notes, n); diff != "" {
			t.Errorf("%q: notes (-want +got):\n%s", c.text, diff)
		}
	}
}

// An app file reads a literal text back as it was.
func FuzzLiteral(f *testing.F) {
	for _, text := range []string{"", "a", "{{", "{{{", "{", "}}", "{{env.HOME}}", "{{{{a}}", "{{ secret.x }}"} {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, variable bool) {
		var written translate.Text
		written.Literal(text)
		if variable {
			written.Variable("workdir")
		}
		got, want := written.String(), text
		if variable {
			want += "."
		}
		if strings.TrimSpace(text) == "" || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) {
			return
		}
		a, err := app.Parse("callgate.yaml", fmt.Appendf(nil, "app: {description: %q}", got), nil)
		if err != nil || a.Description != want {
			t.Errorf("%q is written %q, and read %+v, %v", text, got, a, err)
		}
	})
}
