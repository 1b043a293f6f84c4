package history

import (
	"context"
	"time"

	"callgate/llm"
)

// Info is a conversation as a list shows it.
type Info struct {
	ID        string    `json:"id"`
	App       string    `json:"app"`
	AppFile   string    `json:"app_file,omitempty"`
	Agent     string    `json:"agent"`
	Lane      string    `json:"lane,omitempty"`
	Workspace string    `json:"workspace"`
	User      string    `json:"user"`
	Parent    string    `json:"parent,omitempty"`      // the conversation that it works for; "": none
	Forked    string    `json:"forked_from,omitempty"` // the conversation whose turns it begins with; "": none
	Title     string    `json:"title"`                 // the user's first words
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"`
	Events    int64     `json:"events"` // the Seq of the last one
	Turns     int       `json:"turns"`
	ToolCalls int       `json:"tool_calls_count"`
	Usage     llm.Usage `json:"usage"`              // also of the agents that worked for it, once it was told
	Own       llm.Usage `json:"own_usage,omitzero"` // its own models' alone
	Last      Reason    `json:"last,omitempty"`     // how the last turn ended; "": it goes on, or its process ended
}

// As returns the line with the state of the last turn as it is now: "" while a
// turn runs, and Interrupted if a turn neither runs nor has ended.
func (i Info) As(running bool) Info {
	switch {
	case running:
		i.Last = ""
	case i.Turns > 0 && i.Last == "":
		i.Last = Interrupted
	}
	return i
}

// Store keeps conversations. It is safe for concurrent use.
type Store interface {
	// Create adds a conversation without events. An ID that is taken is a Conflict.
	Create(ctx context.Context, info Info) error
	// Append adds events, which are numbered from after+1 on, and brings the
	// list's line up to date, both or neither. The death of the process cannot
	// undo it once it has returned. A log whose last event is another than after is a Conflict.
	Append(ctx context.Context, info Info, after int64, events []Event) error
	// Read returns the events after one, oldest first; all of them after 0.
	Read(ctx context.Context, id string, after int64) ([]Event, error)
	// Get returns a conversation; NotFound when there is none.
	Get(ctx context.Context, id string) (Info, error)
	// List returns conversations, the one last touched first; at most limit, or
	// all when it is 0.
	List(ctx context.Context, limit int) ([]Info, error)
}

// Deleter deletes conversations. Only the kernel's own deletion needs it: a log
// never takes back what it says.
type Deleter interface {
	// Delete removes a conversation and its events; NotFound when there is none.
	Delete(ctx context.Context, id string) error
}
