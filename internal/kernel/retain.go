package kernel

import (
	"context"
	"time"

	"callgate/internal/app/retain"
	"callgate/internal/artifact"
	"callgate/internal/conversation"
	"callgate/internal/journal"
	"callgate/internal/kernel/retention"
	"callgate/internal/protocol/operations"
)

// Retain begins to remove what the rules in the user's own file no longer keep, until the kernel closes.
func Retain(k *Kernel) { k.background.Go(keeper(k).Run) }

// RetainNow removes by rule at once; with dry, it says what would go.
func RetainNow(ctx context.Context, k *Kernel, dry bool) (operations.Retained, error) {
	r, err := keeper(k).Once(ctx, dry)
	return operations.Retained{
		Applied: !dry, Records: r.Records, Conversations: append([]string{}, r.Conversations...), Tasks: r.Tasks,
		Artifacts: r.Artifacts.Count, Logs: append([]string{}, r.Logs...),
	}, err
}

func keeper(k *Kernel) *retention.Keeper {
	return retention.New(retention.Options{
		Rules:   func() (retain.Rules, error) { return retain.Load(k.Apps.UserFile()) },
		Journal: retention.Epochs{Journal: k.Journal}, Conversations: endedConversations{k.Conversations},
		Tasks: k.database.Stores().Queue.Prune,
		Artifacts: func(ctx context.Context, before time.Time) (artifact.Usage, error) {
			return deleteUnused(ctx, k, before)
		},
		ArtifactSize: func(ctx context.Context) (int64, error) {
			used, err := k.Artifacts.Usage(ctx)
			return used.Bytes, err
		},
		Images: func(ctx context.Context, before time.Time) error { return forgetBefore(ctx, k, before) },
		Log:    k.state.Log(), Warn: k.log,
		Record: func(note string) error { return k.Journal.Append(journal.Record{Kind: journal.Noted, Note: note}) },
	})
}

type endedConversations struct{ *conversation.Manager }

func (c endedConversations) Open(id string) bool {
	_, err := c.Get(id)
	return err == nil
}
