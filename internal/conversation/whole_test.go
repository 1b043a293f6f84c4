package conversation_test

import (
	"path/filepath"
	"sync"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// Whoever finds a conversation or its session finds it whole, also while it is
// being opened: with its agent, its lane, its surface, and the rules of its agent.
func TestFoundConversationsAreWhole(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), `
agents: [{id: reader, modules: [{filesystem: [read]}]}]
tools: {modules: {filesystem: {}}, capabilities: {default_policy: auto}}
`)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	first := kerneltest.OpenConversation(t, k, folder)
	id := first.ID()
	stop := make(chan struct{})
	var finders sync.WaitGroup
	found := make(chan struct{}, 1)
	for range 3 {
		finders.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if c, err := k.Conversations.Get(id); err == nil {
					if c.Agent().ID != "reader" || c.Plan() == nil || c.Info().ID != id || c.Model().Provider == "" ||
						c.Prompt().Text() == "" {
						t.Error("a conversation is found half open")
						return
					}
				}
				s, err := k.Sessions.Get(id)
				if err != nil {
					continue
				}
				if s.Principal().Agent != "reader" || s.App() == nil {
					t.Errorf("a session is found half open: %+v", s.Principal())
					return
				}
				r := s.Call(t.Context(), session.CallRequest{Name: "filesystem.write", Args: []byte(`{"path":"x","content":"x"}`)})
				if kind := tool.KindOf(r.Err()); kind != tool.NotFound && kind != tool.Denied && kind != tool.Unavailable {
					t.Errorf("a session is found without its agent's restrictions: %+v", r)
					return
				}
				select {
				case found <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 40 {
		if _, err := k.Conversations.Open(t.Context(), conversation.Spec{Resume: id}); err != nil {
			t.Error(err)
			break
		}
		<-found
	}
	close(stop)
	finders.Wait()
}
