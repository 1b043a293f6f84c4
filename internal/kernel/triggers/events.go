package triggers

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"callgate/internal/channel"
	"callgate/internal/task"
	"callgate/tool"
)

// App is a background app as people see it.
type App struct {
	registration
	Problem  string // why it does not run; "": it does
	Serves   bool   // this kernel runs apps in the background
	Triggers []Info
}

// Info is a trigger as people see it.
type Info struct {
	Name    string
	Type    string
	At      string // where a webhook is called, or what is looked at
	ReplyTo string
	Problem string // why it takes nothing in now; "": nothing is known
	Events  int    // since it was started
	Last    time.Time
}

// describe is a background app as it is now.
func (t *Triggers) describe(r registration) App {
	a := App{registration: r, Serves: t.serves()}
	t.mu.Lock()
	b := t.apps[r.key()]
	t.mu.Unlock()
	if b == nil {
		return a
	}
	a.Problem = b.problem
	for _, s := range b.sources {
		s.mu.Lock()
		info := Info{Name: s.Name, Type: s.Type, ReplyTo: s.ReplyTo, Events: s.events, Last: s.last, At: s.at()}
		if s.problem != nil {
			info.Problem = t.opt.Secrets.ScrubString(s.problem.Error())
		}
		s.mu.Unlock()
		a.Triggers = append(a.Triggers, info)
	}
	return a
}

// at is where events of a trigger come from. The lock is held.
func (s *source) at() string {
	switch {
	case s.Webhook.Path != "":
		return "http://" + cmp.Or(s.address, s.Webhook.Listen) + s.Webhook.Path
	case s.Source.URL != "":
		return s.Source.URL
	case s.Mailbox.Host != "":
		return s.Mailbox.Username + " at " + s.Mailbox.Host
	case s.When.Text != "":
		return s.When.Text
	}
	return s.Folder.Dir
}

// List lists the apps that were started.
func (t *Triggers) List(ctx context.Context) ([]App, error) {
	list, err := t.registered(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]App, len(list))
	for i, r := range list {
		all[i] = t.describe(r)
	}
	slices.SortFunc(all, func(a, b App) int { return a.Since.Compare(b.Since) })
	return all, nil
}

// Event is an event as people see it.
type Event struct {
	ID           string // of its task
	App          string
	Trigger      string
	Title        string
	State        task.State
	At           time.Time
	Ended        time.Time
	Next         time.Time // when its turn is tried next; zero: it has ended
	Conversation string
	Tries        int
	Error        string
	Answer       string // the beginning
	Size         int    // of the body
}

func eventOf(t task.Task) Event {
	var in input
	var p progress
	_ = json.Unmarshal(t.Input, &in) // what cannot be read is shown empty
	_ = json.Unmarshal(t.Data, &p)
	e := Event{
		ID: t.ID, App: t.Asker.Principal.App, Trigger: in.Trigger, Title: in.Event.Title, State: t.State, At: in.Event.At,
		Ended: t.Times.Ended, Conversation: p.Conversation, Tries: max(p.Failed, p.Begun), Error: p.Error,
		Size: len(in.Event.Body),
	}
	if !t.State.Final() {
		e.Next = t.RunAt
	}
	if t.Outcome != nil {
		var data struct{ Conversation string }
		if json.Unmarshal(t.Outcome.Data, &data) == nil && data.Conversation != "" {
			e.Conversation = data.Conversation
		}
		if t.Outcome.Error != nil {
			e.Error = t.Outcome.Error.Error()
		} else {
			e.Answer = t.Outcome.Summary
		}
	}
	if t.State == task.Done {
		e.Error = ""
	}
	return e
}

// retryMark is at the end of the IDs of events that are tried again.
const retryMark = "-r"

// Events lists events, the newest first; dead ones alone, or all. A dead one that was
// tried again is not among the dead.
func (t *Triggers) Events(ctx context.Context, dead bool, limit int) ([]Event, error) {
	if limit <= 0 || limit > task.MaxList {
		limit = task.MaxList
	}
	list := []Event{}
	q := task.Query{Kinds: []string{Kind}, Newest: true, Limit: 100}
	if dead {
		q.State = task.Failed
	}
	for {
		page, err := t.opt.Runner.Store().List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, one := range page {
			if dead {
				if _, err := t.opt.Runner.Store().Get(ctx, one.ID+retryMark); err == nil {
					continue
				}
			}
			if list = append(list, eventOf(one)); len(list) == limit {
				return list, nil
			}
		}
		if len(page) < q.Limit {
			return list, nil
		}
		q.After = page[len(page)-1].ID
	}
}

// Retry has a dead event's turn tried again.
func (t *Triggers) Retry(ctx context.Context, id string) (Event, error) {
	const op = "triggers.Retry"
	one, err := t.opt.Runner.Store().Get(ctx, id)
	if tool.KindOf(err) == tool.NotFound || err == nil && one.Kind != Kind {
		return Event{}, tool.Errorf(op, tool.NotFound, "there is no event %q", tool.Truncate(id)).
			WithHint("callgate triggers dead lists those that were given up")
	}
	if err != nil {
		return Event{}, err
	}
	if one.State != task.Failed && one.State != task.Cancelled && one.State != task.InDoubt {
		return Event{}, tool.Errorf(op, tool.Conflict, "the event %s was not given up: it is %s", one.ID, one.State)
	}
	var p progress
	_ = json.Unmarshal(one.Data, &p) // without it, the turn begins anew
	p.Begun = 0
	data, err := json.Marshal(p)
	if err != nil {
		return Event{}, err
	}
	again, err := t.opt.Runner.Start(ctx, task.Task{
		ID: one.ID + retryMark, Kind: Kind, Asker: one.Asker, Input: one.Input, Data: data, Label: one.Label,
	})
	return eventOf(again), err
}

// Payload returns the whole body of an event that a conversation was told of; nil for
// another.
func (t *Triggers) Payload(ctx context.Context, conversation, id string) ([]byte, error) {
	one, err := t.opt.Runner.Store().Get(ctx, id)
	if tool.KindOf(err) == tool.NotFound || err == nil && one.Kind != Kind {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var in input
	if err := json.Unmarshal(one.Input, &in); err != nil {
		return nil, err
	}
	_, events, err := t.opt.Turns.History(ctx, conversation, 0)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if e.Task == in.ID {
			return body(in.Event), nil
		}
	}
	return nil, nil
}

func body(e channel.Event) []byte {
	if e.Body == nil {
		return []byte{}
	}
	return e.Body
}
