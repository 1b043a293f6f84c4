package answeredcalls_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/answeredcalls"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/storage/sqlite"
	"callgate/internal/task"
	"callgate/tool"
)

// taskOf is the task of an answered call.
func taskOf(t *testing.T, k *kernel.Kernel, asked string) task.Task {
	t.Helper()
	found, err := k.Tasks.Store().Get(t.Context(), "answered-"+asked)
	ok(t, err)
	return found
}

// begins is a tool that a human is asked about. It counts how often it began, and waits
// until it may go on.
func begins(t *testing.T, began *atomic.Int64, goOn <-chan struct{}) *tool.Tool {
	return kerneltest.NewTool(t, "t.ask", tool.Runtime{Risk: tool.Low, AskFirst: true}, func(ctx context.Context) (any, error) {
		began.Add(1)
		select {
		case <-goOn:
			return "made", nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
}

// A call that is approved after its asker left is a task: its owner is the asker, it has
// the call's result, and nobody is told of it twice.
func TestApprovedCallIsATask(t *testing.T) {
	t.Parallel()
	var began atomic.Int64
	goOn := make(chan struct{})
	close(goOn)
	k := kerneltest.Open(t, kerneltest.StateDir(t), begins(t, &began, goOn))
	s := kerneltest.OpenSession(t, k, t.TempDir())
	r := kerneltest.Call(t, s, "t.ask", `{}`)
	s.Close()
	kerneltest.Settle(t, k, r.Approval, approval.Answer{Approve: true})
	result, err := k.Collect(t.Context(), r.Call)
	ok(t, err)
	if result.Status != tool.Success || began.Load() != 1 {
		t.Errorf("%+v, began %d times", result, began.Load())
	}
	ok(t, k.Tasks.Wait(t.Context(), "answered-"+r.Approval))
	made := taskOf(t, k, r.Approval)
	if made.State != task.Done || made.Kind != answeredcalls.Kind || made.Parent != "" ||
		made.Asker.Call != r.Call || made.Asker.Principal != s.Principal() || made.Asker.Workspace != s.Workspace() {
		t.Errorf("%+v", made)
	}
}

// The task of an approved call that runs can be cancelled, and then the call has ended.
func TestApprovedCallIsCancelled(t *testing.T) {
	t.Parallel()
	var began atomic.Int64
	k := kerneltest.Open(t, kerneltest.StateDir(t), begins(t, &began, nil))
	r := kerneltest.Call(t, kerneltest.OpenSession(t, k, t.TempDir()), "t.ask", `{}`)
	kerneltest.Settle(t, k, r.Approval, approval.Answer{Approve: true})
	kerneltest.Eventually(t, func() bool { return began.Load() == 1 })
	ok(t, k.Tasks.Cancel(t.Context(), "answered-"+r.Approval, "ada"))
	result, err := k.Collect(t.Context(), r.Call)
	ok(t, err)
	if tool.KindOf(result.Err()) != tool.Cancelled {
		t.Errorf("%+v", result)
	}
	ok(t, k.Tasks.Wait(t.Context(), "answered-"+r.Approval))
	if made := taskOf(t, k, r.Approval); made.State != task.Cancelled {
		t.Errorf("%+v", made)
	}
}

// A kernel may be killed after the answer, before its task is stored or after. The next
// one makes the call once, whichever it was, and the one after that does not.
func TestApprovedCallOfAKilledKernelRunsOnce(t *testing.T) {
	t.Parallel()
	for _, stored := range []bool{false, true} {
		state := kerneltest.StateDir(t)
		var began atomic.Int64
		goOn := make(chan struct{})
		close(goOn)
		k := kerneltest.Open(t, state, begins(t, &began, goOn))
		s := kerneltest.OpenSession(t, k, t.TempDir())
		r := kerneltest.Call(t, s, "t.ask", `{}`)
		k.Approvals.Reserve(r.Approval) // as one would who is about to be killed
		kerneltest.Settle(t, k, r.Approval, approval.Answer{Approve: true})
		ok(t, k.Close())
		if stored {
			db, err := sqlite.Open(t.Context(), filepath.Join(state, "callgate.db"))
			ok(t, err)
			_, _, err = db.Stores().Tasks.Create(t.Context(), task.Task{
				ID: "answered-" + r.Approval, Kind: answeredcalls.Kind, Input: []byte(`{"approval":"` + r.Approval + `"}`),
				Asker: task.Asker{Principal: s.Principal(), Call: r.Call},
			})
			ok(t, err)
			ok(t, db.Close())
		}
		for range 2 {
			k = kerneltest.Open(t, state, begins(t, &began, goOn))
			result, err := k.Collect(t.Context(), r.Call)
			ok(t, err)
			ok(t, k.Tasks.Wait(t.Context(), "answered-"+r.Approval))
			if made := taskOf(t, k, r.Approval); result.Status != tool.Success || began.Load() != 1 || made.State != task.Done {
				t.Errorf("stored %v: %+v, began %d times; the task is %+v", stored, result, began.Load(), made)
			}
			ok(t, k.Close())
		}
	}
}

// askAgain has a call approved, and a human asked again because it would do something else
// by now. It returns the record of that.
func askAgain(t *testing.T, k *kernel.Kernel, r *tool.Result) journal.Record {
	t.Helper()
	k.Approvals.Reserve(r.Approval)
	kerneltest.Settle(t, k, r.Approval, approval.Answer{Approve: true})
	ok(t, k.Approvals.Withdraw(t.Context(), r.Approval))
	asked, err := k.Journal.Read(t.Context(), journal.Query{Call: r.Call, Kind: journal.Asked})
	ok(t, err)
	again := asked[0].About(journal.Asked)
	again.Ask = &journal.Ask{Approval: r.Approval + "again", Verdict: journal.Wait}
	ok(t, k.Journal.Append(again))
	return again
}

// A call of which a human is asked again, because it would do something else by now, goes
// on after a restart: that its first approval does not count any more is no refusal.
func TestAskedAgainIsNoRefusal(t *testing.T) {
	t.Parallel()
	state, workspace := kerneltest.StateDir(t), t.TempDir()
	write(t, filepath.Join(workspace, "x"), "")
	k := kerneltest.Open(t, state)
	r := kerneltest.Call(t, kerneltest.OpenSession(t, k, workspace), "filesystem.delete", `{"path":"x"}`)
	again := askAgain(t, k, r)
	ok(t, k.Close())
	db, err := sqlite.Open(t.Context(), filepath.Join(state, "callgate.db"))
	ok(t, err)
	approvals := db.Stores().Approvals
	second, err := approvals.Get(t.Context(), r.Approval)
	ok(t, err)
	second.ID, second.State, second.Answer = again.Ask.Approval, approval.Pending, nil
	ok(t, approvals.Create(t.Context(), second))
	ok(t, db.Close())
	k = kerneltest.Open(t, state)
	ended, err := k.Journal.Read(t.Context(), journal.Query{Call: r.Call, Kind: journal.Ended})
	ok(t, err)
	if len(ended) > 0 {
		t.Fatalf("it ended: %+v", ended)
	}
	kerneltest.Settle(t, k, second.ID, approval.Answer{Approve: true})
	result, err := k.Collect(t.Context(), r.Call)
	ok(t, err)
	if _, err := os.Stat(filepath.Join(workspace, "x")); result.Status != tool.Success || err == nil {
		t.Errorf("%+v, %v", result, err)
	}
}

// A call that began under its second approval and was cut off is in doubt, whatever became
// of the first one.
func TestDoubtIsNoRefusal(t *testing.T) {
	t.Parallel()
	state := kerneltest.StateDir(t)
	var began atomic.Int64
	k := kerneltest.Open(t, state, begins(t, &began, nil))
	r := kerneltest.Call(t, kerneltest.OpenSession(t, k, t.TempDir()), "t.ask", `{}`)
	again := askAgain(t, k, r)
	ok(t, k.Journal.Append(again.About(journal.Begun)))
	ok(t, k.Close())
	k = kerneltest.Open(t, state, begins(t, &began, nil))
	ended, err := k.Journal.Read(t.Context(), journal.Query{Call: r.Call, Kind: journal.Ended})
	ok(t, err)
	if len(ended) > 0 {
		t.Errorf("it ended: %+v", ended[0].End)
	}
	doubts, err := k.Journal.Read(t.Context(), journal.Query{Call: r.Call, Kind: journal.Doubted})
	ok(t, err)
	if len(doubts) != 1 {
		t.Errorf("%d doubts", len(doubts))
	}
}

// A task that was cancelled before its call began ends the call, at the latest at the next
// start: nobody waits for it for ever.
func TestCancelledBeforeItBegan(t *testing.T) {
	t.Parallel()
	state := kerneltest.StateDir(t)
	var began atomic.Int64
	k := kerneltest.Open(t, state, begins(t, &began, nil))
	s := kerneltest.OpenSession(t, k, t.TempDir())
	r := kerneltest.Call(t, s, "t.ask", `{}`)
	k.Approvals.Reserve(r.Approval) // as one would who is about to be killed
	kerneltest.Settle(t, k, r.Approval, approval.Answer{Approve: true})
	_, _, err := k.Tasks.Store().Create(t.Context(), task.Task{
		ID: "answered-" + r.Approval, Kind: answeredcalls.Kind, Input: []byte(`{"approval":"` + r.Approval + `"}`),
		Asker: task.Asker{Principal: s.Principal(), Call: r.Call},
	})
	ok(t, err)
	ok(t, k.Tasks.Store().Cancel(t.Context(), "answered-"+r.Approval, "ada"))
	ok(t, k.Close())
	k = kerneltest.Open(t, state, begins(t, &began, nil))
	result, err := k.Collect(t.Context(), r.Call)
	ok(t, err)
	if tool.KindOf(result.Err()) != tool.Cancelled || began.Load() != 0 {
		t.Errorf("%+v, began %d times", result, began.Load())
	}
}

// What the app takes from an agent between the question and the answer is refused.
func TestApprovedCallHasTheAgentsModulesOfNow(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	app := func(modules string) {
		write(t, filepath.Join(workspace, "callgate.yaml"), `
agents: [{id: a, brain: {provider: offline}, modules: [`+modules+`]}]
tools: {modules: {filesystem: {}}}
`)
	}
	app("filesystem")
	write(t, filepath.Join(workspace, "x"), "")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	r := kerneltest.Call(t, kerneltest.OpenConversation(t, k, workspace).Session(), "filesystem.delete", `{"path":"x"}`)
	app("filesystem: [read]")
	kerneltest.Settle(t, k, r.Approval, approval.Answer{Approve: true})
	result, err := k.Collect(t.Context(), r.Call)
	ok(t, err)
	if _, err := os.Stat(filepath.Join(workspace, "x")); tool.KindOf(result.Err()) != tool.NotFound || err != nil {
		t.Errorf("%+v, %v", result, err)
	}
}
