package outcome

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"callgate/internal/journal"
	"callgate/tool"
)

// Doubtful is what a call in doubt asked for, as its records tell it.
type Doubtful struct {
	ID        string
	Tool      string
	Args      json.RawMessage
	Workspace string
	AppFile   string
	Principal tool.Principal
	Claims    []tool.Claim
	tool.ModelChoice
}

// LoadDoubtful reads what a call in doubt asked for.
func (o *Reader) LoadDoubtful(ctx context.Context, doubted journal.Record) (Doubtful, error) {
	records, err := o.journal.Read(ctx, journal.Query{Call: doubted.Call})
	if err != nil {
		return Doubtful{}, err
	}
	d := Doubtful{ID: doubted.Call, Tool: doubted.Tool}
	if doubted.Principal != nil {
		d.Principal = *doubted.Principal
	}
	for _, r := range records {
		args, ref := json.RawMessage(nil), ""
		switch {
		case r.Ask != nil:
			d.Workspace, d.AppFile, d.Claims, d.ModelChoice = r.Ask.Workspace, r.Ask.AppFile, r.Ask.Claims, r.ModelChoice
			args, ref = r.Ask.Args, r.Ask.ArgsRef
		case r.Answer != nil:
			args, ref = r.Answer.Args, r.Answer.ArgsRef
		}
		if ref != "" {
			if args, err = o.artifacts.Get(ctx, ref); err != nil {
				return d, err
			}
		}
		if len(args) > 0 {
			d.Args = args
		}
	}
	return d, nil
}

// Whole reports whether the records of the call hold all that it asked for: no
// secret was left out of them.
func (d *Doubtful) Whole() bool {
	return len(d.Claims) > 0 && !strings.Contains(string(d.Args), "[secret ") &&
		!slices.ContainsFunc(d.Claims, func(c tool.Claim) bool { return strings.Contains(c.Resource, "[secret ") })
}

// ToolName is the tool's name as people know it.
func (d *Doubtful) ToolName() string {
	if parsed, ok := tool.TryParseID(d.Tool); ok {
		return parsed.Dotted()
	}
	return d.Tool
}

// doubtful is what is known of a call that began and has no end on record: it
// runs, it is in doubt, or its doubt was resolved. A call that was made again has
// the result of that one.
func (o *Reader) doubtful(ctx context.Context, records []journal.Record) (State, *tool.Result, error) {
	for _, r := range slices.Backward(records) {
		switch r.Kind {
		case journal.Resolved:
			if r.Resolution != nil && r.Resolution.Retry != "" {
				return o.Outcome(ctx, r.Resolution.Retry)
			}
			return Ended, resolvedResult(r), nil
		case journal.Told:
			return InDoubt, nil, nil
		case journal.Doubted:
			told := r.About(journal.Told) // from here on it is not made again
			told.Note = "told when it was asked for again"
			_ = o.journal.Append(told)
			o.told(r.Call)
			return InDoubt, nil, nil
		case journal.Begun:
			if o.journal.IsEarlier(r.Seq) { // a full disk keeps it from being on record
				return InDoubt, nil, nil
			}
		}
	}
	return Pending, nil, nil
}

// resolvedResult is the answer to a call whose doubt somebody resolved.
func resolvedResult(r journal.Record) *tool.Result {
	summary := "a human looked: the call did not happen"
	status := tool.Failure
	switch {
	case r.Resolution == nil || r.Resolution.Closed != "":
		summary = "the call was in doubt, and nobody looked whether it happened"
	case r.Resolution.Happened:
		summary, status = "a human looked: the call happened; its result is not on record", tool.Success
	}
	result := &tool.Result{Status: status, Summary: summary, Call: r.Call}
	if status == tool.Failure {
		result.Error = tool.Errorf("gate.Outcome", tool.InDoubt, "%s", summary)
	}
	return result
}
