package edit_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"callgate/internal/app"
	"callgate/internal/app/edit"
	"callgate/internal/app/starter"
	"callgate/internal/gate/policy"
	"callgate/tool"
)

// oddities are files that the examples do not have: what people get wrong, and
// what YAML permits all the same.
var oddities = []string{
	"app:\n  name: 'it''s'\n  description: >+\n    a\n\n    b\n\n\n",
	"app: {name: x,\n  version: '1'\n  }\ntools: {modules: {\n  mcp: {config: {servers: {a: {command: x},}}}}}\n",
	"tools:\n  modules:\n    mcp:\n      config:\n        servers:\n          a:\n            command: |+\n              x\n\n\n          b:\n            command: y\n",
	"tools:\n  modules:\n    mcp:\n      config:\n        servers:\n          a: {command: \"x\n\n            y\"}\n  dirs:\n  - a\n",
	"tools:\n  modules:\n    mcp: {config: {servers: {'a': {\"command\": x, env: {A: '#', B: \"}\" }}}}} # {\n",
	"tools:\n  dirs:\n  - a\n  # b\n  - c\n  modules:\n\n    mcp:\n\n      config:\n\n        servers:\n\n          a:\n\n            command: x\n\n",
	"tools:\n  modules:\n    mcp:\n      config:\n        servers:\n          a:\n            command: x\n# at the margin\n          b:\n            command: y\n",
	"tools:\n  capabilities:\n    deny:\n    - {module: shell, actions: [bash]}\n    rate_limits: {\"*\": 5}\n  modules: {shell: , filesystem: {constraints: {allowed_actions: [read]}}}\n",
	"app:\n  name: x\ntools:\n  capabilities:\n    default_policy: auto\nsecurity: {require_pinning: true}\nsearch:\n  synonyms: [[a, b]]\ndev:\n  variables: {root: /srv}\n",
	"# a\r\napp:\r\n  name: x\r\n\r\n# b\r\ntools:\r\n  modules:\r\n    shell:\r\n",
	"app:\n  nmae: x\n", "apps:\n", "tools:\n  modules:\n    mcp:\n      servers: {}\n", "app: {name: a}\n---\napp: {name: b}\n",
	"%YAML 1.2\n---\napp: {}\n", "app:\n  name: \"{{env.CALLGATE_NOT_SET}}\"\n", "app:\n  app_id: \"{{env.CALLGATE_NOT_SET}}\"\n",
}

// FuzzEdit makes edits of any text: each is an error, or a file that says what
// was asked for and all that it said before.
func FuzzEdit(f *testing.F) {
	verbs := []byte{0, 1, 2, 3, 4, 5}
	for i, e := range examples(f) {
		f.Add([]byte(e.before), verbs[i%len(verbs)], "files", "npx", "-y|some-server", "TOKEN")
		f.Add([]byte(e.after), verbs[(i+1)%len(verbs)], "a", "x y", "1|true|# {{", "A: b")
	}
	for i, text := range append(oddities, string(starter.Text("demo"))) {
		f.Add([]byte(text), verbs[i%len(verbs)], "a", "x", "a\nb|'|\"", "é")
		f.Add([]byte(text), verbs[(i+1)%len(verbs)], "b", "x", "", "k")
	}
	f.Fuzz(func(t *testing.T, text []byte, verb byte, name, a, b, c string) {
		s := made(verb/3, name, a, b, c)
		var out []byte
		var err error
		switch verb % 3 {
		case 0:
			out, err = edit.AddServer(text, s, builtin)
		case 1:
			out, err = edit.ReplaceServer(text, s)
		default:
			out, err = edit.RemoveServer(text, name)
		}
		if err != nil {
			if out != nil || tool.KindOf(err) == "" {
				t.Fatalf("%q, %v", out, err)
			}
			return // refused, and nothing is lost; a text that ends in the middle of a block cannot be added to, say
		}
		if verb%3 == 0 {
			if lost := missing(plain(string(text)), plain(string(out))); len(lost) > 1 {
				t.Fatalf("lost %q of\n%s\nin\n%s", lost, text, out)
			}
		}
		compare(t, text, out, s, verb%3 < 2)
	})
}

// plain has one kind of line end.
func plain(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\ufeff", "").Replace(text)
}

// made makes a server of a few texts.
func made(kind byte, name, a, b, c string) app.Server {
	s := app.Server{Name: name, Command: a}
	if b != "" {
		s.Args = strings.Split(b, "|")
	}
	switch kind % 4 {
	case 1:
		s.Env = map[string]string{c: a, "LAST": b}
	case 2:
		s.Command, s.Args, s.URL, s.Headers = "", nil, "https://"+a, map[string]string{c: b}
		s.OAuth = &app.OAuth{Scopes: slices.DeleteFunc(strings.Split(c, "|"), func(s string) bool { return s == "" })}
	case 3:
		s.Pin, s.Concurrency = true, len(c)
		s.Tools = map[string]app.ServerTool{c: {Effects: []tool.Effect{{Resource: c, Mode: tool.S}}}, b: {Off: true}}
	}
	return s
}

// compare checks an edit without the help of the package: what package app
// reads before and after differs in one server, which is there or not.
func compare(t *testing.T, text, out []byte, s app.Server, there bool) {
	t.Helper()
	before, err := app.Parse(app.Filename, text, known)
	if err != nil {
		if before, err = app.Parse(app.Filename, append([]byte("app:\n"), text...), known); err != nil {
			return // its variables or modules are unknown here
		}
	}
	after, err := app.Parse(app.Filename, out, known)
	if err != nil {
		t.Fatalf("%v\nafter an edit of\n%s", err, text)
	}
	got := take(after, s.Name)
	take(before, s.Name)
	if there != (got != nil) {
		t.Fatalf("%q is there: %v\n%s", s.Name, got != nil, out)
	}
	if there && !strings.Contains(fmt.Sprint(s)+string(text), "{{") {
		if diff := cmp.Diff(s, *got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-want +got):\n%s\n%s", diff, out)
		}
	}
	diff := cmp.Diff(before, after, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(app.App{}, "Warnings", "env"),
		cmpopts.SortSlices(func(a, b app.Module) bool { return a.Name < b.Name }),
		cmp.Comparer(func(a, b *policy.Rules) bool { return reflect.DeepEqual(a, b) }))
	if diff != "" {
		t.Fatalf("(-before +after):\n%s\n%s", diff, out)
	}
}

// take takes a server out of an app.
func take(a *app.App, name string) *app.Server {
	i := slices.IndexFunc(a.Servers, func(s app.Server) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	s := a.Servers[i]
	a.Servers = slices.Delete(a.Servers, i, i+1)
	return &s
}
