package daemon_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/client"
	"callgate/internal/conversation/fitting"
	"callgate/internal/conversation/history"
	"callgate/internal/daemon"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/internal/statedir"
)

// breakable is a client whose connections can be cut, as those of a killed process are.
type breakable struct {
	*client.Client
	mu    sync.Mutex
	conns []net.Conn
}

func newBreakable(state string) *breakable {
	b := &breakable{}
	dial := client.UnixAt(statedir.Dir(state).Socket)
	b.Client = client.New(client.Options{Dial: func(ctx context.Context) (net.Conn, error) {
		c, err := dial(ctx)
		b.mu.Lock()
		defer b.mu.Unlock()
		if err == nil {
			b.conns = append(b.conns, c)
		}
		return c, err
	}})
	return b
}

// cut cuts all connections.
func (b *breakable) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.conns {
		_ = c.Close()
	}
	b.conns = nil
}

// agentFolder is a folder whose agent has a scripted model.
func agentFolder(t *testing.T, policy string, script ...kerneltest.Answer) string {
	t.Helper()
	folder := t.TempDir()
	model := kerneltest.NewModel(t, script...)
	app := "agents: [{id: main, brain: " + model.Brain("openai", "gpt-4o") + "}]\nruntime: {tool_injection: direct}\n" +
		"tools: {modules: {filesystem: {}}, capabilities: {" + policy + "}}\n"
	ok(t, os.WriteFile(filepath.Join(folder, "callgate.yaml"), []byte(app), 0o644))
	return folder
}

func serveAccepted(t *testing.T, state, folder string) *daemon.Daemon {
	t.Helper()
	d, err := daemon.Start(t.Context(), kernel.Config{State: state})
	ok(t, err)
	s, err := openAccepted(t.Context(), d.Kernel, folder)
	ok(t, err)
	s.Close()
	return d
}

func open(t *testing.T, c *client.Client, folder, resume string, keep bool) *client.Conversation {
	t.Helper()
	talk, err := c.OpenConversation(t.Context(), protocol.OpenConversation{
		OpenSession: protocol.OpenSession{Workspace: folder}, Resume: resume, KeepRunning: keep,
	})
	ok(t, err)
	return talk
}

// lastOf is how the last turn of a conversation ended, and why.
func lastOf(t *testing.T, c *client.Client, id string) (last protocol.EndReason, why string) {
	t.Helper()
	h, err := c.History(t.Context(), id)
	ok(t, err)
	for _, e := range h.Log {
		if e.End != nil {
			why = e.End.Error
		}
	}
	return h.Last, why
}

// The client of a turn goes away without stopping it. The turn of a conversation that
// keeps running goes on to its end, and nothing of it stays open; another one is
// interrupted.
func TestTurnWhoseClientIsGone(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{true, false} {
		state, reached, goOn := t.TempDir(), make(chan struct{}), make(chan struct{})
		folder := agentFolder(t, "default_policy: auto",
			kerneltest.Answer{Calls: []string{`filesystem__write {"path":"a","content":"b"}`}, Reached: reached, After: goOn},
			kerneltest.Answer{Text: "written"})
		d := serveAccepted(t, state, folder)
		gone, c := newBreakable(state), dial(state, "")
		talk := open(t, gone.Client, folder, "", keep)
		ended := make(chan error, 1)
		go func() {
			var last error
			for _, err := range talk.Send(t.Context(), "go") {
				last = err
			}
			ended <- last
		}()
		<-reached
		gone.cut()
		if err := <-ended; !client.IsLost(err) {
			t.Errorf("the client is told %v", err)
		}
		if !keep {
			eventually(t, "the end of the turn", func() bool { last, _ := lastOf(t, c, talk.ID); return last != "" })
		}
		close(goOn)
		eventually(t, "the end of the turn", func() bool { last, _ := lastOf(t, c, talk.ID); return last != "" })
		last, why := lastOf(t, c, talk.ID)
		_, written := os.Stat(filepath.Join(folder, "a"))
		if keep && (last != protocol.EndDone || written != nil) {
			t.Errorf("the turn ended as %s: %s, %v", last, why, written)
		}
		if !keep && (last != protocol.EndInterrupted || why != string(history.ClientGone) || written == nil) {
			t.Errorf("the turn ended as %s: %s, %v", last, why, written)
		}
		if keep {
			eventually(t, "the end of the session", func() bool { return d.Kernel.Sessions.Len() == 0 })
		}
		ok(t, d.Stop())
	}
}

// send says a word, and reads the turn to its end, which closes the channel.
func send(t *testing.T, talk *client.Conversation) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range talk.Send(t.Context(), "go") {
		}
	}()
	return ended
}

// Whoever opens a conversation again whose client is gone goes on with its turn.
func TestAbandonedTurnIsTakenOver(t *testing.T) {
	t.Parallel()
	state, reached := t.TempDir(), make(chan struct{})
	folder := agentFolder(t, "default_policy: auto",
		kerneltest.Answer{Text: "never", Reached: reached, After: make(chan struct{})}, kerneltest.Answer{Text: "said again"})
	d := serveAccepted(t, state, folder)
	defer func() { ok(t, d.Stop()) }()
	gone, c := newBreakable(state), dial(state, "")
	talk := open(t, gone.Client, folder, "", true)
	ended := send(t, talk)
	<-reached
	if _, err := c.OpenConversation(t.Context(), protocol.OpenConversation{Resume: talk.ID}); err == nil {
		t.Error("a turn whose client is there was taken over")
	}
	gone.cut()
	<-ended
	var again *client.Conversation
	eventually(t, "the conversation", func() bool {
		var err error
		again, err = c.OpenConversation(t.Context(), protocol.OpenConversation{Resume: talk.ID, KeepRunning: true})
		return err == nil
	})
	if again.Info.Last != protocol.EndInterrupted {
		t.Errorf("it was %q", again.Info.Last)
	}
	var end *protocol.TurnEnd
	for e, err := range again.Resume(t.Context()) {
		ok(t, err)
		end = e.End
	}
	if end == nil || end.Reason != protocol.EndDone {
		t.Errorf("%+v", end)
	}
}

// unanswered says of every refused question that its time was over: the shortest that
// an app may give is half a minute.
type unanswered struct{ fitting.Approvals }

func (u unanswered) Get(ctx context.Context, id string) (approval.Request, error) {
	r, err := u.Approvals.Get(ctx, id)
	if r.State == approval.Denied {
		r.State = approval.Expired
	}
	return r, err
}

// An abandoned turn that asks a human waits, and goes on when somebody answers
// elsewhere; if nobody does, it ends and can be resumed.
func TestAbandonedTurnAsksAHuman(t *testing.T) {
	t.Parallel()
	for _, answered := range []bool{true, false} {
		state, reached, goOn := t.TempDir(), make(chan struct{}), make(chan struct{})
		folder := agentFolder(t, "default_policy: approve",
			kerneltest.Answer{Calls: []string{`filesystem__write {"path":"a","content":"b"}`}, Reached: reached, After: goOn},
			kerneltest.Answer{Text: "so it is"})
		d := serveAccepted(t, state, folder)
		if !answered {
			d.Kernel.Conversations.Approvals = unanswered{d.Kernel.Conversations.Approvals}
		}
		gone, c := newBreakable(state), dial(state, "")
		talk := open(t, gone.Client, folder, "", true)
		ended := send(t, talk)
		<-reached
		gone.cut()
		<-ended
		close(goOn)
		var asked []protocol.Approval
		eventually(t, "the question", func() bool {
			var err error
			asked, err = c.Approvals(t.Context(), protocol.ApprovalPending)
			return err == nil && len(asked) == 1
		})
		elsewhere := approval.Credential{Key: humanKey(t, state), By: "a person", PID: 1}
		ok(t, d.Kernel.Approvals.Answer(t.Context(), elsewhere, asked[0].ID, approval.Answer{}))
		eventually(t, "the end of the turn", func() bool { last, _ := lastOf(t, c, talk.ID); return last != "" })
		last, why := lastOf(t, c, talk.ID)
		if answered && last != protocol.EndDone {
			t.Errorf("after an answer it ended as %s: %s", last, why)
		}
		if !answered && (last != protocol.EndInterrupted || !strings.Contains(why, "nobody answered")) {
			t.Errorf("without an answer it ended as %s: %s", last, why)
		}
		ok(t, d.Stop())
	}
}

// A kernel goes away in the middle of a turn, and another comes: the client goes on
// with the turn there. Between two turns it sends its message to the next kernel.
func TestClientOutlivesItsKernel(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"during a turn", "between turns"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			state, reached := t.TempDir(), make(chan struct{})
			script := []kerneltest.Answer{
				{Calls: []string{`filesystem__write {"path":"a","content":"b"}`}},
				{Text: "never said", Reached: reached, After: make(chan struct{})},
				{Text: "said"},
			}
			if how == "between turns" {
				script = []kerneltest.Answer{{Text: "said"}}
			}
			folder := agentFolder(t, "default_policy: auto", script...)
			d := serveAccepted(t, state, folder)
			conn, err := daemon.Connect(t.Context(), kernel.Config{State: state})
			ok(t, err)
			c := client.New(client.Options{Dial: conn.Dial})
			talk := open(t, c, folder, "", true)
			id, alone := talk.ID, true
			_, err = talk.SetPermissions(t.Context(), protocol.SetPermissions{Unattended: &alone})
			ok(t, err)
			stopped := make(chan struct{})
			stop := func() { ok(t, d.Stop()); close(stopped) }
			if how == "between turns" {
				stop()
			} else {
				go func() { <-reached; stop() }()
			}
			var notices, users []string
			var end *protocol.TurnEnd
			for e, err := range talk.KeepOn(t.Context(), &protocol.SendMessage{Text: "go"}) {
				ok(t, err)
				if e.Notice != "" {
					notices = append(notices, e.Notice)
				}
				if e.Event != nil && e.Event.Type == protocol.EventUser {
					users = append(users, e.Event.Message.Text())
				}
				end = e.End
			}
			<-stopped
			if end == nil || end.Reason != protocol.EndDone || talk.ID != id || len(users) != 1 || end.Info.Turns != 1 {
				t.Errorf("%+v, %q", end, users)
			}
			if how == "during a turn" && (len(notices) != 1 || !strings.Contains(notices[0], "goes on")) {
				t.Errorf("the notices are %q", notices)
			}
			if now, err := talk.CurrentPermissions(t.Context()); err != nil || !now.Unattended {
				t.Errorf("at the next kernel the conversation may do %+v, %v", now, err)
			}
			ok(t, conn.Close())
		})
	}
}

// A kernel that was started for its clients ends with the last of them, at once, and
// not before.
func TestTransientKernel(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	d, err := daemon.StartTransient(t.Context(), kernel.Config{State: state})
	ok(t, err)
	ended := make(chan error, 1)
	go func() { ended <- d.WaitIdle(t.Context(), time.Hour) }()
	one, two := dial(state, ""), dial(state, "")
	s, err := two.OpenSession(t.Context(), protocol.OpenSession{Workspace: t.TempDir()})
	ok(t, err)
	if ends, err := one.Release(t.Context()); err != nil || ends {
		t.Errorf("it ends under a client: %v, %v", ends, err)
	}
	following, stop := context.WithCancel(t.Context())
	begun, heard := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(begun) })
	_, err = s.Call(t.Context(), protocol.CallRequest{Name: "filesystem.list", Args: []byte(`{"path":"."}`)})
	ok(t, err)
	go func() {
		defer close(heard)
		for range one.Follow(following, 0, false) {
			first()
		}
	}()
	ok(t, s.Close(t.Context()))
	<-begun
	if ends, err := two.Release(t.Context()); err != nil || ends {
		t.Errorf("it ends under a request: %v, %v", ends, err)
	}
	time.AfterFunc(20*time.Millisecond, stop) // the kernel sees a moment later that the other has left
	if ends, err := two.Release(t.Context()); err != nil || !ends {
		t.Errorf("it does not end with its last client: %v, %v", ends, err)
	}
	<-heard
	ok(t, <-ended)
	ok(t, d.Stop())
}
