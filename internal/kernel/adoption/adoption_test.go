package adoption_test

import (
	"bufio"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/task"
	"callgate/tool"
)

// team is a folder that nodes share, and the database that they share.
type team struct {
	t      *testing.T
	url    string
	share  string
	folder string // a workspace in it
	user   string // the user's file, which is not there
	model  *kerneltest.Model
}

// newTeam makes one; app is more of the file of the app in the workspace.
func newTeam(t *testing.T, app string, script ...kerneltest.Answer) *team {
	t.Helper()
	share, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	w := &team{
		t: t, url: kerneltest.Postgres.URL(t), share: share, folder: filepath.Join(share, "work"),
		user: filepath.Join(t.TempDir(), "none.yaml"), model: kerneltest.NewModel(t, script...),
	}
	kerneltest.Write(t, filepath.Join(w.folder, "callgate.yaml"), "app: {app_id: team}\nagents: [{id: main, brain: "+
		w.model.Brain("openai", "gpt-4o")+"}]\ntools: {modules: {filesystem: {}, workspace: {}}, capabilities: {default_policy: auto}}\n"+app)
	return w
}

// open opens a node in this process, whose human has accepted the app.
func (w *team) open(state string) *kernel.Kernel {
	w.t.Helper()
	k := w.openUnaccepted(state)
	kerneltest.OpenAccepted(w.t, k, w.folder).Close()
	kernel.NodeOf(k).Folders.GiveBack(w.t.Context())
	return k
}

func (w *team) openUnaccepted(state string) *kernel.Kernel {
	w.t.Helper()
	return kerneltest.OpenWith(w.t, kernel.Config{
		State: state, Storage: w.url, UserFile: w.user, Shared: "team=" + w.share, Node: timing, Tools: marks(w.folder),
		Log: slog.New(slog.NewTextHandler(w.t.Output(), nil)),
	})
}

// start has another process be a node that does something, and returns what it tells, and what kills it.
func (w *team) start(d doomed) (tells said, kill func()) {
	t := w.t
	t.Helper()
	d.URL, d.User, d.Shared, d.Folder = w.url, w.user, "team="+w.share, w.folder
	ok(t, w.open(d.State).Close()) // its human accepts the app
	value, err := json.Marshal(d)
	ok(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), doomedVariable+"="+string(value))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	ended := false
	kill = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadBytes('\n')
	ok(t, err)
	ok(t, json.Unmarshal(line, &tells))
	return tells, kill
}

// marked are the marks that were left, in their order.
func (w *team) marked() string {
	data, _ := os.ReadFile(filepath.Join(w.folder, "marks"))
	return strings.Join(strings.Fields(string(data)), " ")
}

// has waits until a node has a conversation.
func has(t *testing.T, k *kernel.Kernel, id string) {
	t.Helper()
	kerneltest.Eventually(t, func() bool {
		_, err := k.Conversations.Store.Get(t.Context(), id)
		return err == nil
	})
}

// verified fails if the journal of a node is not whole.
func verified(t *testing.T, k *kernel.Kernel) {
	t.Helper()
	report, err := k.Journal.Verify(t.Context())
	if err != nil || !report.OK() {
		t.Errorf("the journal: %+v, %v", report, err)
	}
}

// A turn of a node that was killed in the middle of a call goes on at another: what had ended is told, what had begun is
// in doubt, and nothing is made twice. The dead node finds, when it comes back, that the conversation is another's.
func TestTurnGoesOnAtAnotherNode(t *testing.T) {
	t.Parallel()
	w := newTeam(t, "", kerneltest.Answer{Calls: []string{`demo__mark {"mark":"one"}`}},
		kerneltest.Answer{Calls: []string{`demo__mark {"mark":"two","hang":true}`}})
	state := kerneltest.StateDir(t)
	b := w.open(kerneltest.StateDir(t))
	a, kill := w.start(doomed{State: state, Say: "leave marks"})
	kerneltest.Eventually(t, func() bool { return w.marked() == "one two" })
	if _, err := b.Conversations.Store.Get(t.Context(), a.Conversation); tool.KindOf(err) != tool.NotFound {
		t.Fatalf("it is at another node while its own lives: %v", err)
	}
	kill()
	has(t, b, a.Conversation)
	w.model.Play(kerneltest.Answer{Text: "done"})
	c := kerneltest.Resume(t, b, a.Conversation)
	end, err := c.Resume(t.Context(), conversation.Watch{})
	if err != nil || end.Reason != history.Done {
		t.Fatalf("the turn: %+v, %v", end, err)
	}
	if got := w.marked(); got != "one two" {
		t.Errorf("the marks are %q", got)
	}
	if last := w.model.Last(); !strings.Contains(last, `\"marked\":\"one\"`) && !strings.Contains(last, "one") ||
		!strings.Contains(last, "may or may not have happened") {
		t.Errorf("the model was asked %s", last)
	}
	doubts, err := b.Journal.Read(t.Context(), journal.Query{Kind: journal.Doubted})
	ok(t, err)
	if len(doubts) != 1 || doubts[0].Tool == "" {
		t.Errorf("in doubt at the other node are %+v", doubts)
	}
	verified(t, b)
	returned := w.openUnaccepted(state)
	if _, err := returned.Conversations.Store.Get(t.Context(), a.Conversation); tool.KindOf(err) != tool.NotFound {
		t.Errorf("the node that came back has it: %v", err)
	}
	_, err = returned.Conversations.Open(t.Context(), conversation.Spec{Workspace: w.folder})
	if tool.KindOf(err) != tool.Conflict {
		t.Errorf("it works in the folder that is another's by now: %v", err)
	}
	verified(t, returned)
	if got := w.marked(); got != "one two" {
		t.Errorf("the marks are %q", got)
	}
}

// What waits for a human at a node that was killed waits at another, under its ID, and its call is made there, once.
func TestApprovalIsAnsweredAtAnotherNode(t *testing.T) {
	t.Parallel()
	w := newTeam(t, "")
	state := kerneltest.StateDir(t)
	b := w.open(kerneltest.StateDir(t))
	a, kill := w.start(doomed{State: state, Calls: []string{`demo.ask {"mark":"yes"}`, `demo.ask {"mark":"no"}`}})
	kill()
	yes, no := a.Results[0], a.Results[1]
	if yes.Status != tool.Waiting || no.Status != tool.Waiting {
		t.Fatalf("the calls: %+v, %+v", yes, no)
	}
	has(t, b, a.Conversation)
	pending, err := b.Approvals.List(t.Context(), approval.Pending, 0)
	ok(t, err)
	if len(pending) != 2 {
		t.Fatalf("%d approvals wait", len(pending))
	}
	kerneltest.Settle(t, b, yes.Approval, approval.Answer{Approve: true})
	kerneltest.Settle(t, b, no.Approval, approval.Answer{Feedback: "leave it"})
	if r, err := b.Collect(t.Context(), yes.Call); err != nil || r.Status != tool.Success {
		t.Errorf("the approved call: %+v, %v", r, err)
	}
	if r, err := b.Collect(t.Context(), no.Call); err != nil || r.Status != tool.Refused {
		t.Errorf("the refused call: %+v, %v", r, err)
	}
	returned := w.openUnaccepted(state)
	if left, err := returned.Approvals.List(t.Context(), "", 0); err != nil || len(left) != 0 {
		t.Errorf("the node that came back has %+v, %v", left, err)
	}
	if got := w.marked(); got != "yes" {
		t.Errorf("the marks are %q", got)
	}
	verified(t, b)
	verified(t, returned)
}

// Calls in the background and schedules of a node that was killed go on at another: a call that had begun is in doubt,
// one that is due is made.
func TestTasksGoOnAtAnotherNode(t *testing.T) {
	t.Parallel()
	w := newTeam(t, "runtime: {scheduler: true}\n")
	state := kerneltest.StateDir(t)
	b := w.open(kerneltest.StateDir(t))
	a, kill := w.start(doomed{State: state, Calls: []string{
		`schedule {"when":"in 2s","action":"demo.mark","args":{"mark":"due"}}`,
		`background_run {"name":"demo.mark","params":{"mark":"began","hang":true}}`,
	}})
	for i, r := range a.Results {
		if r.Status != tool.Success {
			t.Fatalf("call %d: %s", i, r.Summary)
		}
	}
	kerneltest.Eventually(t, func() bool { return w.marked() == "began" })
	kill()
	has(t, b, a.Conversation)
	kerneltest.Eventually(t, func() bool { return w.marked() == "began due" })
	kerneltest.Eventually(t, func() bool {
		list, err := b.Tasks.Store().List(t.Context(), task.Query{Parent: a.Conversation, Active: true})
		return err == nil && len(list) == 0
	})
	list, err := b.Tasks.Store().List(t.Context(), task.Query{Parent: a.Conversation, State: task.InDoubt})
	ok(t, err)
	if len(list) != 1 {
		all, _ := b.Tasks.Store().List(t.Context(), task.Query{Parent: a.Conversation})
		t.Errorf("in doubt are %+v of %+v", list, all)
	}
	returned := w.openUnaccepted(state)
	if left, err := returned.Tasks.Store().List(t.Context(), task.Query{}); err != nil || len(left) != 0 {
		t.Errorf("the node that came back has %+v, %v", left, err)
	}
	if got := w.marked(); got != "began due" {
		t.Errorf("the marks are %q", got)
	}
}

// Of two nodes that could go on with what a third left, one does.
func TestOneNodeGoesOn(t *testing.T) {
	t.Parallel()
	w := newTeam(t, "")
	b, c := w.open(kerneltest.StateDir(t)), w.open(kerneltest.StateDir(t))
	a, kill := w.start(doomed{State: kerneltest.StateDir(t), Calls: []string{`demo.ask {"mark":"yes"}`}})
	kill()
	var at *kernel.Kernel
	kerneltest.Eventually(t, func() bool {
		for _, k := range []*kernel.Kernel{b, c} {
			if _, err := k.Conversations.Store.Get(t.Context(), a.Conversation); err == nil {
				at = k
			}
		}
		return at != nil
	})
	for range 20 { // the other looks again meanwhile
		<-time.After(100 * time.Millisecond)
		both := 0
		for _, k := range []*kernel.Kernel{b, c} {
			list, err := k.Approvals.List(t.Context(), approval.Pending, 0)
			ok(t, err)
			both += len(list)
		}
		if both != 1 {
			t.Fatalf("%d approvals wait", both)
		}
	}
}
