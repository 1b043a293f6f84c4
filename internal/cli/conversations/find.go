package conversations

import (
	"context"
	"strings"

	"callgate/internal/cli/command"
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
	var found []string
	for _, c := range list {
		if c.ID == id {
			return id, nil
		}
		if strings.HasPrefix(c.ID, id) {
			found = append(found, c.ID)
		}
	}
	switch len(found) {
	case 0:
		return id, nil
	case 1:
		return found[0], nil
	}
	e := tool.Errorf("cli.find", tool.Ambiguous, "%d conversations begin with %s", len(found), tool.Truncate(id)).
		WithHint("write more of the ID")
	e.Similar = found[:min(len(found), 10)]
	return "", e
}

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
