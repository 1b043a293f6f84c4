package conversation

import "context"

// OpenHeadless opens a conversation as one that needs no client is opened when it goes on.
func OpenHeadless(ctx context.Context, m *Manager, spec Spec) (*Conversation, error) {
	return m.headless.open(ctx, spec)
}
