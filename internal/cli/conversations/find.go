package conversations

import (
	"context"

	"callgate/internal/cli/command"
	"callgate/internal/protocol"
	"callgate/tool"
)

// findID returns the ID of the only conversation whose ID begins with a text. An
// ID that no conversation has is returned as it is: the kernel says so.
func findID(ctx context.Context, k *command.Kernel, id string) (string, error) {
	if id == "" {
		return "", tool.Errorf("cli.find", tool.Invalid, "the ID is empty").WithHint("callgate sessions list shows the IDs")
	}
	list, err := k.Conversations(ctx, 0)
	if err != nil {
		return "", err
	}
	found, ok, err := command.FindByPrefix(list, id, "conversations", idOf)
	if err != nil || !ok {
		return id, err
	}
	return found.ID, nil
}

func idOf(c protocol.ConversationInfo) string { return c.ID }

// completeID completes the IDs of conversations.
func completeID(e *command.Env) func(context.Context) []string {
	return func(ctx context.Context) (found []string) {
		_ = e.With(ctx, func(k *command.Kernel) error {
			list, err := k.Conversations(ctx, 0)
			for _, c := range list {
				found = append(found, c.ID+"\t"+c.Title)
			}
			return err
		})
		return found
	}
}
