package triggers

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"callgate/internal/app"
	"callgate/internal/app/contract"
	"callgate/internal/app/triggers"
	"callgate/internal/channel"
	"callgate/internal/task"
	"callgate/tool"
)

// input is the input of an event's task.
type input struct {
	Trigger string        `json:"trigger"`
	ID      string        `json:"id"` // of the event here; of the task too, unless it is tried again
	Event   channel.Event `json:"event"`
}

// EventPrefix is how the IDs of events begin.
const EventPrefix = "event-"

// Refused is the error of an event that is not what the app takes. It may be told to the
// sender.
type Refused struct{ error }

// Refuse makes an error one that may be told to the sender.
func Refuse(err error) error { return Refused{err} }

// Unwrap returns what is wrong.
func (r Refused) Unwrap() error { return r.error }

// payload is the body of an event as the app takes it.
func payload(tr app.Trigger, e channel.Event) ([]byte, error) {
	if tr.Takes.Payload == nil {
		return e.Body, nil
	}
	return contract.Payload(tr.Takes.Payload, e.Body)
}

// accept keeps an event without the secrets in it, and has its turn run. An event that was
// kept before is not kept again.
func (t *Triggers) accept(
	ctx context.Context, r registration, trigger string, e channel.Event, window time.Duration,
) (id string, fresh bool, err error) {
	const op = "triggers.Accept"
	if t.opt.Hold != nil {
		if err := t.opt.Hold(); err != nil {
			return "", false, channel.Later(err, time.Minute)
		}
	}
	loaded, err := t.opt.Apps.Load(ctx, r.Workspace, r.AppFile)
	if err != nil {
		return "", false, err
	}
	tr, err := find(loaded, trigger)
	if err != nil {
		return "", false, err
	}
	if tr.Type == triggers.Webhook { // who else sends it learns nothing from an error: see work
		if _, err := payload(tr, e); err != nil {
			return "", false, Refuse(err)
		}
	}
	t.keeping.Lock() // of two that are the same, one is new
	defer t.keeping.Unlock()
	if id, fresh, err = t.eventID(ctx, r, trigger, e, window); err != nil || !fresh {
		return id, false, err
	}
	if !t.admit(r.key()) {
		return "", false, channel.Later(tool.Errorf(op, tool.Limited, "%d events of this app wait already", t.opt.Waiting).
			WithHint("come again later"), time.Minute)
	}
	e = t.scrubbed(e)
	data, err := json.Marshal(input{Trigger: trigger, ID: id, Event: e})
	if err != nil {
		t.ended(r.key())
		return "", false, err
	}
	asker := t.asker(r)
	asker.Principal.Agent = tr.Agent
	stored, err := t.opt.Runner.Start(context.WithoutCancel(ctx), task.Task{
		ID: id, Kind: Kind, Asker: asker, Input: data, Label: label(trigger, e),
	})
	if err != nil {
		t.ended(r.key())
		return "", false, err
	}
	return stored.ID, true, nil
}

// scrubbed is an event without secrets: what comes from outside may repeat one that went
// there.
func (t *Triggers) scrubbed(e channel.Event) channel.Event {
	clean := t.opt.Secrets.ScrubString
	e.ID, e.Title, e.Type, e.Facts = clean(e.ID), clean(e.Title), clean(e.Type), slices.Clone(e.Facts)
	for i, f := range e.Facts {
		e.Facts[i] = channel.Fact{Name: clean(f.Name), Value: clean(f.Value)}
	}
	if e.Body != nil {
		e.Body = []byte(clean(string(e.Body)))
	}
	return e
}

// eventID is the ID of an event here. fresh is false for an event that is there.
func (t *Triggers) eventID(
	ctx context.Context, r registration, trigger string, e channel.Event, window time.Duration,
) (id string, fresh bool, err error) {
	name := func(of string) string { return EventPrefix + channel.HashID(r.AppFile, r.Workspace, trigger, of) }
	exists := func(id string) (time.Time, error) {
		one, err := t.opt.Runner.Store().Get(ctx, id)
		if tool.KindOf(err) == tool.NotFound {
			return time.Time{}, nil
		}
		return one.Times.Created, err
	}
	if window <= 0 {
		id = name("id:" + e.ID)
		at, err := exists(id)
		return id, at.IsZero(), err
	}
	// The same body within the window is the same event. Events are found by the window
	// that they came in, which may be the one before.
	now := time.Now()
	for i := range 2 {
		number := now.UnixNano()/int64(window) - int64(i)
		old := name("body:" + strconv.FormatInt(number, 10) + ":" + e.ID)
		if i == 0 {
			id = old
		}
		at, err := exists(old)
		if err != nil || !at.IsZero() && now.Sub(at) < window {
			return old, false, err
		}
	}
	return id, true, nil
}

// admit counts an event that waits, unless there are too many.
func (t *Triggers) admit(app string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting[app] >= t.opt.Waiting {
		return false
	}
	t.waiting[app]++
	return true
}

// ended counts an event that waits no more. One of an earlier kernel was not counted.
func (t *Triggers) ended(app string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting[app] = max(t.waiting[app]-1, 0)
}

// label is an event in a line.
func label(trigger string, e channel.Event) string {
	if e.Title == "" {
		return trigger
	}
	return trigger + ": " + tool.TruncateTo(e.Title, 80)
}
