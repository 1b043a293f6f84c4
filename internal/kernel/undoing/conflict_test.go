package undoing_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/undoing"
	"callgate/tool"
)

// A file that somebody else wrote since is not put back, and it is said who did. Nothing
// else is put back either, unless the human wants that file left out, or written over.
func TestSomebodyElseWroteSince(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		since func(t *testing.T, k *kernel.Kernel, workspace string)
		want  string
		left  string // what is in a.txt then
	}{
		"a person": {
			func(t *testing.T, _ *kernel.Kernel, workspace string) {
				kerneltest.Write(t, filepath.Join(workspace, "a.txt"), "by hand")
			}, "by somebody outside of Callgate, at 20", "by hand",
		},
		"a person, who removed it": {
			func(t *testing.T, _ *kernel.Kernel, workspace string) {
				ok(t, os.Remove(filepath.Join(workspace, "a.txt")))
			},
			"somebody outside of Callgate removed it", "",
		},
		"another agent": {
			func(t *testing.T, k *kernel.Kernel, workspace string) {
				s := kerneltest.OpenSession(t, k, workspace)
				call(t, s, "filesystem.read", `{"path":"a.txt"}`)
				call(t, s, "filesystem.write", `{"path":"a.txt","content":"by another"}`)
			}, "by filesystem.write of ", "by another",
		},
		"perhaps a command": {
			func(t *testing.T, k *kernel.Kernel, workspace string) {
				call(t, kerneltest.OpenSession(t, k, workspace), "shell.bash", `{"command":"echo by a command > a.txt"}`)
			}, "perhaps by shell.bash of ", "by a command\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			workspace := t.TempDir()
			kerneltest.Write(t, filepath.Join(workspace, "a.txt"), "old a")
			kerneltest.Write(t, filepath.Join(workspace, "b.txt"), "old b")
			k, s := open(t, workspace)
			made := call(t, s, "filesystem.apply_patch", `{"patch":"*** Begin Patch\n*** Update File: a.txt\n@@\n-old a\n+new a\n`+
				`*** Update File: b.txt\n@@\n-old b\n+new b\n*** End Patch\n"}`)
			c.since(t, k, workspace)
			before := tree(t, workspace)
			target := undoing.Target{Call: made.Call}
			human := kerneltest.Human(t, k)
			p, err := k.Undo.Preview(t.Context(), human, target)
			ok(t, err)
			if conflicts := p.Conflicts(); len(conflicts) != 1 || !strings.HasPrefix(conflicts[0].Conflict.Why, c.want) {
				t.Errorf("the preview says %+v", p.Conflicts())
			}
			_, err = k.Undo.Undo(t.Context(), human, undoing.Request{Target: target})
			if tool.KindOf(err) != tool.Conflict || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v", err)
			}
			if got := tree(t, workspace); got != before {
				t.Fatalf("it is\n%s", got)
			}
			done, err := k.Undo.Undo(t.Context(), human, undoing.Request{Target: target, Skip: true})
			ok(t, err)
			if read(workspace, "a.txt") != c.left || read(workspace, "b.txt") != "old b" || strings.Join(done.Left, " ") != "a.txt" {
				t.Errorf("with --skip it is\n%s\n%v was left", tree(t, workspace), done.Left)
			}
			done, err = k.Undo.Undo(t.Context(), human, undoing.Request{Target: target, Force: true})
			ok(t, err)
			if read(workspace, "a.txt") != "old a" || strings.Join(done.Put, " ") != "a.txt" {
				t.Errorf("with --force it is\n%s\n%v was put back", tree(t, workspace), done.Put)
			}
		})
	}
}

func read(folder, name string) string {
	data, _ := os.ReadFile(filepath.Join(folder, name))
	return string(data)
}

// A call is not undone under a later one of the same session; both together are.
func TestUndoOfAnEarlierCall(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	k, s := open(t, workspace)
	first := call(t, s, "filesystem.write", `{"path":"a.txt","content":"one"}`)
	second := call(t, s, "filesystem.write", `{"path":"a.txt","content":"two"}`)
	human := kerneltest.Human(t, k)
	_, err := k.Undo.Undo(t.Context(), human, undoing.Request{Target: undoing.Target{Call: first.Call}})
	if tool.KindOf(err) != tool.Conflict || !strings.Contains(err.Error(), second.Call) {
		t.Errorf("got %v", err)
	}
	_, err = k.Undo.Undo(t.Context(), human, undoing.Request{Target: undoing.Target{Call: second.Call}})
	ok(t, err)
	if got := read(workspace, "a.txt"); got != "one" {
		t.Errorf("it holds %q", got)
	}
	_, err = k.Undo.Undo(t.Context(), human, undoing.Request{Target: undoing.Target{Call: first.Call[:len(first.Call)-2]}})
	ok(t, err)
	if _, err := os.Stat(filepath.Join(workspace, "a.txt")); !os.IsNotExist(err) {
		t.Errorf("it is there: %v", err)
	}
	if _, err := k.Undo.Preview(t.Context(), human, undoing.Target{Call: "c0"}); tool.KindOf(err) != tool.NotFound {
		t.Errorf("a call that never was: %v", err)
	}
}

// What was shown is what is done.
func TestUndoOfAnotherPreview(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	k, s := open(t, workspace)
	call(t, s, "filesystem.write", `{"path":"a.txt","content":"one"}`)
	human, target := kerneltest.Human(t, k), undoing.Target{Workspace: workspace}
	p, err := k.Undo.Preview(t.Context(), human, target)
	ok(t, err)
	call(t, s, "filesystem.write", `{"path":"b.txt","content":"two"}`)
	_, err = k.Undo.Undo(t.Context(), human, undoing.Request{Target: target, Shown: p.ID})
	if tool.KindOf(err) != tool.Conflict || read(workspace, "b.txt") != "two" {
		t.Errorf("got %v", err)
	}
	p, err = k.Undo.Preview(t.Context(), human, target)
	ok(t, err)
	_, err = k.Undo.Undo(t.Context(), human, undoing.Request{Target: target, Shown: p.ID})
	ok(t, err)
}

// An undo waits for a call that holds the file, and then sees what that one wrote.
func TestUndoWaitsForLocks(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	began, goOn := make(chan struct{}), make(chan struct{})
	slow, err := tool.Func("team.put", "Puts.", tool.Runtime{
		Risk: tool.Low, SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.X}},
	}, func(context.Context, struct {
		Path string `json:"path"`
	}) (string, error) {
		close(began)
		<-goOn
		return "put", os.WriteFile(filepath.Join(workspace, "a.txt"), []byte("of another"), 0o600)
	})
	ok(t, err)
	k, s := openWith(t, kernel.Config{State: kerneltest.StateDir(t), Tools: []*tool.Tool{slow}}, workspace)
	made := call(t, s, "filesystem.write", `{"path":"a.txt","content":"one"}`)
	other := make(chan *tool.Result, 1)
	go func() {
		other <- s.Call(t.Context(), session.CallRequest{Name: "team.put", Args: []byte(`{"path":"a.txt"}`)})
	}()
	<-began
	undone := make(chan error, 1)
	go func() {
		_, err := k.Undo.Undo(t.Context(), kerneltest.Human(t, k), undoing.Request{Target: undoing.Target{Call: made.Call}})
		undone <- err
	}()
	kerneltest.Eventually(t, func() bool {
		for _, w := range k.Locks.Snapshot().Waiting {
			if w.Holder.Tool == "undo.restore" {
				return true
			}
		}
		return false
	})
	close(goOn)
	if r := <-other; r.Status != tool.Success {
		t.Errorf("%+v", r)
	}
	if err := <-undone; tool.KindOf(err) != tool.Conflict || !strings.Contains(err.Error(), "team.put") {
		t.Errorf("got %v", err)
	}
	if got := read(workspace, "a.txt"); got != "of another" {
		t.Errorf("it holds %q", got)
	}
}

// A file that holds rules is put back by a person, and the yes is on record.
func TestUndoOfRules(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	kerneltest.Write(t, filepath.Join(workspace, "callgate.yaml"), allowAll)
	line := &terminals{}
	k, s := openWith(t, kernel.Config{State: kerneltest.StateDir(t), Lineage: line}, workspace)
	call(t, s, "filesystem.read", `{"path":"callgate.yaml"}`)
	waiting := kerneltest.Call(t, s, "filesystem.write", `{"path":"callgate.yaml","content":"app: {app_id: other}\n"}`)
	kerneltest.Settle(t, k, waiting.Approval, approval.Answer{Approve: true})
	_, err := k.Collect(t.Context(), waiting.Call)
	ok(t, err)
	r := undoing.Request{Target: undoing.Target{Call: waiting.Call}}
	script := kerneltest.Human(t, k)
	script.PID = 1 // it has no terminal
	if _, err := k.Undo.Undo(t.Context(), script, r); tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), "callgate.yaml") {
		t.Errorf("without a terminal: %v", err)
	}
	if got := read(workspace, "callgate.yaml"); got == allowAll {
		t.Error("it was put back all the same")
	}
	done, err := k.Undo.Undo(t.Context(), kerneltest.Human(t, k), r)
	ok(t, err)
	if got := read(workspace, "callgate.yaml"); got != allowAll {
		t.Errorf("it holds %q", got)
	}
	answered, err := k.Journal.Read(t.Context(), journal.Query{Call: done.Call, Kind: journal.Answered})
	if err != nil || len(answered) != 1 || answered[0].Answer.By != "ada" {
		t.Errorf("%+v, %v", answered, err)
	}
}

// terminals knows no process, and no terminal.
type terminals struct{}

func (*terminals) Descends(pid, from int) bool { return pid == from }
func (*terminals) Session(int) (int, bool)     { return 0, false }

// What force does is for a person, too.
func TestForceIsForAPerson(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	k, s := openWith(t, kernel.Config{State: kerneltest.StateDir(t), Lineage: &terminals{}}, workspace)
	made := call(t, s, "filesystem.write", `{"path":"a.txt","content":"one"}`)
	kerneltest.Write(t, filepath.Join(workspace, "a.txt"), "by hand")
	script := kerneltest.Human(t, k)
	script.PID = 1
	_, err := k.Undo.Undo(t.Context(), script, undoing.Request{Target: undoing.Target{Call: made.Call}, Force: true})
	if tool.KindOf(err) != tool.Denied || read(workspace, "a.txt") != "by hand" {
		t.Errorf("got %v", err)
	}
}

// What is not kept is said, and the rest is put back.
func TestUndoOfWhatIsNotKept(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	kerneltest.Write(t, filepath.Join(workspace, "large"), strings.Repeat("x", 5000))
	kerneltest.Write(t, filepath.Join(workspace, "small"), "old")
	c := kernel.Config{State: kerneltest.StateDir(t)}
	c.Undo.File = 4096
	k, s := openWith(t, c, workspace)
	call(t, s, "filesystem.read", `{"path":"large"}`)
	call(t, s, "filesystem.read", `{"path":"small"}`)
	made := call(t, s, "shell.bash", `{"command":"echo new > large; echo new > small","writes":["large","small"]}`)
	human, target := kerneltest.Human(t, k), undoing.Target{Call: made.Call}
	p, err := k.Undo.Preview(t.Context(), human, target)
	ok(t, err)
	if len(p.Files) != 2 || p.Files[0].NotKept != "it has 4.9 KiB, and at most 4.0 KiB are kept" {
		t.Errorf("%+v", p.Files)
	}
	done, err := k.Undo.Undo(t.Context(), human, undoing.Request{Target: target})
	ok(t, err)
	if read(workspace, "small") != "old" || read(workspace, "large") != "new\n" || strings.Join(done.Left, " ") != "large" {
		t.Errorf("%v was left", done.Left)
	}
	call(t, s, "filesystem.move", `{"from":"large","to":"d/large"}`)
	kerneltest.Write(t, filepath.Join(workspace, "huge"), strings.Repeat("y", 9000))
	call(t, s, "filesystem.move", `{"from":"huge","to":"d/huge"}`)
	last(t, k, workspace)
	if got := read(workspace, "huge"); len(got) != 9000 {
		t.Errorf("a large file that was moved has %d bytes where it was", len(got))
	}
}

// What a command changed without saying so is not kept, and that is said.
func TestUndoOfACommand(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	k, s := open(t, workspace)
	ran := call(t, s, "shell.bash", `{"command":"echo new > a.txt"}`)
	human := kerneltest.Human(t, k)
	p, err := k.Undo.Preview(t.Context(), human, undoing.Target{Call: ran.Call})
	ok(t, err)
	if len(p.Files) != 0 || len(p.Unnamed) != 1 || p.Unnamed[0].Tool != "shell.bash" {
		t.Errorf("%+v", p)
	}
	_, err = k.Undo.Preview(t.Context(), human, undoing.Target{Workspace: workspace})
	if tool.KindOf(err) != tool.NotFound || !strings.Contains(err.Error(), "shell.bash ran at ") {
		t.Errorf("got %v", err)
	}
}
