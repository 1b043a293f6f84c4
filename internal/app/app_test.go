package app_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"callgate/internal/agent/surface"
	"callgate/internal/app"
	"callgate/internal/gate/policy"
	"callgate/tool"
)

var known = app.KnownModules{
	"filesystem":      {Actions: []string{"read", "list", "write"}, Config: []app.Setting{{Key: "max_bytes"}, {Key: "ignore"}}},
	"shell":           {Actions: []string{"bash"}, Config: []app.Setting{{Key: "timeout"}}},
	"plain":           {Actions: []string{"do"}},
	"open":            {},
	"context_builder": {Actions: []string{"search_tools", "ask_user"}, AlwaysOn: true},
}

func parsed(t testing.TB, text string) *app.App {
	t.Helper()
	a, err := app.Parse("work/My Project/callgate.yaml", []byte(text), known)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func verdict(t testing.TB, a *app.App, dotted string, r tool.Runtime) policy.Verdict {
	t.Helper()
	module, action, err := tool.ParseDotted(dotted)
	if err != nil {
		t.Fatal(err)
	}
	subject := &tool.Tool{ID: tool.ID{Namespace: module, Name: action}, Runtime: r}
	return policy.Decide(a.Rules, subject, tool.Principal{}).Verdict
}

func TestParseWhole(t *testing.T) {
	a := parsed(t, `
app:
  app_id: demo
  name: A Demo
  version: "2.1"
  description: |
    Two lines
    of text.
tools:
  modules:
    shell: {config: {timeout: 30}}
    filesystem:
      config:
        max_bytes: 1000
        ignore: [".git", {deep: [1, 2.5, true, ~]}]
      constraints:
        allowed_actions: [read, list]
        blocked_actions: [list]
    plain:
  capabilities:
    default_policy: auto
    max_risk_level: medium
    grant:
    - {module: shell, actions: [bash], reason: needed}
    approve:
    - module: plain
    deny: [{module: "*", actions: [drop]}]
    approval_timeout: 60
    hidden_modules: [open]
    hidden_actions: [context_builder.ask_user, "*.secret"]
    rate_limits: {shell.bash: 5, "*": 100}
`)
	want := &app.App{
		Path:     "work/My Project/callgate.yaml",
		Identity: app.Identity{ID: "demo", IDWritten: true, Name: "A Demo", Version: "2.1", Description: "Two lines\nof text.\n"},
		Modules: []app.Module{
			{Name: "shell", Config: map[string]any{"timeout": uint64(30)}},
			{Name: "filesystem", Config: map[string]any{
				"max_bytes": uint64(1000),
				"ignore":    []any{".git", map[string]any{"deep": []any{uint64(1), 2.5, true, nil}}},
			}},
			{Name: "plain"},
		},
		Runtime: app.Runtime{Mode: "conversation", TurnLimits: app.TurnLimits{MaxTurns: 50, Timeout: time.Hour}, WorkdirMode: "auto"},
		Surface: app.Surface{Builtin: surface.Builtin{Choice: surface.BuiltinAll}},
	}
	got := *a
	got.Rules = nil
	if diff := cmp.Diff(want, &got, cmpopts.IgnoreFields(app.App{}, "env")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := a.Rules.ApprovalTimeout().Seconds(); got != 60 {
		t.Errorf("approval timeout %v s", got)
	}
	tests := map[string]policy.Verdict{
		"shell.bash": policy.Allow, "plain.do": policy.Approve, "plain.drop": policy.Deny,
		"filesystem.read": policy.Allow, "filesystem.list": policy.Hide, "filesystem.write": policy.Hide,
		"open.anything": policy.Hide, "context_builder.ask_user": policy.Hide, "plain.secret": policy.Hide,
	}
	for name, want := range tests {
		if got := verdict(t, a, name, tool.Runtime{}); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	var l policy.Limiter
	bash := &tool.Tool{ID: tool.ID{Namespace: "shell", Name: "bash"}}
	for range 5 {
		if err := l.Take(a.Rules, bash, tool.Principal{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Take(a.Rules, bash, tool.Principal{}); tool.KindOf(err) != tool.Limited {
		t.Errorf("the sixth call gives %v", err)
	}
}

func TestParseDefaults(t *testing.T) {
	all := []app.Module{{Name: "filesystem"}, {Name: "open"}, {Name: "plain"}, {Name: "shell"}}
	tests := []struct {
		name, text string
		modules    []app.Module
		high       policy.Verdict // of a tool of high risk that nothing names
		low        policy.Verdict
	}{
		{"only an app", "app: {name: x}", all, policy.Approve, policy.Allow},
		{"empty blocks", "app:\ntools:\n", all, policy.Approve, policy.Allow},
		{"capabilities without a key", "tools:\n  capabilities:\n", all, policy.Approve, policy.Approve},
		{"capabilities in braces", "tools: {capabilities: {}}", all, policy.Approve, policy.Approve},
		{
			"rules commented out",
			"tools:\n  capabilities:\n    default_policy: auto\n    deny:\n    # - module: shell\n",
			all,
			policy.Allow,
			policy.Allow,
		},
		{"one module, null", "tools:\n  modules:\n    filesystem:\n", all[:1], policy.Approve, policy.Allow},
		{"one module, tilde", "tools: {modules: {filesystem: ~}}", all[:1], policy.Approve, policy.Allow},
		{
			"a module with empty parts",
			"tools:\n  modules:\n    filesystem:\n      config:\n      constraints:\n",
			all[:1],
			policy.Approve,
			policy.Allow,
		},
		{"document mark", "---\napp: {name: x}\n", all, policy.Approve, policy.Allow},
		{"carriage returns", "app:\r\n  name: x\r\n", all, policy.Approve, policy.Allow},
		{"byte order mark", "\ufeffapp: {name: x}", all, policy.Approve, policy.Allow},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := parsed(t, test.text)
			if diff := cmp.Diff(test.modules, a.Modules); diff != "" {
				t.Errorf("modules (-want +got):\n%s", diff)
			}
			if a.ID != "my-project" {
				t.Errorf("ID %q does not come from the folder", a.ID)
			}
			if got := verdict(t, a, "any.thing", tool.Runtime{Risk: tool.High}); got != test.high {
				t.Errorf("high risk: %s, want %s", got, test.high)
			}
			if got := verdict(t, a, "any.thing", tool.Runtime{Risk: tool.Low}); got != test.low {
				t.Errorf("low risk: %s, want %s", got, test.low)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{
			"a module that is not here yet",
			"tools:\n  capabilities:\n    approve:\n    - {module: mcp_github, actions: [create_issue, close_issue]}\n",
			[]string{`f:4:16: there is no module "mcp_github" here, so this waits until there is one`},
		},
		{
			"a module that executables may bring",
			"tools:\n  dirs: [tools]\n  capabilities:\n    deny:\n    - {module: shel}\n    hidden_modules: [shel]\n",
			[]string{`f:5:16: there is no module "shel" here, so this waits until there is one; did you mean shell?`},
		},
		{
			"a module that is off",
			"tools:\n  modules: {filesystem: }\n  capabilities:\n    grant:\n    - {module: shell}\n    deny:\n    - {module: shell}\n",
			[]string{`f:5:16: the module shell is off, because tools.modules does not list it`},
		},
		{"no module at all", "tools:\n  modules:\n",
			[]string{`f:2:3: tools.modules lists no module, so none is on; leave the key out to have all of them`}},
		{"hidden and limited", "tools:\n  capabilities:\n    hidden_actions: [mcp_a.x]\n    rate_limits:\n      mcp_b.y: 1\n      mcp_c: 2\n",
			[]string{
				`f:3:22: there is no module "mcp_a" here, so this waits until there is one`,
				`f:5:7: there is no module "mcp_b" here, so this waits until there is one`,
				`f:6:7: there is no module "mcp_c" here, so this waits until there is one`,
			}},
		{
			"all is well",
			"tools:\n  capabilities:\n    grant:\n    - {module: context_builder, actions: [ask_user]}\n    - {module: open, actions: [whatever]}\n    - {module: \"*\", actions: [whatever]}\n    rate_limits: {\"*\": 5, filesystem.*: 3, open.x: 4}\n",
			nil,
		},
	}
	for _, test := range tests {
		a, err := app.Parse("f", []byte(test.text), known)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.want, a.Warnings); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoad(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "Shop Front")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := write(app.Filename, "app: {version: '1'}")
	t.Chdir(folder)
	for _, given := range []string{path, app.Filename} {
		a, err := app.Load(given, known)
		if err != nil {
			t.Fatal(err)
		}
		if !filepath.IsAbs(a.Path) || filepath.Base(a.Path) != app.Filename || a.ID != "shop-front" {
			t.Errorf("Load(%q): path %q, ID %q", given, a.Path, a.ID)
		}
	}
	tests := []struct {
		name, path string
		kind       tool.Kind
		says       string
	}{
		{"absent", filepath.Join(folder, "none.yaml"), tool.NotFound, "callgate init"},
		{"a folder", folder, tool.Invalid, "not a regular file"},
		{"wrong", write("wrong.yaml", "apps:\n"), tool.Invalid, "did you mean app?"},
		{"too large", write("large.yaml", strings.Repeat("# x\n", 1<<18+1)), tool.Invalid, "larger than 1 MiB"},
	}
	for _, test := range tests {
		_, err := app.Load(test.path, known)
		var e *tool.Error
		if !errors.As(err, &e) || e.Kind != test.kind || e.Op == "" {
			t.Errorf("%s: %#v", test.name, err)
			continue
		}
		if !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), test.path) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
