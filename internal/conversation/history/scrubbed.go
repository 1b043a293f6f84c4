package history

import (
	"context"
	"encoding/json"

	"callgate/tool"
)

// Scrubber takes the values of secrets out of texts.
type Scrubber interface {
	ScrubJSON(data json.RawMessage) json.RawMessage
	ScrubString(text string) string
}

// Scrubbed keeps conversations without the values of secrets: what a user typed
// and a model wrote may hold one.
func Scrubbed(store Store, secrets Scrubber) Store { return scrubbed{store, secrets} }

type scrubbed struct {
	Store
	secrets Scrubber
}

// Append writes events without secrets.
func (s scrubbed) Append(ctx context.Context, info Info, after int64, events []Event) error {
	clean := make([]Event, len(events))
	for i, e := range events {
		data, err := json.Marshal(e)
		if err == nil {
			err = json.Unmarshal(s.secrets.ScrubJSON(data), &clean[i])
		}
		if err != nil {
			return &tool.Error{
				Op: "history.Append", Kind: tool.Internal, Err: err,
				Message: "an event of a conversation cannot be written",
			}
		}
	}
	info.Title = s.secrets.ScrubString(info.Title)
	return s.Store.Append(ctx, info, after, clean)
}
