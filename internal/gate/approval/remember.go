package approval

import (
	"context"
	"encoding/json"
	"time"

	"callgate/tool"
)

// Choice is a way in which a yes to a request may last. It is stored with the
// request, so that what a human chooses is what they were shown.
type Choice struct {
	Text       string          `json:"text"`  // as a human is shown it
	Match      json.RawMessage `json:"match"` // the pattern over the arguments
	Exact      bool            `json:"exact,omitempty"`
	Everywhere bool            `json:"everywhere,omitempty"`
	App        string          `json:"app,omitempty"` // the ID of the app for which it counts at every node
}

// IsHere reports whether the yes is for one folder.
func (c Choice) IsHere() bool { return !c.Everywhere && c.App == "" }

// Remember says that a yes lasts.
type Remember struct {
	Choice int       `json:"choice"`          // of the request's choices, from 1
	Until  time.Time `json:"until,omitzero"`  // zero: until it is revoked
	Grant  string    `json:"grant,omitempty"` // the lasting grant; the queue sets it
}

// Choice returns one of the request's choices, by its number from 1.
func (r Request) Choice(number int) (Choice, error) {
	const op = "approval.Answer"
	switch {
	case len(r.Choices) == 0:
		return Choice{}, tool.Errorf(op, tool.Invalid, "a yes to %s cannot be kept: it is asked for each time",
			r.Call.Tool.Dotted()).WithHint("approve it once")
	case number < 1 || number > len(r.Choices):
		return Choice{}, tool.Errorf(op, tool.Invalid, "approval %s has no choice %d", r.ID, number).
			WithHint("choose from 1 to %d: callgate approvals show %s", len(r.Choices), r.ID)
	}
	return r.Choices[number-1], nil
}

// prepareRemember checks a yes that is to last, and gives its grant an ID.
func (q *Queue) prepareRemember(r Request, a *Answer) error {
	const op = "approval.Answer"
	if a.Remember == nil {
		return nil
	}
	remember := *a.Remember
	a.Remember = &remember
	if _, err := r.Choice(remember.Choice); err != nil {
		return err
	}
	switch {
	case q.hooks.NewGrant == nil || q.hooks.Remember == nil:
		return tool.Errorf(op, tool.Unavailable, "this kernel keeps no lasting grants").WithHint("approve it once")
	case len(a.Args) > 0:
		return tool.Errorf(op, tool.Invalid, "a call that you edited is approved once; what would be kept was not shown").
			WithHint("approve it without keeping the yes; the next such call can be kept")
	case !remember.Until.IsZero() && !remember.Until.After(time.Now()):
		return tool.Errorf(op, tool.Invalid, "the end date %s has passed", remember.Until.Format(time.DateOnly)).
			WithHint("give a later one, or none")
	}
	a.Remember.Grant = q.hooks.NewGrant()
	return nil
}

// remember keeps the yes of a request that was just approved. The approval counts
// also when the yes cannot be kept, and the one who answered is told.
func (q *Queue) remember(ctx context.Context, r Request) error {
	if r.Answer == nil || !r.Answer.Approve || r.Answer.Remember == nil {
		return nil
	}
	if err := q.hooks.Remember(context.WithoutCancel(ctx), r); err != nil {
		return &tool.Error{Op: "approval.Answer", Kind: tool.KindOf(err), Err: err,
			Message: "approved this once, but the yes was not kept"}
	}
	return nil
}
