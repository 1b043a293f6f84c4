package calls

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"callgate/internal/client"
	"callgate/internal/daemon/console/widget"
	"callgate/internal/protocol"
	"callgate/tool"
)

// Story is all that is on record of one call.
type Story struct {
	Row     Row
	Steps   []Step
	Args    json.RawMessage
	Result  *tool.Result
	Undo    bool // it changed files, which can be put back
	Doubt   *protocol.Doubt
	Parent  string
	Running bool
}

// Frame is where the widget of the call is shown; nil: it has none.
func (d Story) Frame() *widget.Frame {
	if d.Row.State != stateDone {
		return nil
	}
	return widget.Of(d.Row.Call, d.Row.Tool, d.Args, tool.Success)
}

// Step is one record of a call, in words.
type Step struct {
	At    time.Time
	Seq   uint64
	Head  string
	Lines []string
	Class string
	Link  string // a page that says more; "": none
}

// ReadStory reads what is on record of a call.
func ReadStory(ctx context.Context, k *client.Client, id string) (d Story, err error) {
	var records []protocol.Record
	if id != "" {
		if records, err = k.Journal(ctx, protocol.JournalQuery{Call: id}); err != nil {
			return d, err
		}
	}
	if len(records) == 0 {
		return d, tool.Errorf("console.call", tool.NotFound, "no call %s is on record", tool.Truncate(id)).
			WithHint("it may have been pruned; what is there stands in the journal")
	}
	d.Row = summarize(records)
	d.Running = d.Row.State == stateRunning || d.Row.State == stateWaiting
	for _, rec := range records {
		d.Steps = append(d.Steps, stepOf(rec))
		d.Parent = rec.Parent
		if rec.Ask != nil {
			d.Args = rec.Ask.Args
			d.Undo = d.Row.State == stateDone && slices.ContainsFunc(rec.Ask.Claims, func(c tool.Claim) bool {
				return strings.HasPrefix(c.Resource, "file:") && c.Mode.Writes()
			})
		}
		if rec.End != nil && len(rec.End.Result) > 0 {
			d.Result = &tool.Result{}
			if json.Unmarshal(rec.End.Result, d.Result) != nil {
				d.Result = nil
			}
		}
	}
	if d.Row.State == stateDoubt {
		if list, err := k.Doubts(ctx, client.DoubtQuery{Call: id}); err == nil && len(list) == 1 {
			d.Doubt = &list[0]
		}
	}
	return d, nil
}

// stepOf says a record in words.
func stepOf(rec protocol.Record) Step {
	s := Step{At: rec.Time, Seq: rec.Seq, Class: string(rec.Kind)}
	switch {
	case rec.Ask != nil && rec.End != nil: // a call that only reads has one record
		s.asked(rec)
		s.Head += ", and ended: " + string(rec.End.Status)
		s.ended(rec)
	case rec.Ask != nil:
		s.asked(rec)
	case rec.Answer != nil:
		s.Head = rec.Answer.Verdict
		if rec.Answer.By != "" {
			s.Head += " by " + rec.Answer.By
		}
		s.Link = "/approvals/" + url.PathEscape(rec.Answer.Approval)
		if rec.Answer.Feedback != "" {
			s.Lines = append(s.Lines, "they said: "+rec.Answer.Feedback)
		}
		if rec.Answer.Grant != "" {
			s.Lines = append(s.Lines, "the yes is kept as grant "+rec.Answer.Grant)
		}
		if len(rec.Answer.Args) > 0 {
			s.Lines = append(s.Lines, "with other arguments: "+string(rec.Answer.Args))
		}
	case rec.End != nil:
		s.Head = "ended: " + string(rec.End.Status)
		s.ended(rec)
	case rec.Resolution != nil:
		s.Head = "the doubt was resolved: it did not happen"
		if rec.Resolution.Happened {
			s.Head = "the doubt was resolved: it happened"
		}
		s.Lines = append(s.Lines, rec.Resolution.By, rec.Resolution.Closed)
	default:
		heads := map[protocol.RecordKind]string{
			protocol.RecordKindBegun: "began", protocol.RecordKindDoubted: "in doubt: it may or may not have happened",
			protocol.RecordKindJudged: "it is not made again", protocol.RecordKindTold: "who asked was told",
			protocol.RecordKindNoted: "a remark",
		}
		s.Head = heads[rec.Kind]
	}
	s.Lines = slices.DeleteFunc(append(s.Lines, rec.Note), func(l string) bool { return strings.TrimSpace(l) == "" })
	return s
}

// ended says how a call ended.
func (s *Step) ended(rec protocol.Record) {
	s.Class = stateAfter(rec)
	s.Lines = append(s.Lines, rec.End.Summary)
	s.Lines = append(s.Lines, rec.End.Warnings...)
	for _, a := range rec.End.Attempts {
		s.Lines = append(s.Lines, "asked "+a.Model+": "+a.Outcome)
	}
}

// asked says how a call was proposed and what the gate decided.
func (s *Step) asked(rec protocol.Record) {
	words := map[protocol.Verdict]string{
		protocol.VerdictAllow: "asked, and allowed", protocol.VerdictWait: "asked, and a human must answer first",
		protocol.VerdictRefuse: "asked, and refused",
	}
	s.Head = words[rec.Ask.Verdict]
	if rec.Principal != nil {
		s.Lines = append(s.Lines, "by "+rec.Principal.String())
	}
	if rec.Ask.Approval != "" {
		s.Link = "/approvals/" + url.PathEscape(rec.Ask.Approval)
	}
	s.Lines = append(s.Lines, rec.Ask.Reason)
	for _, coerced := range rec.Ask.Coercions {
		s.Lines = append(s.Lines, "mended: "+coerced)
	}
	for _, claim := range rec.Ask.Claims {
		s.Lines = append(s.Lines, "claims "+claim.Resource+writes(claim.Mode))
	}
}

func writes(m tool.Mode) string {
	if m.Writes() {
		return " to write"
	}
	return " to read"
}
