package kernel

import (
	"context"
	"strings"

	"callgate/internal/document"
	"callgate/internal/kernel/channels"
	"callgate/internal/kernel/mcptools"
	"callgate/internal/kernel/triggers"
)

// Outside is how apps speak with the world.
type Outside struct {
	Channels *channels.Channels // where messages go
	Triggers *triggers.Triggers // what starts turns
}

// Payload returns the body of an event that a conversation was told of; nil for another.
func (o *Outside) Payload(ctx context.Context, conversation, id string) ([]byte, error) {
	if !strings.HasPrefix(id, triggers.EventPrefix) {
		return nil, nil
	}
	return o.Triggers.Payload(ctx, conversation, id)
}

// openOutside makes the channels and the triggers, and registers their tools.
func openOutside(k *Kernel, cfg Config) error {
	k.Outside.Channels = channels.New(channels.Options{
		Apps: k.Apps, Runner: k.Tasks, Secrets: k.vault, Locks: k.Locks, Session: k.Sessions.Bearing, Hidden: k.hidden(),
		Stdout: cfg.Stdout, ReplyTo: func(ctx context.Context, conversation string) (channel, event string) {
			return k.Outside.Triggers.ReplyTo(ctx, conversation)
		},
	})
	k.Outside.Triggers = triggers.New(triggers.Options{
		Apps: k.Apps, Turns: k.Conversations, Runner: k.Tasks, Sender: k.Outside.Channels, Secrets: k.vault,
		Consents: k.consents, Documents: document.Scoped(k.database.Stores().Documents, "outside"), User: k.user,
		Log: k.log, Go: k.background.Go, Hold: k.database.Draining,
	})
	if err := k.Register(channels.Module, k.Outside.Channels.Tools()...); err != nil {
		return err
	}
	return k.Register(mcptools.Namespace, mcptools.Tools(mcptools.Options{Servers: k.Servers, Session: k.Sessions.Get})...)
}
