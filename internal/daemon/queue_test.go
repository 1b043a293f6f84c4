package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/daemon"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
)

// A client steers a turn that runs: its words are taken at the next step and the
// events of the turn say so; what is not taken comes back with the end.
func TestClientQueuesMessages(t *testing.T) {
	t.Parallel()
	state, folder := t.TempDir(), t.TempDir()
	first, goOn := make(chan struct{}), make(chan struct{})
	last := make(chan struct{})
	model := kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`filesystem__list {"path":"."}`}, Reached: first, After: goOn},
		kerneltest.Answer{Text: "never said", Reached: last, After: make(chan struct{})})
	app := "agents: [{id: main, brain: " + model.Brain("openai", "gpt-4o") + "}]\nruntime: {tool_injection: direct}\n" +
		"tools: {modules: {filesystem: {}}, capabilities: {default_policy: auto}}\n"
	ok(t, os.WriteFile(filepath.Join(folder, "callgate.yaml"), []byte(app), 0o644))
	d, err := daemon.Start(t.Context(), kernel.Config{State: state})
	ok(t, err)
	defer func() { ok(t, d.Stop()) }()
	s, err := openAccepted(t.Context(), d.Kernel, folder)
	ok(t, err)
	s.Close()
	c := dial(state, "")
	talk, err := c.OpenConversation(t.Context(), protocol.OpenConversation{
		OpenSession: protocol.OpenSession{Workspace: folder},
	})
	ok(t, err)
	var taken []string
	var end *protocol.TurnEnd
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for e, err := range talk.Send(t.Context(), "go") {
			switch {
			case err != nil:
				t.Error(err)
			case e.Event != nil && e.Event.Type == protocol.EventUser && e.Event.Queued != 0:
				taken = append(taken, e.Event.Message.Text())
			case e.End != nil:
				end = e.End
			}
		}
	}()
	<-first
	for _, words := range []string{"one", "two", "three"} {
		if q, err := talk.Queue(t.Context(), words); err != nil || q == nil || q.Text != words || q.ID == 0 {
			t.Fatalf("%+v, %v", q, err)
		}
	}
	if q, err := talk.Unqueue(t.Context()); err != nil || q == nil || q.Text != "three" {
		t.Fatalf("%+v, %v", q, err)
	}
	close(goOn)
	<-last
	_, err = talk.Queue(t.Context(), "four")
	ok(t, err)
	if stopped, err := c.CancelTurn(t.Context(), talk.ID); err != nil || !stopped {
		t.Fatalf("%v, %v", stopped, err)
	}
	<-ended
	if got := strings.Join(taken, ","); got != "one,two" {
		t.Errorf("the turn took %q", got)
	}
	if end == nil || end.Reason != protocol.EndCancelled || len(end.Returned) != 1 || end.Returned[0].Text != "four" {
		t.Errorf("%+v", end)
	}
	if q, err := talk.Queue(t.Context(), "five"); err != nil || q != nil {
		t.Errorf("without a turn: %+v, %v", q, err)
	}
}
