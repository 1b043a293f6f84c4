package kernel

import (
	"context"
	"encoding/json"

	"callgate/internal/conversation/history"
	"callgate/internal/secret"
	"callgate/tool"
)

// Conversations lists them, the one last touched first; all when limit is 0.
func (k *Kernel) Conversations(ctx context.Context, limit int) ([]history.Info, error) {
	return k.talkStore().List(ctx, limit)
}

// History returns a conversation and what happened in it after an event.
func (k *Kernel) History(ctx context.Context, id string, after int64) (history.Info, []history.Event, error) {
	info, err := k.talkStore().Get(ctx, id)
	if err != nil {
		return info, nil, err
	}
	events, err := k.talkStore().Read(ctx, id, after)
	return info, events, err
}

// Forget deletes a conversation, and what modules keep for it. The journal stays.
func (k *Kernel) Forget(ctx context.Context, id string) error {
	if err := k.takeOver(id); err != nil {
		return err
	}
	info, err := k.talkStore().Get(ctx, id)
	if err != nil {
		return err
	}
	for _, m := range k.modules {
		if m.OnConversationDelete != nil {
			if err := m.OnConversationDelete(tool.Principal{User: info.User, App: info.App, Session: id}); err != nil {
				return err
			}
		}
	}
	return k.database.Stores().Deleter.Delete(ctx, id)
}

// Follow yields the events after one, and then each as it comes.
func (c *Conversation) Follow(ctx context.Context, after int64, seen func(history.Event) bool) error {
	return c.log.Follow(ctx, after, seen)
}

// talkStore keeps conversations, without the values of secrets: what a user
// typed, and a model wrote, may hold one.
func (k *Kernel) talkStore() history.Store {
	return scrubbed{k.database.Stores().Conversations, k.secrets}
}

type scrubbed struct {
	history.Store
	secrets *secret.Vault
}

// Append writes events down as they may be read.
func (s scrubbed) Append(ctx context.Context, info history.Info, after int64, events []history.Event) error {
	clean := make([]history.Event, len(events))
	for i, e := range events {
		data, err := json.Marshal(e)
		if err == nil {
			err = json.Unmarshal(s.secrets.ScrubJSON(data), &clean[i])
		}
		if err != nil {
			return &tool.Error{Op: "callgate.Append", Kind: tool.Internal, Message: "an event of a conversation cannot be written", Err: err}
		}
	}
	info.Title = s.secrets.ScrubString(info.Title)
	return s.Store.Append(ctx, info, after, clean)
}
