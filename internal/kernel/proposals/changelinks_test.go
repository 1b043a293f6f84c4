package proposals_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/proposal"
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
				kerneltest.Write(t, filepath.Join(w.folder, folder, "note.txt"), "exit 0\n")
			}
			w.does("WsWrite", `{"path":"sub/note.txt","content":"run\n"}`)
			shown := w.waits()
			w.k.Proposals.BeforeWriting(func() {
				kerneltest.OK(t, os.RemoveAll(filepath.Join(w.folder, "sub")))
				kerneltest.OK(t, os.Symlink(filepath.FromSlash(target), filepath.Join(w.folder, "sub")))
			})
			if err := w.accept(shown.ID, shown.Digest); err == nil {
				t.Error("it was written")
			}
			if got := w.file(target + "/note.txt"); got != "exit 0\n" {
				t.Errorf("through the link, %q was written", got)
			}
		})
	}
}

// Who accepts a change of a file with rules is not asked a second time.
func TestRulesAreAcceptedOnce(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "")
	w.does("WsWrite", `{"path":"rules/hook","content":"be kind\n"}`)
	kerneltest.OK(t, os.Mkdir(filepath.Join(w.folder, "rules"), 0o755))
	kerneltest.OK(t, os.Symlink("rules", filepath.Join(w.folder, ".git"))) // now it is a file of Git
	shown := w.waits()
	contains(t, shown.Text, "holds rules of agents")
	kerneltest.OK(t, w.accept(shown.ID, shown.Digest))
	if got := w.file("rules/hook"); got != "be kind\n" {
		t.Errorf("it is %q", got)
	}
}

// A change that waited when the app file began to approve is accepted by the write that follows.
func TestApprovedByTheAppFileLater(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{"on the disk": "", "virtual": "sync_to_disk: false"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, config)
			w.does("WsWrite", `{"path":"a.txt","content":"one\n"}`)
			id := w.waits().ID
			now := strings.TrimPrefix(config+", auto_approve: true", ", ")
			kerneltest.Write(t, filepath.Join(w.folder, "callgate.yaml"), fmt.Sprintf(workspaceApp, now))
			w.Session = kerneltest.OpenAccepted(t, w.k, w.folder)
			w.does("WsEdit", `{"path":"a.txt","op":"append","new":"two"}`)
			w.nothingWaits()
			ended := w.show(id)
			if ended.State != proposal.Accepted || len(ended.Answer.Done) != 1 {
				t.Errorf("%s: %+v", ended.State, ended.Answer)
			}
			contains(t, w.does("WsRead", `{"path":"a.txt"}`), "one", "two")
		})
	}
}
