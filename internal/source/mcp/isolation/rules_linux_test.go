package isolation_test

import (
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/source/mcp/config"
)

// A sandboxed server writes its folder, and not the rules of agents in it, unless a
// human opened them by name.
func TestSandboxedServerWritesNoRules(t *testing.T) {
	t.Parallel()
	namespaces(t)
	h := newHouse(t)
	rules := map[string]string{
		"callgate.yaml": "{}", "skills/a.md": "calmly", ".git/config": "[core]", ".git/hooks/pre-commit": "none",
	}
	for name, text := range rules {
		path := filepath.Join(h.work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := config.Isolation{Mode: config.Sandboxed, Rules: []string{
		filepath.Join(h.work, "callgate.yaml"), filepath.Join(h.work, "skills/a.md"),
	}}
	const script = "cd ~/work; for f in callgate.yaml skills/a.md .git/config .git/hooks/pre-commit plain; do " +
		"rm -f $f; echo evil > $f; done; mv .git g; mv skills s; :"
	h.says(t, c, h.work, script)
	for name, text := range rules {
		if data, err := os.ReadFile(filepath.Join(h.work, name)); err != nil || string(data) != text {
			t.Errorf("%s: %q %v", name, data, err)
		}
	}
	if _, err := os.Stat(filepath.Join(h.work, "plain")); err != nil {
		t.Error(err)
	}
	c.Writable = []string{filepath.Join(h.work, ".git")}
	h.says(t, c, h.work, "cd ~/work; echo opened > .git/config")
	if data, _ := os.ReadFile(filepath.Join(h.work, ".git/config")); string(data) != "opened\n" {
		t.Errorf("opened: %q", data)
	}
}
