package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A link in the place of a read-only file cannot be replaced, and shows what it leads
// to only if the run sees that by itself.
func TestLinksThatStay(t *testing.T) {
	t.Parallel()
	if !Probe().Namespaces {
		t.Skip("there are no user namespaces here")
	}
	for name, c := range map[string]struct{ target, want string }{
		"to a file of the workspace":  {"rules/a.yaml", "rules"},
		"to a file out of sight":      {"../outside/key", ""},
		"to something that is hidden": {"state/key", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			work := filepath.Join(root, "work")
			for file, text := range map[string]string{
				"work/rules/a.yaml": "rules", "outside/key": "secret", "work/state/key": "secret",
			} {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join(work, "callgate.yaml")
			if err := os.Symlink(c.target, file); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			const script = "cat callgate.yaml; echo x > y; mv -f y callgate.yaml; rm -f callgate.yaml; echo x > callgate.yaml"
			_, err = Run(t.Context(), Spec{
				Argv: []string{"/bin/sh", "-c", script}, Workspace: work, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out,
				ReadOnly: []string{file}, Hidden: []string{filepath.Join(work, "state")},
			})
			if err != nil {
				t.Fatal(err)
			}
			if to, err := os.Readlink(file); err != nil || to != c.target {
				t.Errorf("the link leads to %q, %v", to, err)
			}
			if got := out.String(); got != c.want || strings.Contains(got, "secret") {
				t.Errorf("it read %q", got)
			}
		})
	}
}
