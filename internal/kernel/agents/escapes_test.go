package agents_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/backgroundcalls"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
)

// working has an app with some more rules call another one, to which its own file gives
// everything. It returns the sessions of both, and the folder.
func working(
	t *testing.T, k *kernel.Kernel, rules, runtime, calledRuntime string,
) (parent, child *session.Session, folder string) {
	t.Helper()
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	model := kerneltest.NewModel(t, kerneltest.Answer{Text: "done", After: hang})
	base := t.TempDir()
	folder, other := filepath.Join(base, "caller"), filepath.Join(base, "called")
	text := strings.Replace(open, "tools:\n", "tools:\n  dirs: [kit]\n  apps: {other: ../called/callgate.yaml}\n", 1)
	text = strings.Replace(text, "default_policy: auto", "default_policy: auto"+rules, 1)
	appWith(t, folder, "main", "{provider: offline}", text+runtime)
	appWith(t, other, "other", model.Brain("openai", "gpt-4o"), open+calledRuntime)
	kerneltest.Write(t, filepath.Join(folder, "a.txt"), "42\n")
	kerneltest.OK(t, os.MkdirAll(filepath.Join(folder, "kit", "global"), 0o755))
	trust(t, k, folder)
	trust(t, k, other)
	parent = kerneltest.OpenConversation(t, k, folder).Session()
	return parent, calledApp(t, k, parent), folder
}

// unwritten reports a file that is there.
func unwritten(t *testing.T, file string) {
	t.Helper()
	if _, err := os.Stat(file); err == nil {
		t.Errorf("%s was written", filepath.Base(file))
	}
}

// What its caller's rules and hooks say of arguments holds for an app whose own rules say
// nothing of them, at once and in the background.
func TestAppStaysWithinRulesAboutArguments(t *testing.T) {
	const write, args = "filesystem.write", `{"path":"src/c.txt","content":"c"}`
	const guard = `
runtime:
  hooks:
  - {id: guard, on: tool_start, condition: {type: tool_name, match: filesystem.write}, action: {type: block, reason: no}}
`
	for name, test := range map[string]struct{ rules, runtime string }{
		"asked":   {", approve: [{module: filesystem, actions: [write]}]", ""},
		"denied":  {`, deny: [{module: filesystem, actions: [write], match: {path: "src/**"}}]`, ""},
		"guarded": {"", guard},
	} {
		t.Run(name, func(t *testing.T) {
			k := kerneltest.Open(t, kerneltest.StateDir(t))
			_, child, folder := working(t, k, test.rules, test.runtime, "")
			if v := verdictOf(make1(t, child, write, args)); v == ran {
				t.Errorf("the call %v", v)
			}
			make1(t, child, "background_run", `{"name":"`+write+`","params":`+args+`}`)
			kerneltest.Eventually(t, func() bool { // it has ended, or asks as the call before it does
				active, err := k.Tasks.Store().List(t.Context(), task.Query{
					Session: child.ID(), Kinds: []string{backgroundcalls.Kind}, Active: true,
				})
				kerneltest.OK(t, err)
				asked, err := k.Approvals.List(t.Context(), approval.Pending, 0)
				kerneltest.OK(t, err)
				return len(active) == 0 || len(asked) == 2
			})
			unwritten(t, filepath.Join(folder, "src", "c.txt"))
		})
	}
}

// An app that is called changes the rules of its caller no more unasked than its caller.
func TestAppChangesNoRulesOfItsCaller(t *testing.T) {
	parent, child, _ := working(t, kerneltest.Open(t, kerneltest.StateDir(t)), "", "", "")
	const args = `{"path":"kit/global/x.json","content":"{}"}`
	for who, s := range map[string]*session.Session{"caller": parent, "app": child} {
		if v := verdictOf(make1(t, s, "filesystem.write", args)); v != waits {
			t.Errorf("the call of the %s %v", who, v)
		}
	}
}

// The hooks of an app that is called do nothing that its caller is denied.
func TestHooksOfAnAppStayWithinItsCaller(t *testing.T) {
	_, child, folder := working(t, kerneltest.Open(t, kerneltest.StateDir(t)), ", deny: [{module: filesystem, actions: [write]}]", "", `
runtime:
  hooks:
  - id: note
    on: tool_end
    condition: {type: tool_name, match: filesystem.read}
    action: {type: module_action, tool: filesystem.write, params: {path: c.txt, content: c}}
`)
	if v := verdictOf(make1(t, child, "filesystem.read", `{"path":"a.txt"}`)); v != ran {
		t.Fatalf("reading %v", v)
	}
	unwritten(t, filepath.Join(folder, "c.txt"))
}
