package kerneltest

import (
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/kernel"
	"callgate/internal/kernel/session"
	"callgate/llm"
)

// OpenConversation opens a conversation with the agent of a folder's app, which a
// human accepts first.
func OpenConversation(t testing.TB, k *kernel.Kernel, folder string) *conversation.Conversation {
	t.Helper()
	return OpenConversationWith(t, k, conversation.Spec{Workspace: folder})
}

// OpenConversationWith opens a conversation with the agent of an app, which a
// human accepts first.
func OpenConversationWith(t testing.TB, k *kernel.Kernel, spec conversation.Spec) *conversation.Conversation {
	t.Helper()
	if spec.Resume == "" {
		s, err := k.OpenSession(t.Context(), session.Spec{Workspace: spec.Workspace, AppFile: spec.AppFile})
		OK(t, err)
		AcceptApp(t, k, s)
		s.Close()
	}
	c, err := k.Conversations.Open(t.Context(), spec)
	OK(t, err)
	return c
}

// Resume opens a conversation again.
func Resume(t testing.TB, k *kernel.Kernel, id string) *conversation.Conversation {
	t.Helper()
	return OpenConversationWith(t, k, conversation.Spec{Resume: id})
}

// Send sends a message and waits for the end of the turn.
func Send(t testing.TB, c *conversation.Conversation, text string) history.End {
	t.Helper()
	end, err := c.Send(t.Context(), llm.TextMessage(llm.User, text), conversation.Watch{})
	OK(t, err)
	return end
}

// History returns what happened in a conversation.
func History(t testing.TB, k *kernel.Kernel, id string) []history.Event {
	t.Helper()
	_, events, err := k.Conversations.History(t.Context(), id, 0)
	OK(t, err)
	return events
}

// CallsMade lists the calls of a conversation, as name and arguments.
func CallsMade(t testing.TB, k *kernel.Kernel, id string) (calls []string) {
	t.Helper()
	for _, e := range History(t, k, id) {
		if e.Type == history.CallMade {
			calls = append(calls, e.Call.Name+" "+string(e.Call.Args))
		}
	}
	return calls
}
