package kernel_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// A command that may write the workspace may not write the files that hold rules,
// unless a human approved that very command with those files named.
func TestCommandsCannotChangeTheRules(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || !sandbox.Probe().Namespaces {
		t.Skip("needs a view of its own for each command")
	}
	folder := t.TempDir()
	const app = "tools: {dirs: [kit], capabilities: {grant: [{module: shell}]}}\n"
	files := map[string]string{
		"callgate.yaml": app, ".git/config": "[core]\n", ".git/hooks/pre-commit.sample": "none\n", "kit/global/README": "none\n",
	}
	for name, text := range files {
		path := filepath.Join(folder, name)
		kerneltest.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		kerneltest.OK(t, os.WriteFile(path, []byte(text), 0o644))
	}
	content := func(name string) string {
		data, err := os.ReadFile(filepath.Join(folder, name))
		kerneltest.OK(t, err)
		return string(data)
	}
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, folder)
	bash := func(args map[string]any) *tool.Result {
		data, err := json.Marshal(args)
		kerneltest.OK(t, err)
		return kerneltest.Call(t, s, "shell.bash", string(data))
	}
	const attack = `echo x >> callgate.yaml; rm -f callgate.yaml; mv callgate.yaml old; echo y > new; mv new callgate.yaml
		echo x >> .git/config; echo x > .git/hooks/pre-commit; mv .git g; mv kit k; echo x > kit/global/t.yaml; chmod 0 callgate.yaml
		ln callgate.yaml hard && echo x >> hard; echo ok > free; echo ok > .git/index; true`
	for _, args := range []map[string]any{
		{"command": attack}, {"command": attack, "writes": []string{"."}}, {"command": attack, "cwd": "."},
	} {
		if r := bash(args); r.Status != tool.Success {
			t.Fatalf("%v: %s %q", args["writes"], r.Status, r.Summary)
		}
		for name, text := range files {
			if got := content(name); got != text {
				t.Errorf("%v: %s is now %q", args["writes"], name, got)
			}
		}
		for _, name := range []string{".git/hooks/pre-commit", "kit/global/t.yaml"} {
			if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
				t.Errorf("%v: %s was made", args["writes"], name)
			}
		}
		if content("free") != "ok\n" || content(".git/index") != "ok\n" {
			t.Errorf("%v: other files cannot be written", args["writes"])
		}
	}
	r := bash(map[string]any{"command": "echo '# new' >> callgate.yaml", "writes": []string{"callgate.yaml"}})
	if r.Status != tool.Waiting || !strings.Contains(r.Summary, "this changes the rules that agents work by") {
		t.Fatalf("named in writes: %s %q", r.Status, r.Summary)
	}
	yes := approval.Answer{Approve: true}
	kerneltest.OK(t, k.Approvals.AnswerVouched(t.Context(), approval.Voucher{By: "ada"}, r.Approval, yes))
	if end, err := k.Collect(t.Context(), r.Call); err != nil || end.Status != tool.Success || content("callgate.yaml") != app+"# new\n" {
		t.Errorf("approved: %+v, %v; the file is %q", end, err, content("callgate.yaml"))
	}
}
