package session_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// A command that is granted changes nothing that Git, or the next session, works by:
// also not what is missing, what lies in a repository further down, and what leads
// Git to another folder.
func TestGrantedCommandMakesNoRules(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	const granted = "tools: {capabilities: {grant: [{module: shell}], deny: [{module: web}]}}\n"
	for name, text := range map[string]string{
		"callgate.yaml": granted, ".git/config": "[core]\n", ".git/HEAD": "ref: refs/heads/main\n",
		"inner/.git/config": "[core]\n", ".git/modules/lib/config": "[core]\n", "lib/.git": "gitdir: ../.git/modules/lib\n",
	} {
		ok(t, os.MkdirAll(filepath.Dir(filepath.Join(project, name)), 0o755))
		write(t, filepath.Join(project, name), text)
	}
	ok(t, os.Mkdir(filepath.Join(project, "sub"), 0o755))
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	whole := kerneltest.OpenAccepted(t, k, project)
	below := kerneltest.OpenSession(t, k, filepath.Join(project, "sub"))
	for _, name := range []string{
		"sub/callgate.yaml", "callgate.yaml", ".git/commondir", ".git/hooks/pre-commit", ".git/config", "inner/.git/config", "inner/.git/hooks/pre-commit",
		"inner/.git/commondir", ".git/modules/lib/hooks/post-checkout", ".git/modules/lib/config", "lib/.git",
	} {
		before, _ := os.ReadFile(filepath.Join(project, name))
		s, name := whole, name
		if in, isBelow := strings.CutPrefix(name, "sub/"); isBelow {
			s, name = below, in
		}
		args, err := json.Marshal(map[string]string{"command": "mkdir -p " + filepath.Dir(name) + "; rm -f " + name + "; echo evil > " + name})
		ok(t, err)
		r := s.Call(t.Context(), session.CallRequest{Name: "shell.bash", Args: args, NoWait: true})
		if r.Status != tool.Success && r.Status != tool.Failure {
			t.Fatalf("%s: %s %s", name, r.Status, r.Summary)
		}
		if after, _ := os.ReadFile(filepath.Join(s.Workspace(), name)); string(after) != string(before) {
			t.Errorf("%s is now %q", name, after)
		}
	}
	r := whole.Call(t.Context(), session.CallRequest{
		Name: "shell.bash", Args: json.RawMessage(`{"command":"git init -q new && test -f new/.git/config && echo made > plain"}`), NoWait: true,
	})
	if _, err := os.Stat(filepath.Join(project, "plain")); err != nil {
		t.Errorf("a new repository cannot be made: %s", r.Summary)
	}
}
