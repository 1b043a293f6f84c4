package daemon_test

import (
	"context"
	"strings"
	"testing"

	"callgate/internal/client"
	"callgate/internal/daemon"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/internal/task"
)

// tell leaves a notice for a conversation.
func tell(t *testing.T, k *kernel.Kernel, conversation, id, text string) {
	t.Helper()
	_, _, err := k.Conversations.Tasks.Create(t.Context(), task.Task{
		ID: id, Kind: task.Notice, Parent: conversation, Outcome: &task.Outcome{State: task.Done, Summary: text},
	})
	ok(t, err)
	k.Conversations.Wake(conversation)
}

// attending has a conversation go on whenever it should, and returns how the turns ended.
func attending(ctx context.Context, t *testing.T, c *client.Conversation) <-chan protocol.TurnEnd {
	ends := make(chan protocol.TurnEnd, 8)
	go func() {
		defer close(ends)
		for range c.Attend(ctx) {
			for e, err := range c.Wake(ctx) {
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				if e.End != nil && e.End.Reason != "" {
					ends <- *e.End
				}
			}
		}
	}()
	return ends
}

// A client that attends a conversation is told that it should go on, and has the turn
// like one of its own. When its connections are cut, nobody is woken; whoever opens the
// conversation next is.
func TestClientAttends(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	folder := agentFolder(t, "default_policy: auto",
		kerneltest.Answer{Calls: []string{`filesystem__write {"path":"a","content":"b"}`}}, kerneltest.Answer{Text: "written"},
		kerneltest.Answer{Text: "and that"})
	d := serveAccepted(t, state, folder)
	defer func() { ok(t, d.Stop()) }()
	gone := newBreakable(state)
	talk := open(t, gone.Client, folder, "", true)
	var seen []string
	ctx, leave := context.WithCancel(t.Context())
	told := make(chan struct{})
	go func() {
		defer close(told)
		for range talk.Attend(ctx) {
			for e, err := range talk.Wake(ctx) {
				ok(t, err)
				switch {
				case e.Event != nil:
					seen = append(seen, string(e.Event.Type))
				case e.Call != nil, e.Result != nil:
					seen = append(seen, "call")
				case e.End != nil:
					return
				}
			}
		}
	}()
	tell(t, d.Kernel, talk.ID, "n1", "the build is done")
	<-told
	if got := strings.Join(seen, " "); !strings.HasPrefix(got, "woken note assistant tool_call call") || !strings.HasSuffix(got, "assistant turn_ended") {
		t.Errorf("the client saw %s", got)
	}
	ends := attending(ctx, t, talk)
	gone.cut()
	eventually(t, "that nobody attends", func() bool { return d.Kernel.Sessions.Len() == 1 })
	tell(t, d.Kernel, talk.ID, "n2", "nobody is here")
	leave()
	for end := range ends {
		t.Errorf("a client that left was woken: %+v", end)
	}
	again := open(t, dial(state, ""), folder, talk.ID, true)
	back, stop := context.WithCancel(t.Context())
	if end := <-attending(back, t, again); end.Reason != protocol.EndDone {
		t.Errorf("%+v", end)
	}
	stop()
}

// A kernel goes away between two turns, and another comes: the client attends there.
func TestAttendanceOutlivesItsKernel(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	folder := agentFolder(t, "default_policy: auto", kerneltest.Answer{Text: "I see"}, kerneltest.Answer{Text: "that too"})
	d := serveAccepted(t, state, folder)
	c := dial(state, "")
	talk := open(t, c, folder, "", true)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	ends := attending(ctx, t, talk)
	tell(t, d.Kernel, talk.ID, "n1", "the build is done")
	if end := <-ends; end.Reason != protocol.EndDone || end.Info.Turns != 1 {
		t.Errorf("%+v", end)
	}
	ok(t, d.Stop())
	d, err := daemon.Start(t.Context(), kernel.Config{State: state})
	ok(t, err)
	defer func() { ok(t, d.Stop()) }()
	tell(t, d.Kernel, talk.ID, "n2", "it goes on")
	if end := <-ends; end.Reason != protocol.EndDone || end.Info.Turns != 2 {
		t.Errorf("%+v", end)
	}
	leave()
	for range ends {
	}
}

// A client that stops a turn which began by itself has it stopped, like one of its own.
func TestStopATurnThatBeganByItself(t *testing.T) {
	t.Parallel()
	state, reached := t.TempDir(), make(chan struct{})
	folder := agentFolder(t, "default_policy: auto", kerneltest.Answer{Text: "never", Reached: reached, After: make(chan struct{})})
	d := serveAccepted(t, state, folder)
	defer func() { ok(t, d.Stop()) }()
	c := dial(state, "")
	talk := open(t, c, folder, "", true)
	ends := attending(t.Context(), t, talk)
	tell(t, d.Kernel, talk.ID, "n1", "the build is done")
	<-reached
	if stopped, err := c.CancelTurn(t.Context(), talk.ID); err != nil || !stopped {
		t.Errorf("%v, %v", stopped, err)
	}
	if end := <-ends; end.Reason != protocol.EndCancelled {
		t.Errorf("%+v", end)
	}
}
