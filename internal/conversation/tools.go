package conversation

import (
	"context"

	"callgate/internal/provider/offline"
)

// tools are the tools of a conversation's session for the models that it opens.
type tools struct{ *Conversation }

// Known reports whether a name is a tool's.
func (t tools) Known(name string) bool { return t.session.View().Known(name) }

// Required returns the required parameters of a tool, in their order.
func (t tools) Required(name string) []string { return t.session.View().Required(name) }

// Find returns the tools that a text means.
func (t tools) Find(ctx context.Context, text string) []offline.ToolMatch {
	return t.session.View().Find(ctx, text)
}
