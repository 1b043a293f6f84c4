package proposals_test

import (
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/kernel/kerneltest"
)

// A folder that becomes a link after a change was accepted leads to no other file, whether that
// holds rules or not.
func TestFolderBecomesALink(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]string{"a hook": ".git/hooks", "another folder": "other"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, "")
			kerneltest.Write(t, filepath.Join(w.folder, ".git/config"), "")
			for _, folder := range []string{"sub", target} {
				kerneltest.Write(t, filepath.Join(w.folder, folder, "pre-commit"), "exit 0\n")
			}
			w.does("WsWrite", `{"path":"sub/pre-commit","content":"run\n"}`)
			shown := w.waits()
			w.k.Proposals.BeforeWriting(func() {
				kerneltest.OK(t, os.RemoveAll(filepath.Join(w.folder, "sub")))
				kerneltest.OK(t, os.Symlink(filepath.FromSlash(target), filepath.Join(w.folder, "sub")))
			})
			if err := w.accept(shown.ID, shown.Digest); err == nil {
				t.Error("it was written")
			}
			if got := w.file(target + "/pre-commit"); got != "exit 0\n" {
				t.Errorf("through the link, %q was written", got)
			}
		})
	}
}

// Who accepts a change of a file with rules is not asked a second time.
func TestRulesAreAcceptedOnce(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "")
	w.does("WsWrite", `{"path":".git/hooks/pre-commit","content":"be kind\n"}`)
	kerneltest.Write(t, filepath.Join(w.folder, ".git/config"), "") // it is a repository now, and that file a rule
	shown := w.waits()
	contains(t, shown.Text, "holds rules of agents")
	kerneltest.OK(t, w.accept(shown.ID, shown.Digest))
	if got := w.file(".git/hooks/pre-commit"); got != "be kind\n" {
		t.Errorf("it is %q", got)
	}
}
