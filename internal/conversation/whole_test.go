package conversation_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// Whoever finds a conversation or its session finds it whole, also while it is
// being opened: with its agent, its model, its surface, and the rules of its agent.
func TestFoundConversationsAreWhole(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), `
agents: [{id: reader, modules: [{filesystem: [read]}]}]
tools: {modules: {filesystem: {}}, capabilities: {default_policy: auto}}
`)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	id := kerneltest.OpenConversation(t, k, folder).ID()
	ctx, stop := context.WithCancel(t.Context())
	found := make(chan struct{})
	var finders sync.WaitGroup
	for range 3 {
		finders.Go(func() {
			defer stop()
			for ctx.Err() == nil && foundWhole(t, k, id) {
				select {
				case found <- struct{}{}:
				case <-ctx.Done():
				default:
				}
			}
		})
	}
	for range 12 {
		_, err := k.Conversations.Open(t.Context(), conversation.Spec{Resume: id})
		ok(t, err)
		select {
		case <-found:
		case <-ctx.Done():
		}
	}
	stop()
	finders.Wait()
}

// foundWhole looks for a conversation and for its session, and reports whether what
// it finds is whole.
func foundWhole(t *testing.T, k *kernel.Kernel, id string) bool {
	c, err := k.Conversations.Get(id)
	if err == nil && (c.Agent().ID != "reader" || c.Plan() == nil || c.Model().Provider == "" || c.Info().ID != id) {
		t.Error("a conversation is found half open")
		return false
	}
	s, err := k.Sessions.Get(id)
	if err != nil {
		return true
	}
	r := s.Call(t.Context(), session.CallRequest{Name: "filesystem.write", Args: []byte(`{"path":"x","content":"x"}`)})
	switch kind := tool.KindOf(r.Err()); {
	case s.Principal().Agent != "reader" || s.App() == nil:
		t.Errorf("a session is found half open: %+v", s.Principal())
	case kind != tool.NotFound && kind != tool.Denied && kind != tool.Unavailable:
		t.Errorf("a session is found without its agent's restrictions: %+v", r)
	default:
		return true
	}
	return false
}
