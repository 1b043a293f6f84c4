package starter_test

import (
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/app"
	"callgate/internal/app/starter"
	"callgate/internal/gate/policy"
	"callgate/tool"
)

func verdict(t *testing.T, a *app.App, dotted string, r tool.Runtime) policy.Verdict {
	t.Helper()
	module, action, err := tool.ParseDotted(dotted)
	if err != nil {
		t.Fatal(err)
	}
	subject := &tool.Tool{ID: tool.ID{Namespace: module, Name: action}, Runtime: r}
	return policy.Decide(a.Rules, subject, tool.Principal{}).Verdict
}

// real are the modules that exist: the file may name no others.
var real = app.KnownModules{
	"filesystem": {Actions: []string{"read", "list", "glob", "grep", "write", "edit", "apply_patch", "notebook_edit", "move", "delete"}},
	"shell":      {Actions: []string{"bash"}, Config: []app.Setting{{Key: "network"}}},
	"memory":     {Actions: []string{"set_goal", "task_create", "task_update", "remember", "query", "upsert", "forget", "compact"}},
	"web":        {Actions: []string{"fetch", "search", "extract", "download"}},
}

func TestText(t *testing.T) {
	for _, folder := range []string{
		"/home/ann/My Project", "shop", "café", "日本", ".", "/", "", "a\"b", "x\n  y: 1", "{{env.HOME}}", "#1", "-", "~",
		strings.Repeat("long", 100), "a\\b", "null", "1.0", "%s%d",
	} {
		text := starter.Text(folder)
		a, err := app.Parse(filepath.Join("elsewhere", app.Filename), text, real)
		if err != nil {
			t.Errorf("for %q: %v", folder, err)
			continue
		}
		if len(a.Warnings) > 0 || a.ID == "elsewhere" || a.Name == "" {
			t.Errorf("for %q: %+v", folder, a)
		}
	}
	a, err := app.Parse("callgate.yaml", starter.Text("/home/ann/My Project"), real)
	if err != nil {
		t.Fatal(err)
	}
	if a.ID != "my-project" || a.Name != "My Project" {
		t.Errorf("app %q named %q", a.ID, a.Name)
	}
	for name, want := range map[string]policy.Verdict{
		"filesystem.read": policy.Allow, "filesystem.list": policy.Allow, "filesystem.grep": policy.Allow,
		"filesystem.write": policy.Approve, "shell.bash": policy.Approve, "web.fetch": policy.Approve,
		"memory.task_create": policy.Allow, "memory.forget": policy.Approve,
	} {
		if got := verdict(t, a, name, tool.Runtime{Risk: tool.High}); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// The YAML in the comments is right too.
func TestTextUncommented(t *testing.T) {
	var lines []string
	count := 0
	for line := range strings.Lines(string(starter.Text("demo"))) {
		body := strings.TrimLeft(line, " ")
		yaml := strings.TrimPrefix(body, "# ")
		indent := line[:len(line)-len(body)]
		key, _, found := strings.Cut(strings.TrimLeft(yaml, " -"), ":")
		if yaml != body && indent != "" && found && strings.Trim(key, `abcdefghijklmnopqrstuvwxyz_."*`) == "" {
			line = indent + yaml
			count++
		}
		lines = append(lines, line)
	}
	if count != 20 {
		t.Errorf("%d commented lines of YAML, expected 20", count)
	}
	a, err := app.Parse("callgate.yaml", []byte(strings.Join(lines, "")), real)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]policy.Verdict{
		"web.search": policy.Allow, "filesystem.read": policy.Allow, "filesystem.write": policy.Hide, "filesystem.delete": policy.Hide,
		"shell.bash": policy.Approve,
	} {
		if got := verdict(t, a, name, tool.Runtime{}); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
