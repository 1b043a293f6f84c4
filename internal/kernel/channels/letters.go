package channels

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"callgate/internal/app/channels"
	"callgate/internal/task"
	"callgate/tool"
)

// Letter is a delivery as people see it.
type Letter struct {
	ID       string // of the delivery's task
	Message  string // the ID that the receiver is told
	Channel  string
	App      string
	Agent    string
	Title    string
	Text     string
	State    task.State
	Attempts int
	Error    string    // of the last attempt; "": none failed
	At       time.Time // when it was handed over
	Next     time.Time // when it is tried next; zero: it has ended
	Ended    time.Time
}

func letterOf(t task.Task) Letter {
	var in delivery
	var p progress
	_ = json.Unmarshal(t.Input, &in) // what cannot be read is shown empty
	_ = json.Unmarshal(t.Data, &p)
	l := Letter{
		ID: t.ID, Message: in.ID, Channel: in.Channel, App: t.Asker.Principal.App, Agent: t.Asker.Principal.Agent,
		Title: in.Title, Text: in.Text, State: t.State, Attempts: p.Attempts, Error: p.Error, At: in.At, Ended: t.Times.Ended,
	}
	if !t.State.Final() {
		l.Next = t.RunAt
	}
	if t.Outcome != nil && t.Outcome.Error != nil {
		l.Error = t.Outcome.Error.Error()
	}
	if t.State == task.Done {
		l.Error = ""
	}
	return l
}

// Letter returns a delivery.
func (c *Channels) Letter(ctx context.Context, id string) (Letter, error) {
	t, err := c.opt.Runner.Store().Get(ctx, id)
	return letterOf(t), err
}

// retryMark is at the end of the IDs of deliveries that are tried again.
const retryMark = "-r"

// Letters lists deliveries, the newest first; dead ones alone, or all. A dead one that
// was tried again is not among the dead.
func (c *Channels) Letters(ctx context.Context, dead bool, limit int) ([]Letter, error) {
	if limit <= 0 || limit > task.MaxList {
		limit = task.MaxList
	}
	var list []Letter
	q := task.Query{Kinds: []string{Kind}, Newest: true}
	if dead {
		q.State = task.Failed
	}
	for {
		page, err := c.opt.Runner.Store().List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			if dead {
				if _, err := c.opt.Runner.Store().Get(ctx, t.ID+retryMark); err == nil {
					continue
				}
			}
			if list = append(list, letterOf(t)); len(list) == limit {
				return list, nil
			}
		}
		if len(page) < task.MaxList {
			return list, nil
		}
		q.After = page[len(page)-1].ID
	}
}

// Retry has a dead letter tried again, under the same ID for its receiver.
func (c *Channels) Retry(ctx context.Context, id string) (Letter, error) {
	const op = "channels.Retry"
	t, err := c.opt.Runner.Store().Get(ctx, id)
	if tool.KindOf(err) == tool.NotFound || err == nil && t.Kind != Kind {
		return Letter{}, tool.Errorf(op, tool.NotFound, "there is no delivery %q", tool.Truncate(id)).
			WithHint("callgate channels dead lists those that were given up")
	}
	if err != nil {
		return Letter{}, err
	}
	if t.State != task.Failed && t.State != task.Cancelled {
		return Letter{}, tool.Errorf(op, tool.Conflict, "the delivery %s is no dead letter: it is %s", t.ID, t.State)
	}
	var in delivery
	if err := json.Unmarshal(t.Input, &in); err != nil {
		return Letter{}, err
	}
	again, err := c.opt.Runner.Start(ctx, task.Task{
		ID: t.ID + retryMark, Kind: Kind, Asker: t.Asker, Input: t.Input, Label: t.Label,
		Data: json.RawMessage(`{"attempts":1}`), // the file is looked through for it
	})
	return letterOf(again), err
}

// Replied reports whether a conversation has sent an answer to an event.
func (c *Channels) Replied(ctx context.Context, conversation, event string) (bool, error) {
	list, err := c.opt.Runner.Store().List(ctx, task.Query{Kinds: []string{Kind}, Session: conversation, Newest: true})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list, func(t task.Task) bool {
		var in delivery
		return json.Unmarshal(t.Input, &in) == nil && in.Event == event
	}), nil
}

// Info is a channel as people see it.
type Info struct {
	Name     string
	Type     string
	To       string // where messages go, without secrets
	Accepted bool
	Problem  string // why it cannot be used on this machine; "": nothing is known
	User     bool   // it is in the user's own file
}

// List lists the channels of an app.
func (c *Channels) List(ctx context.Context, owner task.Asker) ([]Info, error) {
	loaded, err := c.load(ctx, owner)
	if err != nil {
		return nil, err
	}
	list := []Info{}
	if loaded.App == nil {
		return list, nil
	}
	for _, ch := range loaded.App.Runtime.Channels {
		info := Info{
			Name: ch.Name, Type: ch.Type, User: ch.FromUser,
			Accepted: loaded.Accepted.Check("channels.List", needs(loaded, ch)) == nil,
		}
		switch ch.Type {
		case channels.Webhook:
			info.To = loaded.App.Hide(ch.URL)
		case channels.Email:
			for i, to := range ch.To {
				if i > 0 {
					info.To += ", "
				}
				info.To += loaded.App.Hide(to)
			}
		case channels.File:
			info.To = loaded.App.Hide(ch.Path)
		}
		if err := c.Problem(ch); err != nil {
			info.Problem = err.Error()
		}
		list = append(list, info)
	}
	return list, nil
}
