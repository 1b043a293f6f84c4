package hooks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/app"
	"callgate/internal/app/hooks"
	"callgate/internal/hook"
)

var known = app.KnownModules{
	"filesystem": {Actions: []string{"read", "write"}}, "shell": {Actions: []string{"bash"}}, "memory": {Actions: []string{"remember"}},
}

func write(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load reads the app file of a folder with files.
func load(t testing.TB, files map[string]string) (folder string, a *app.App) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, filepath.Join(folder, name), text)
	}
	a, err = app.Load(filepath.Join(folder, "callgate.yaml"), known)
	if err != nil {
		t.Fatal(err)
	}
	return folder, a
}

func texts(list []hook.Hook) string {
	var lines []string
	for _, h := range list {
		lines = append(lines, h.Key()+" "+h.String())
	}
	return strings.Join(lines, "\n")
}

// Hooks stand in runtime.hooks, at agents and in files of their own, in both forms.
func TestPlaces(t *testing.T) {
	t.Parallel()
	folder, a := load(t, map[string]string{
		"callgate.yaml": `
dev:
  variables: {team: kernel}
  include: {hooks: [more.yaml, .claude/settings.json]}
runtime:
  hooks:
  - id: auto
    on: post_tool_use
    condition: {type: all_of, conditions: [{type: tool_name, match: [Write, Edit]}, {type: turn_count, every: 3}]}
    action: {type: module_action, name: memory.remember, action_params: {content: "{{team}} {{{{ {{tool.path}}"}}
    cooldown: 60
    max_fires: 3
    priority: 7
    timeout: 5s
    on_error: continue
    enabled: false
agents:
- id: main
  hooks:
  - {id: auto, event: user_prompt, action: {type: gate, allow: false, reason: no}}
- id: other
  hooks:
    Stop:
    - hooks: [{type: command, command: "true", timeout: 3}]
`,
		"more.yaml":             "- {id: third, on: error, action: {type: log, level: error, message: '{{error.type}}'}}\n",
		".claude/settings.json": `{"permissions": {"allow": ["Bash"]}, "hooks": {"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [{"type": "command", "command": "$CLAUDE_PROJECT_DIR/check.sh"}]}]}}`,
		"check.sh":              "exit 0\n",
	})
	all := a.Runtime.Hooks
	want := `third on error: log {"level":"error","message":"{{error.type}}"}
settings/PreToolUse.1.1 on tool_start when tool_name Bash|Edit: command $CLAUDE_PROJECT_DIR/check.sh
auto on tool_end when all_of (tool_name Write|Edit; turn_count 0 every 3): module_action {"action_params":{"content":"kernel {{ \"{{\" }} {{tool.path}}"},"name":"memory.remember"}
main/auto on turn_start of the agent main: block {"allow":false,"reason":"no"}
other/Stop.1.1 on turn_end of the agent other: command true`
	if got := texts(all); got != want {
		t.Fatalf("got:\n%s\nwant:\n%s", got, want)
	}
	auto := all[2]
	if auto.Cooldown != time.Minute || auto.MaxFires != 3 || auto.Priority != 7 || auto.Timeout != 5*time.Second ||
		auto.OnError != hook.Continue || !auto.Disabled || auto.Action.Tool != "memory.remember" {
		t.Errorf("%+v", auto)
	}
	args, err := auto.Action.Arguments(&hook.Facts{Tool: &hook.ToolFacts{Params: map[string]any{"path": "a.go"}}})
	if err != nil || string(args) != `{"content":"kernel {{ a.go"}` {
		t.Errorf("%s %v", args, err)
	}
	command := all[1]
	if len(command.Scripts) != 1 || command.Scripts[0].Path != filepath.Join(folder, "check.sh") || command.Scripts[0].Digest == "" ||
		command.Timeout != hook.DefaultTimeout || command.Priority != hook.DefaultPriority {
		t.Errorf("%+v", command)
	}
	rules := strings.Join(a.RuleFiles(), "\n")
	for _, file := range []string{"check.sh", "more.yaml", "settings.json"} {
		if !strings.Contains(rules, file) {
			t.Errorf("%s is no rule file: %s", file, rules)
		}
	}
}

// A command is accepted with the scripts that it runs, those that are not there too.
func TestScripts(t *testing.T) {
	t.Parallel()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"check.sh", "tools/lint.py", "data.json", "tools/with space.js", "plain"} {
		write(t, filepath.Join(folder, name), name)
	}
	if err := os.Chmod(write(t, filepath.Join(folder, "run"), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "shebang"), "#!/bin/sh\n")
	for line, want := range map[string]string{
		"./check.sh":                                   "check.sh",
		"python3 -u tools/lint.py data.json":           "tools/lint.py",
		"$CLAUDE_PROJECT_DIR/check.sh && ./run":        "check.sh run",
		`"${CLAUDE_PROJECT_DIR}"/check.sh`:             "check.sh",
		`node "tools/with space.js"`:                   "tools/with space.js",
		"bash plain":                                   "plain",
		"cat plain data.json":                          "",
		"sh -c './check.sh; ./shebang'":                "check.sh shebang",
		"./missing.sh":                                 "-missing.sh",
		"python nowhere.py origin/main":                "-nowhere.py",
		"git diff origin/main -- ./...":                "",
		"/usr/bin/env true":                            "",
		"curl https://example.com/a.sh":                "",
		"cat < check.sh":                               "check.sh",
		"X=./check.sh; $X":                             "check.sh",
		filepath.Join(folder, "check.sh") + " ../x.sh": "check.sh",
	} {
		if got, err := pinned(t, line, folder); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", line, got, err, want)
		}
	}
	if hooks.Digest(filepath.Join(folder, "check.sh")) == hooks.Digest(filepath.Join(folder, "run")) || hooks.Digest(folder) != "" {
		t.Error("digests do not tell contents apart")
	}
}

func FuzzScripts(f *testing.F) {
	f.Add(`"$CLAUDE_PROJECT_DIR"/a.sh 'x y' \; z`)
	f.Add(`bash -c 'D=$PWD; "$D/a.sh" $(sh -c "$(./b)")' | xargs -I% sh %`)
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, line string) {
		scripts, _ := hooks.Scripts(line, folder, folder) // most lines are refused
		for _, s := range scripts {
			if rel, err := filepath.Rel(folder, s.Path); err != nil || !filepath.IsLocal(rel) {
				t.Errorf("%q names %s", line, s.Path)
			}
		}
	})
}
