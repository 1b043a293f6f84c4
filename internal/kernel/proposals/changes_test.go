package proposals_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/proposals"
	"callgate/internal/kernel/undoing"
	"callgate/internal/proposal"
	"callgate/tool"
)

const workspaceApp = `app: {app_id: demo}
tools:
  modules:
    filesystem:
    workspace: {config: {%s}}
`

func newWorkspace(t *testing.T, config string) *world {
	t.Helper()
	return newWorld(t, fmt.Sprintf(workspaceApp, config))
}

// does makes a call that must succeed, and returns its summary and its content.
func (w *world) does(name string, args ...any) string {
	w.Helper()
	r := kerneltest.Call(w, w.Session, name, fmt.Sprintf(args[0].(string), args[1:]...))
	if r.Status != tool.Success {
		w.Fatalf("%s: %s %s", name, r.Status, r.Summary)
	}
	text := r.Summary
	for _, c := range r.Content {
		text += "\n" + c.Text
	}
	return text + "\n" + strings.Join(r.Warnings, "\n")
}

// refused makes a call that must fail, and returns why.
func (w *world) refused(name, args string) string {
	w.Helper()
	r := kerneltest.Call(w, w.Session, name, args)
	if r.Status == tool.Success {
		w.Fatalf("%s: %s", name, r.Summary)
	}
	return r.Summary
}

// waits returns the only proposal that waits.
func (w *world) waits() proposals.Shown {
	w.Helper()
	list, err := w.k.Proposals.List(w.Context(), proposal.Pending)
	kerneltest.OK(w, err)
	if len(list) != 1 {
		w.Fatalf("%d proposals wait", len(list))
	}
	return w.show(list[0].ID)
}

func (w *world) nothingWaits() {
	w.Helper()
	if list, err := w.k.Proposals.List(w.Context(), proposal.Pending); err != nil || len(list) != 0 {
		w.Errorf("%d proposals wait, %v", len(list), err)
	}
}

func contains(t testing.TB, text string, all ...string) {
	t.Helper()
	for _, want := range all {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

func lines(change map[int]string) string {
	var b strings.Builder
	for i := 1; i <= 40; i++ {
		if text, ok := change[i]; ok {
			b.WriteString(text + "\n")
		} else {
			fmt.Fprintf(&b, "line %d\n", i)
		}
	}
	return b.String()
}

// A change waits, is seen by the module's tools alone, and is on the disk when a person has
// approved it; that can be undone.
func TestChangeWaitsAndIsUndone(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "")
	kerneltest.Write(t, filepath.Join(w.folder, "a.txt"), "one\ntwo\n")
	contains(t, w.does("WsEdit", `{"path":"a.txt","old":"two","new":"TWO"}`), "waits for a human as prop_", "1 hunk")
	contains(t, w.does("workspace.read", `{"path":"a.txt"}`), "TWO", "waits for a human")
	contains(t, w.does("workspace.read", `{"path":"a.txt","baseline":true}`), "two")
	contains(t, w.does("filesystem.read", `{"path":"a.txt"}`), "two")
	contains(t, w.does("WsGrep", `{"pattern":"TWO"}`), "a.txt (pending):2: TWO")
	contains(t, w.does("WsGlob", `{"pattern":"**","pending":true}`), "a.txt (pending)")
	w.does("WsEdit", `{"path":"a.txt","op":"append","new":"three"}`) // the same change goes on
	shown := w.waits()
	contains(t, shown.Text, "  - two\n", "  + TWO\n", "  + three\n", " hunk ")
	if w.file("a.txt") != "one\ntwo\n" {
		t.Fatalf("the disk has %q", w.file("a.txt"))
	}
	kerneltest.OK(t, w.accept(shown.ID, shown.Digest))
	if w.file("a.txt") != "one\nTWO\nthree\n" {
		t.Errorf("the disk has %q", w.file("a.txt"))
	}
	w.nothingWaits()
	_, err := w.k.Undo.Undo(t.Context(), kerneltest.Human(t, w.k), undoing.Request{Target: undoing.Target{Workspace: w.folder}})
	kerneltest.OK(t, err)
	if w.file("a.txt") != "one\ntwo\n" {
		t.Errorf("undone, the disk has %q", w.file("a.txt"))
	}
}

// Hunks are answered one by one: what is refused never touches the disk.
func TestHunks(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "")
	kerneltest.Write(t, filepath.Join(w.folder, "a.txt"), lines(nil))
	w.does("WsWrite", `{"path":"a.txt","content":%q}`, lines(map[int]string{3: "THREE", 20: "TWENTY", 38: "LAST"}))
	shown := w.waits()
	if len(shown.Hunks) != 3 {
		t.Fatalf("hunks %q of\n%s", shown.Hunks, shown.Text)
	}
	human := kerneltest.Human(t, w.k)
	none := []string{}
	if _, err := w.k.Proposals.Accept(t.Context(), human, shown.ID, shown.Digest, "", none...); tool.KindOf(err) != tool.Invalid {
		t.Errorf("an empty list of hunks: %v", err)
	}
	if _, err := w.k.Proposals.Refuse(t.Context(), human, shown.ID, "", none...); tool.KindOf(err) != tool.Invalid {
		t.Errorf("an empty list of hunks: %v", err)
	}
	_, err := w.k.Proposals.Accept(t.Context(), human, shown.ID, shown.Digest, "", shown.Hunks[2])
	kerneltest.OK(t, err)
	if want := lines(map[int]string{38: "LAST"}); w.file("a.txt") != want {
		t.Errorf("the disk has %q", w.file("a.txt"))
	}
	if _, err := w.k.Proposals.Accept(t.Context(), human, shown.ID, shown.Digest, "", shown.Hunks[0]); tool.KindOf(err) != tool.Conflict {
		t.Errorf("the digest of another showing: %v", err)
	}
	if _, err := w.k.Proposals.Refuse(t.Context(), human, shown.ID, "", "000000000000"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("a hunk that is not there: %v", err)
	}
	_, err = w.k.Proposals.Refuse(t.Context(), human, shown.ID, "not that", shown.Hunks[1])
	kerneltest.OK(t, err)
	contains(t, w.does("WsRead", `{"path":"a.txt"}`), "THREE", "line 20", "LAST")
	rest := w.waits()
	if len(rest.Hunks) != 1 || rest.Hunks[0] != shown.Hunks[0] {
		t.Errorf("hunks %q are left of %q", rest.Hunks, shown.Hunks)
	}
	done, err := w.k.Proposals.Refuse(t.Context(), human, shown.ID, "")
	kerneltest.OK(t, err)
	if done.State != proposal.Accepted || len(done.Answer.Done) != 3 {
		t.Errorf("a change of which a part was written is %s: %q", done.State, done.Answer.Done)
	}
	if want := lines(map[int]string{38: "LAST"}); w.file("a.txt") != want {
		t.Errorf("the disk has %q", w.file("a.txt"))
	}
	w.nothingWaits()
}

// New and deleted files wait too. What an agent takes back need not be answered.
func TestNewAndDeletedFiles(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "")
	w.does("WsWrite", `{"path":"deep/new.txt","content":"x\n"}`)
	contains(t, w.does("WsDelete", `{"path":"deep/new.txt"}`), "nothing waits")
	w.nothingWaits()
	w.does("WsWrite", `{"path":"deep/new.txt","content":"y\n"}`)
	shown := w.waits()
	contains(t, shown.Text, "new file deep/new.txt")
	if _, err := os.Stat(filepath.Join(w.folder, "deep")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there before anybody approved: %v", err)
	}
	kerneltest.OK(t, w.accept(shown.ID, shown.Digest))
	w.does("WsDelete", `{"path":"deep/new.txt"}`)
	contains(t, w.refused("WsRead", `{"path":"deep/new.txt"}`), "is to be deleted")
	shown = w.waits()
	contains(t, shown.Text, "deep/new.txt is deleted")
	kerneltest.OK(t, w.accept(shown.ID, shown.Digest))
	if _, err := os.Stat(filepath.Join(w.folder, "deep/new.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

// A file that somebody changed meanwhile is not written over, and it is said why.
func TestChangedUnderYourHands(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "")
	kerneltest.Write(t, filepath.Join(w.folder, "a.txt"), "one\n")
	w.does("WsWrite", `{"path":"a.txt","content":"two\n"}`)
	shown := w.waits()
	kerneltest.Write(t, filepath.Join(w.folder, "a.txt"), "mine\n")
	if err := w.accept(shown.ID, shown.Digest); tool.KindOf(err) != tool.Conflict {
		t.Errorf("accepted: %v", err)
	}
	now := w.waits()
	if now.Digest != "" {
		t.Error("it can be accepted")
	}
	contains(t, now.Problem, "a.txt was changed on the disk since")
	contains(t, w.does("WsRead", `{"path":"a.txt"}`), "which nobody can approve")
	contains(t, w.refused("WsEdit", `{"path":"a.txt","old":"two","new":"three"}`), "was changed on the disk")
	w.does("WsWrite", `{"path":"a.txt","content":"mine\ntwo\n"}`)
	now = w.waits()
	contains(t, now.Text, "    mine\n", "  + two\n")
	kerneltest.OK(t, w.accept(now.ID, now.Digest))
	if w.file("a.txt") != "mine\ntwo\n" {
		t.Errorf("the disk has %q", w.file("a.txt"))
	}
}

// A kernel is killed while it writes what was accepted: the file is written or not, and the
// next kernel knows which.
func TestKilledWhileWriting(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]bool{"before the write": false, "after the write": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := kerneltest.StateDir(t)
			k, folder := kerneltest.Open(t, state), t.TempDir()
			kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), fmt.Sprintf(workspaceApp, ""))
			kerneltest.Write(t, filepath.Join(folder, "a.txt"), lines(nil))
			w := &world{t, k, folder, kerneltest.OpenAccepted(t, k, folder)}
			want := lines(map[int]string{3: "THREE"})
			w.does("WsWrite", `{"path":"a.txt","content":%q}`, lines(map[int]string{3: "THREE", 30: "THIRTY"}))
			shown := w.waits()
			k.Proposals.StopWriting(after)
			_, err := k.Proposals.Accept(t.Context(), kerneltest.Human(t, k), shown.ID, shown.Digest, "", shown.Hunks[0])
			if !errors.Is(err, proposals.ErrKilled) {
				t.Fatalf("accepted: %v", err)
			}
			if r := kerneltest.Call(t, w.Session, "WsWrite", `{"path":"a.txt","content":"x"}`); r.Status == tool.Success {
				t.Errorf("a file that is being written is changed: %s", r.Summary)
			}
			kerneltest.OK(t, k.Close())
			next := kerneltest.OpenWith(t, kernel.Config{State: state})
			w = &world{t, next, folder, kerneltest.OpenAccepted(t, next, folder)}
			now := w.waits()
			switch {
			case after && (w.file("a.txt") != want || len(now.Hunks) != 1 || now.Hunks[0] != shown.Hunks[1]):
				t.Errorf("written: %v are left of %v; %q", now.Hunks, shown.Hunks, w.file("a.txt"))
			case !after && (w.file("a.txt") != lines(nil) || now.Digest != shown.Digest):
				t.Errorf("not written: %v of %v wait; %q", now.Hunks, shown.Hunks, w.file("a.txt"))
			}
			kerneltest.OK(t, w.accept(now.ID, now.Digest))
			if got := w.file("a.txt"); got != lines(map[int]string{3: "THREE", 30: "THIRTY"}) {
				t.Errorf("in the end: %q", got)
			}
		})
	}
}

// Only a person approves, a link on the way is not followed, and secrets are not kept.
func TestWhatIsNotWritten(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "")
	outside := t.TempDir()
	w.does("WsWrite", `{"path":"sub/a.txt","content":"x"}`)
	shown := w.waits()
	who := kerneltest.Human(t, w.k)
	who.Key = "guessed"
	if _, err := w.k.Proposals.Accept(t.Context(), who, shown.ID, shown.Digest, ""); tool.KindOf(err) != tool.Denied {
		t.Errorf("somebody without the key: %v", err)
	}
	kerneltest.OK(t, os.Symlink(outside, filepath.Join(w.folder, "sub")))
	if err := w.accept(shown.ID, shown.Digest); err == nil {
		t.Error("it was written through a link")
	}
	if _, err := os.Stat(filepath.Join(outside, "a.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("outside: %v", err)
	}
	contains(t, w.refused("WsWrite", `{"path":"../a.txt","content":"x"}`), "outside")
	contains(t, w.refused("WsWrite", `{"path":"sub/b.txt","content":"x"}`), "sub")
}

// The settings: changes at once, a folder of its own, files that are on no disk, limits.
func TestWorkspaceSettings(t *testing.T) {
	t.Parallel()
	t.Run("auto_approve", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t, "auto_approve: true")
		contains(t, w.does("WsWrite", `{"path":"a/b.txt","content":"x\n"}`), "approved")
		if w.file("a/b.txt") != "x\n" {
			t.Errorf("the disk has %q", w.file("a/b.txt"))
		}
		w.nothingWaits()
		_, err := w.k.Undo.Undo(t.Context(), kerneltest.Human(t, w.k), undoing.Request{Target: undoing.Target{Workspace: w.folder}})
		kerneltest.OK(t, err)
		if w.file("a/b.txt") != "" {
			t.Errorf("undone, the disk has %q", w.file("a/b.txt"))
		}
	})
	t.Run("agent_root", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t, "agent_root: src")
		kerneltest.Write(t, filepath.Join(w.folder, "a.txt"), "x")
		contains(t, w.refused("WsRead", `{"path":"a.txt"}`), "outside of src")
		w.does("WsWrite", `{"path":"src/a.txt","content":"x"}`)
		if found := w.does("WsGlob", `{"pattern":"**"}`); strings.Contains(found, "\na.txt") || !strings.Contains(found, "src/a.txt") {
			t.Error(found)
		}
	})
	t.Run("sync_to_disk", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t, "sync_to_disk: false")
		kerneltest.Write(t, filepath.Join(w.folder, "b.txt"), "of the disk")
		contains(t, w.refused("WsRead", `{"path":"b.txt"}`), "there is no file")
		w.does("WsWrite", `{"path":"a.txt","content":"one\n"}`)
		shown := w.waits()
		contains(t, shown.Text, "not written to the disk")
		kerneltest.OK(t, w.accept(shown.ID, shown.Digest))
		w.does("WsEdit", `{"path":"a.txt","old":"one","new":"two"}`)
		_, err := w.k.Proposals.Refuse(t.Context(), kerneltest.Human(t, w.k), w.waits().ID, "")
		kerneltest.OK(t, err)
		contains(t, w.does("WsRead", `{"path":"a.txt"}`), "one")
		if w.file("a.txt") != "" {
			t.Error("it is on the disk")
		}
	})
	t.Run("limits", func(t *testing.T) {
		t.Parallel()
		app := strings.Replace(fmt.Sprintf(workspaceApp, ""), "workspace: {",
			"workspace: {constraints: {max_file_bytes: 10, max_pending_files: 1}, ", 1)
		w := newWorld(t, app)
		contains(t, w.refused("WsWrite", `{"path":"a.txt","content":"12345678901"}`), "10 bytes are the most")
		w.does("WsWrite", `{"path":"a.txt","content":"1"}`)
		contains(t, w.refused("WsWrite", `{"path":"b.txt","content":"1"}`), "1 are the most")
		w.does("WsWrite", `{"path":"a.txt","content":"2"}`)
	})
}

// A check of the app reads the file that is proposed, in the sandbox, and its words come back.
func TestLint(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, `lint: {"*.txt": "grep -n bad", "*.gone": "no-such-program-here {path}"}`)
	contains(t, w.does("WsWrite", `{"path":"a b.txt","content":"good\nbad\n"}`), "grep -n bad: exit 0", "2:bad")
	if text := w.does("WsWrite", `{"path":"a.go","content":"bad"}`); strings.Contains(text, "grep") {
		t.Error(text)
	}
	contains(t, w.does("WsWrite", `{"path":"a.gone","content":"x"}`), "no-such-program-here a.gone: exit")
}
