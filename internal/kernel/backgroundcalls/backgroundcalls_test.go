package backgroundcalls_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/permission"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/internal/token"
	"callgate/tool"
)

// The five modes, in both spellings.
func TestModes(t *testing.T) {
	t.Parallel()
	for name, spelling := range map[string]struct{ launch, list string }{
		"as documented":       {`{"name":"demo.work","params":{"a":1}}`, `{"list":true}`},
		"as elsewhere":        {`{"tool":"demo.work","args":{"a":1}}`, `{"list_tasks":true}`},
		"arguments as text":   {`{"tool_name":"demo.work","arguments":"{\"a\":1}"}`, `{"list":true,"task_id":"x","cancel":true}`},
		"through execute":     {`{"name":"execute_tool","params":{"name":"demo.work","params":{"a":1}}}`, `{"list":true}`},
		"beside the name":     {`{"name":"demo.work","a":1,"timeout":5}`, `{"list":true}`},
		"a name for the wire": {`{"name":"demo__work","input":{"a":1}}`, `{"list":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := newGated()
			k := kerneltest.Open(t, kerneltest.StateDir(t), work.tool(t, writes))
			s := kerneltest.OpenAccepted(t, k, inFolder(t, free))
			r, begun := run(t, s, spelling.launch)
			if r.Status != tool.Success || begun.Status != "running" || len(begun.TaskID) != 12 || begun.ToolName != "demo.work" ||
				begun.Hint == "" || begun.StartedAt.IsZero() || !begun.FinishedAt.IsZero() {
				t.Fatalf("%+v: %+v", r, begun)
			}
			<-work.began
			id := begun.TaskID
			if args := records(t, k, id+".call", journal.Asked)[0].Ask.Args; string(args) != `{"a":1}` {
				t.Errorf("called with %s", args)
			}
			if _, at := run(t, s, of(id, "")); at.Status != "running" || at.ElapsedSeconds < 0.2 {
				t.Errorf("%+v", at)
			}
			if r, at := run(t, s, of(id, `"wait":true,"timeout":1`)); r.Status != tool.Success || at.Status != "running" {
				t.Errorf("after waiting: %+v", at)
			}
			var all struct{ Total, Running, Completed, Failed int }
			r, _ = run(t, s, spelling.list)
			ok(t, json.Unmarshal(r.Data, &all))
			if all.Total != 1 || all.Running != 1 {
				t.Errorf("%s", r.Data)
			}
			close(work.leave)
			r, at := run(t, s, of(id, `"wait":true`))
			if at.Status != "completed" || string(at.Result) != `{"done":true}` || at.FinishedAt.IsZero() {
				t.Errorf("%+v %s", at, r.Data)
			}
			if r, at := run(t, s, of(id, `"cancel":true`)); r.Status != tool.Success || at.Status != "completed" {
				t.Errorf("cancelling what has ended: %+v", r)
			}
		})
	}
}

func records(t testing.TB, k *kernel.Kernel, call string, kind journal.Kind) []journal.Record {
	t.Helper()
	list, err := k.Journal.Read(t.Context(), journal.Query{Call: call, Kind: kind})
	ok(t, err)
	return list
}

// What cannot be begun is refused at once, by the gate where the rules say so.
func TestRefusedAtOnce(t *testing.T) {
	t.Parallel()
	work := newGated()
	k := kerneltest.Open(t, kerneltest.StateDir(t), work.tool(t, writes))
	folder := inFolder(t, "tools:\n  capabilities: {default_policy: auto, deny: [{module: shell}]}\n")
	s := kerneltest.OpenAccepted(t, k, folder)
	for name, test := range map[string]struct {
		args, says string
		kind       tool.Kind
	}{
		"itself":            {`{"name":"background_run","params":{"list":true}}`, "cannot run in the background", tool.Invalid},
		"run_parallel":      {`{"name":"run_parallel","params":{"actions":[]}}`, "cannot run in the background", tool.Invalid},
		"nested in execute": {`{"name":"execute_tool","params":{"name":"background_run"}}`, "cannot run", tool.Invalid},
		"nothing":           {`{}`, "neither a tool nor a task", tool.Invalid},
		"denied":            {`{"name":"shell.bash","params":{"command":"true"}}`, "shell.bash", tool.Denied},
		"no such tool":      {`{"name":"demo.wrok"}`, "demo.work", tool.NotFound},
		"bad parameters":    {`{"name":"filesystem.read","params":{"pth":"x"}}`, "path", tool.Invalid},
		"a file not there":  {`{"name":"filesystem.read","params":{"path":"none"}}`, "none", tool.NotFound},
		"a bad pattern":     {`{"name":"demo.work","notify_when":"/(/"}`, "regular expression", tool.Invalid},
		"a bad signal":      {of("0123456789ab", `"signal":"SIGFOO"`), "no signal", tool.Invalid},
		"no such task":      {of("0123456789ab", ""), "no task", tool.NotFound},
		"stdin for none":    {`{"name":"demo.work","stdin":"x"}`, "task_id", tool.Invalid},
		"too long":          {of("0123456789ab", `"timeout":3601`), "3600", tool.Invalid},
	} {
		r, _ := run(t, s, test.args)
		if tool.KindOf(r.Err()) != test.kind || !strings.Contains(r.Summary, test.says) {
			t.Errorf("%s: %s %q", name, r.Status, r.Summary)
		}
	}
	for _, left := range listed(t, k) {
		if left.Owed() || !left.State.Final() {
			t.Errorf("%+v", left)
		}
	}
}

func listed(t testing.TB, k *kernel.Kernel) []task.Task {
	t.Helper()
	list, err := k.Tasks.Store().List(t.Context(), task.Query{Kinds: []string{"call"}})
	ok(t, err)
	return list
}

// Beginning twice with one call is once, also by the next kernel.
func TestBeginningTwiceIsOnce(t *testing.T) {
	t.Parallel()
	state, folder, work := kerneltest.StateDir(t), inFolder(t, free), newGated()
	k := kerneltest.Open(t, state, work.tool(t, writes))
	s := kerneltest.OpenAccepted(t, k, folder)
	begin := func(k *kernel.Kernel, s *session.Session) string {
		t.Helper()
		r := s.Call(t.Context(), session.CallRequest{ID: "c1", Name: "background_run", Args: []byte(`{"name":"demo.work"}`)})
		var told struct {
			ID string `json:"task_id"`
		}
		ok(t, json.Unmarshal(r.Data, &told))
		return told.ID
	}
	close(work.leave)
	first := begin(k, s)
	ended(t, k, first)
	if again := begin(k, s); again != first || len(work.began) != 1 {
		t.Errorf("%s, then %s; it ran %d times", first, again, len(work.began))
	}
}

// What needs a human waits for one, and says so; a task that is cancelled meanwhile
// asks no longer.
func TestWaitsForAHuman(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"yes": "completed", "no": "failed", "cancelled": "cancelled"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kerneltest.Open(t, kerneltest.StateDir(t))
			folder := inFolder(t, "app: {app_id: a}\n")
			write(t, filepath.Join(folder, "x"), "")
			s := kerneltest.OpenSession(t, k, folder)
			_, begun := run(t, s, `{"name":"filesystem.delete","params":{"path":"x"}}`)
			request := asked(t, k)
			_, at := run(t, s, of(begun.TaskID, ""))
			if at.Status != "running" || at.Approval != request.ID || !strings.Contains(at.Hint, "human") {
				t.Errorf("%+v", at)
			}
			switch name {
			case "cancelled":
				run(t, s, of(begun.TaskID, `"cancel":true`))
				kerneltest.Eventually(t, func() bool {
					now, err := k.Approvals.Get(t.Context(), request.ID)
					ok(t, err)
					return now.State == approval.Denied
				})
			default:
				kerneltest.Settle(t, k, request.ID, approval.Answer{Approve: name == "yes"})
			}
			if _, at := run(t, s, of(begun.TaskID, `"wait":true`)); at.Status != answer {
				t.Errorf("%+v", at)
			}
			if _, err := os.Stat(filepath.Join(folder, "x")); (err != nil) != (name == "yes") {
				t.Errorf("the file: %v", err)
			}
		})
	}
}

// Where nobody answers, a call of the turn is refused at once (TestTurnRefusesWhatNobodyCanAnswer).
// One in the background outlives the turn, and waits for whoever comes.
func TestWaitsForWhoeverComes(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := inFolder(t, "app: {app_id: a}\n")
	write(t, filepath.Join(folder, "x"), "")
	s := kerneltest.OpenSession(t, k, folder)
	k.Permissions.Change(s.ID(), func(now permission.State) permission.State {
		now.Unattended = true
		return now
	})
	_, begun := run(t, s, `{"name":"filesystem.delete","params":{"path":"x"}}`)
	kerneltest.Settle(t, k, asked(t, k).ID, approval.Answer{Approve: true})
	if _, at := run(t, s, of(begun.TaskID, `"wait":true`)); at.Status != "completed" {
		t.Errorf("%+v", at)
	}
}

// Tasks belong to who began them. For others they do not exist.
func TestOwners(t *testing.T) {
	t.Parallel()
	const app = free + "profiles: {part: {modules: [demo]}}\n"
	state, folder, other, work := kerneltest.StateDir(t), inFolder(t, app), inFolder(t, app), newGated()
	k := kerneltest.Open(t, state, work.tool(t, writes))
	for _, f := range []string{folder, other} {
		kerneltest.OpenAccepted(t, k, f).Close()
	}
	open := func(spec session.Spec) *session.Session {
		t.Helper()
		s, err := k.OpenSession(t.Context(), spec)
		ok(t, err)
		return s
	}
	owner := session.Spec{Workspace: folder, Agent: "one"}
	s := open(owner)
	_, begun := run(t, s, `{"name":"demo.work"}`)
	made, _, err := k.Tokens.Create(t.Context(), kerneltest.Human(t, k), token.Token{Role: token.Operator})
	ok(t, err)
	strangers := map[string]session.Spec{
		"another folder": {Workspace: other, Agent: "one"}, "another agent": {Workspace: folder, Agent: "two"},
		"another lane":     {Workspace: folder, Agent: "one", Lane: "edge"},
		"another profile":  {Workspace: folder, Agent: "one", Profile: "part"},
		"another token":    {Workspace: folder, Agent: "one", Requester: approval.Requester{Token: made.ID}},
		"without the tool": {Workspace: folder, Agent: "one", Only: map[string][]string{"filesystem": nil}},
	}
	refused := func(when string, spec session.Spec) {
		t.Helper()
		s := open(spec)
		defer s.Close()
		for _, args := range []string{"", `"wait":true,"timeout":1`, `"cancel":true`, `"signal":"SIGINT"`, `"stdin":"x"`} {
			r, _ := run(t, s, of(begun.TaskID, args))
			unknown, _ := run(t, s, of("000000000000", args))
			if tool.KindOf(r.Err()) != tool.NotFound || strings.ReplaceAll(r.Summary, begun.TaskID, "000000000000") != unknown.Summary {
				t.Errorf("%s: %s: %s", when, args, r.Summary)
			}
		}
		if r, _ := run(t, s, `{"list":true}`); strings.Contains(string(r.Data), begun.TaskID) {
			t.Errorf("%s: %s", when, r.Data)
		}
	}
	for when, spec := range strangers {
		refused(when, spec)
	}
	refused("the same one, beside the one that began it", owner)
	s.Close()
	for when, spec := range strangers {
		refused(when+", when it is gone", spec)
	}
	s = open(owner)
	if r, _ := run(t, s, `{"list":true}`); !strings.Contains(string(r.Data), begun.TaskID) {
		t.Errorf("whoever began it came back: %s", r.Data)
	}
	if _, at := run(t, s, of(begun.TaskID, `"cancel":true`)); at.Status != "cancelled" {
		t.Errorf("whoever began it came back: %+v", at)
	}
}

// A session has a hundred tasks at once, and no more.
func TestLimit(t *testing.T) {
	t.Parallel()
	work := newGated()
	k := kerneltest.Open(t, kerneltest.StateDir(t), work.tool(t, tool.Runtime{Risk: tool.Low, SideEffect: tool.None}))
	s := kerneltest.OpenAccepted(t, k, inFolder(t, free))
	for i := range 100 {
		if r, _ := run(t, s, `{"name":"demo.work","settle":0}`); r.Status != tool.Success {
			t.Fatalf("task %d: %+v", i, r)
		}
	}
	r, _ := run(t, s, `{"name":"demo.work","settle":0}`)
	if tool.KindOf(r.Err()) != tool.Limited {
		t.Errorf("%+v", r)
	}
	close(work.leave)
}

// After a crash: what never began is made, what ended has its result, and what began
// and did not end is in doubt, told so, and never made again.
func TestAfterACrash(t *testing.T) {
	t.Parallel()
	state, folder, work := kerneltest.StateDir(t), inFolder(t, free), newGated()
	k := kerneltest.Open(t, state, work.tool(t, writes))
	s := kerneltest.OpenAccepted(t, k, folder)
	_, cut := run(t, s, `{"name":"demo.work"}`)
	<-work.began
	_, done := run(t, s, `{"name":"filesystem.write","params":{"path":"a.txt","content":"x"},"settle":5}`)
	if done.Status != "completed" {
		t.Fatalf("%+v", done)
	}
	crash(t, k, state)
	ok(t, os.Remove(filepath.Join(folder, "a.txt")))
	ran := 0
	k = kerneltest.Open(t, state, kerneltest.NewTool(t, "demo.work", writes, func(context.Context) (any, error) {
		ran++
		return nil, nil
	}))
	if got := ended(t, k, cut.TaskID); got.State != task.InDoubt || ran != 0 {
		t.Errorf("%s, after %d more runs", got.State, ran)
	}
	s = kerneltest.OpenSession(t, k, folder)
	if r, at := run(t, s, of(cut.TaskID, "")); at.Status != "in_doubt" || !strings.Contains(at.Hint, "may or may not") ||
		len(r.Warnings) > 0 {
		t.Errorf("%+v, %q", at, r.Warnings)
	}
	if _, at := run(t, s, of(done.TaskID, "")); at.Status != "completed" {
		t.Errorf("%+v", at)
	}
	if _, err := os.Stat(filepath.Join(folder, "a.txt")); err == nil {
		t.Error("what had ended was made again")
	}
	if r := kerneltest.Call(t, s, "filesystem.list", `{}`); len(r.Warnings) > 0 {
		t.Errorf("told twice: %q", r.Warnings)
	}
}

// A task that was stored and never began is begun by the next kernel.
func TestTaskThatNeverBegan(t *testing.T) {
	t.Parallel()
	state, folder := kerneltest.StateDir(t), inFolder(t, "app: {app_id: a}\n")
	write(t, filepath.Join(folder, "x"), "")
	k := kerneltest.Open(t, state)
	s := kerneltest.OpenSession(t, k, folder)
	_, begun := run(t, s, `{"name":"filesystem.delete","params":{"path":"x"}}`)
	id := asked(t, k).ID
	crash(t, k, state)
	k = kerneltest.Open(t, state)
	if stored(t, k, begun.TaskID).State.Final() {
		t.Fatal("it did not wait")
	}
	kerneltest.Settle(t, k, id, approval.Answer{Approve: true})
	if got := ended(t, k, begun.TaskID); got.State != task.Done {
		t.Errorf("%+v", got.Outcome)
	}
	if n := len(records(t, k, begun.TaskID+".call", journal.Begun)); n != 1 {
		t.Errorf("begun %d times", n)
	}
}

// A kernel that ends with its command leaves nothing running, and says so.
func TestShortLivedKernel(t *testing.T) {
	t.Parallel()
	k := kerneltest.OpenWith(t, kernel.Config{State: kerneltest.StateDir(t), ShortLived: true})
	s := kerneltest.OpenSession(t, k, t.TempDir())
	if r, _ := run(t, s, `{"name":"filesystem.list"}`); tool.KindOf(r.Err()) != tool.Unavailable {
		t.Errorf("%+v", r)
	}
	if r, _ := run(t, s, `{"list":true}`); r.Status != tool.Success {
		t.Errorf("%+v", r)
	}
}

// A call whose kernel ended before it answered is made again, perhaps at a kernel that ends
// with its command: that one tells of the task that is there, and never that nothing began.
func TestShortLivedKernelTellsOfWhatWasBegun(t *testing.T) {
	t.Parallel()
	state, folder, work := kerneltest.StateDir(t), inFolder(t, free), newGated()
	launch := session.CallRequest{ID: "c1", Name: "background_run", Args: []byte(`{"name":"demo.work"}`)}
	k := kerneltest.Open(t, state, work.tool(t, writes))
	close(work.leave)
	s := kerneltest.OpenAccepted(t, k, folder)
	first := s.Call(t.Context(), launch)
	ok(t, first.Err())
	ended(t, k, listed(t, k)[0].ID)
	ok(t, k.Close())
	k = kerneltest.OpenWith(t, kernel.Config{State: state, ShortLived: true, Tools: []*tool.Tool{work.tool(t, writes)}})
	s = kerneltest.OpenAccepted(t, k, folder)
	r := s.Call(t.Context(), launch)
	if r.Err() != nil || !strings.Contains(string(r.Data), listed(t, k)[0].ID) || len(work.began) != 1 {
		t.Errorf("%v %s; it ran %d times", r.Err(), r.Data, len(work.began))
	}
	launch.ID = "c2"
	if r := s.Call(t.Context(), launch); tool.KindOf(r.Err()) != tool.Unavailable {
		t.Errorf("another one: %+v", r)
	}
}

// The list has those that run first, then by when they began.
func TestList(t *testing.T) {
	t.Parallel()
	work := newGated()
	k := kerneltest.Open(t, kerneltest.StateDir(t), work.tool(t, writes))
	s := kerneltest.OpenAccepted(t, k, inFolder(t, free))
	_, first := run(t, s, `{"name":"filesystem.list","settle":5}`)
	_, second := run(t, s, `{"name":"demo.work"}`)
	run(t, s, `{"name":"filesystem.read","params":{"path":"none"},"settle":5}`)
	r, _ := run(t, s, `{"list":true}`)
	var all struct {
		Tasks                             []struct{ Task_id, Status string }
		Total, Running, Completed, Failed int
	}
	ok(t, json.Unmarshal(r.Data, &all))
	got := fmt.Sprint(all.Total, all.Running, all.Completed, all.Failed)
	if got != "3 1 1 1" || all.Tasks[0].Task_id != second.TaskID || all.Tasks[1].Task_id != first.TaskID {
		t.Errorf("%s: %s", got, r.Data)
	}
	close(work.leave)
}
