package inforce_test

import (
	"slices"
	"testing"

	"callgate/internal/app"
	"callgate/internal/app/inforce"
)

// TestBuiltinOfTwoFiles: which modules MCP clients are given is the project's word,
// or the user's where the project leaves it open.
func TestBuiltinOfTwoFiles(t *testing.T) {
	t.Parallel()
	known := app.KnownModules{"shell": {}, "memory": {}}
	for _, c := range []struct{ project, user, want string }{
		{"app: {name: a}", "tools: {builtin: none}", "none"},
		{"tools: {builtin: all}", "tools: {builtin: none}", "all"},
		{"tools: {modules: {shell: }}", "tools: {builtin: none}", "all"},
		{"app: {name: a}", "tools: {modules: {shell: }}", "all"},
		{"app: {name: a}", "app: {name: b}", "auto"},
		{"runtime: {tool_injection: direct}", "tools: {builtin: none}", "none"},
	} {
		project, err := app.Parse("project", []byte(c.project+"\n"), known)
		if err != nil {
			t.Fatal(err)
		}
		user, err := app.Parse("user", []byte(c.user+"\nruntime: {tool_injection: discovery}\n"), known)
		if err != nil {
			t.Fatal(err)
		}
		both := inforce.Combine(project, user)
		if got := both.Surface.Builtin.Choice; got != c.want {
			t.Errorf("%s over %s: %s, want %s", c.project, c.user, got, c.want)
		}
		if both.Surface.Mode == "" {
			t.Errorf("%s over %s: no mode", c.project, c.user)
		}
	}
}

// TestModulesThatMustBeNamed: a module that needs settings is on where a project's file names
// it, or the user's.
func TestModulesThatMustBeNamed(t *testing.T) {
	t.Parallel()
	known := app.KnownModules{"shell": {}, "post": {NeedsSettings: true}}
	for _, c := range []struct {
		project, user string
		want          bool
	}{
		{"app: {name: a}", "app: {name: b}", false},
		{"app: {name: a}", "tools: {modules: {post: {}}}", true},
		{"tools: {modules: {post: {}}}", "app: {name: b}", true},
		{"tools: {modules: {shell: {}}}", "tools: {modules: {post: {}}}", true},
		{"tools: {modules: {shell: {}}}", "tools: {modules: {shell: {}}}", false},
	} {
		project, err := app.Parse("project", []byte(c.project+"\n"), known)
		if err != nil {
			t.Fatal(err)
		}
		user, err := app.Parse("user", []byte(c.user+"\n"), known)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(inforce.Combine(project, user).Modules, func(m app.Module) bool { return m.Name == "post" })
		if got != c.want {
			t.Errorf("%s over %s: %v", c.project, c.user, got)
		}
	}
}
