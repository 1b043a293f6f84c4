// Package calls reads what a journal says of calls, the newest first, for pages that list them
// and tell their stories.
//
// # Law
//
// A call is listed once, at its first record, with all that became of it. No list reads more
// than maxRead records, however long the journal is.
package calls

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
	"callgate/internal/visible/arguments"
	"callgate/tool"
)

// The bounds of a page of the journal.
const (
	OnPage  = 50
	batch   = 200  // records that are read at once
	maxRead = 3000 // records that one page reads at most
)

// Filter says which calls a page lists. Its zero value is all.
type Filter struct {
	Tool, State, Session string
	Since                time.Time
	SinceText            string
}

// query writes the filter as the parameters of a page.
func (f Filter) Query() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"tool": f.Tool, "state": f.State, "session": f.Session, "since": f.SinceText,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

func (f Filter) fits(row Row) bool {
	return (f.Tool == "" || strings.Contains(strings.ToLower(row.Tool), strings.ToLower(f.Tool))) &&
		(f.State == "" || row.State == f.State) &&
		(f.Session == "" || row.Session == f.Session || row.Call == f.Session)
}

// ReadFilter reads the filter of a page: since is a span back from now, or a day.
func ReadFilter(form url.Values, now time.Time) (f Filter, err error) {
	f = Filter{
		Tool: strings.TrimSpace(form.Get("tool")), State: form.Get("state"),
		Session: strings.TrimSpace(form.Get("session")), SinceText: strings.TrimSpace(form.Get("since")),
	}
	if f.SinceText == "" {
		return f, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, f.SinceText, now.Location()); err == nil {
		f.Since = day
		return f, nil
	}
	until, err := protocol.ParseUntil(f.SinceText, now)
	if err != nil {
		return f, tool.Errorf("console.journal", tool.Invalid, "since is %q", tool.Truncate(f.SinceText)).
			WithHint("write it as 2h, 30d or 2027-01-31")
	}
	f.Since = now.Add(-until.Sub(now))
	return f, nil
}

// Row is a call, or a remark of the journal, as a list shows it.
type Row struct {
	Seq     uint64 // of its first record
	Call    string
	Tool    string
	About   string // its arguments, or what the remark says
	State   string
	Session string
	By      string
	At      time.Time
	Took    time.Duration
}

// The states of a call.
const (
	stateWaiting = "waiting"
	stateRunning = "running"
	stateDone    = "done"
	stateFailed  = "failed"
	stateDenied  = "denied"
	stateDoubt   = "in doubt"
	stateRemark  = "remark"
)

// Page is a page of the journal, the newest first.
type Page struct {
	Filter Filter
	States []string
	Rows   []Row
	Older  string // the page of what is older; "": there is none
	Read   int    // records
	Back   time.Time
	First  bool
	Verify *operations.VerifiedNodes
}

// Read reads a page of calls: those whose first record is older than before (0: the
// newest) and that fit, until there are as many as asked for or the bound of reading is met.
func Read(
	ctx context.Context, k *client.Client, f Filter, before uint64, most int,
) (d Page, err error) {
	d.Filter, d.First = f, before == 0
	d.States = []string{stateDone, stateFailed, stateDenied, stateWaiting, stateRunning, stateDoubt, stateRemark}
	calls := map[string][]protocol.Record{} // what was read of each, by its ID
	next := before
	for d.Read < maxRead && len(d.Rows) < most {
		list, err := k.Journal(ctx, protocol.JournalQuery{Newest: true, Before: next, Limit: batch})
		if err != nil {
			return d, err
		}
		for _, rec := range slices.Backward(list) {
			next = rec.Seq
			if rec.Time.Before(f.Since) {
				return d, nil
			}
			d.Read++
			d.Back = rec.Time
			if rec.Call != "" {
				calls[rec.Call] = append(calls[rec.Call], rec)
			}
			row, ok, err := rowOf(ctx, k, rec, calls[rec.Call])
			if err != nil {
				return d, err
			}
			if ok && f.fits(row) {
				if d.Rows = append(d.Rows, row); len(d.Rows) == most {
					break
				}
			}
		}
		if len(list) < batch && len(d.Rows) < most {
			return d, nil
		}
	}
	query := f.Query()
	query.Set("before", strconv.FormatUint(next, 10))
	d.Older = "/journal?" + query.Encode()
	return d, nil
}

// rowOf is the row that a record begins: of a call, that it was asked; of what is no call, a
// remark. later are the records of its call that were read, which are all or, of a call that
// has not ended in them, are read anew.
func rowOf(
	ctx context.Context, k *client.Client, rec protocol.Record, later []protocol.Record,
) (row Row, ok bool, err error) {
	switch {
	case rec.Call == "":
		return Row{
			Seq: rec.Seq, Tool: string(rec.Kind), About: cmp.Or(rec.Note, remarkOf(rec)), State: stateRemark, At: rec.Time,
		}, true, nil
	case rec.Ask == nil: // a call that only reads has one record, which says both
		return Row{}, false, nil
	}
	records := slices.Clone(later)
	slices.Reverse(records)
	row = summarize(records)
	if row.State == stateRunning || row.State == stateWaiting {
		records, err = k.Journal(ctx, protocol.JournalQuery{Call: rec.Call})
		if err != nil {
			return row, false, err
		}
		row = summarize(records)
	}
	return row, true, nil
}

func remarkOf(rec protocol.Record) string {
	switch {
	case rec.Opening != nil && rec.Opening.Start:
		return "a kernel began"
	case rec.Summary != nil:
		return "older records were removed, and their summary signed"
	}
	return ""
}

// summarize puts the records of a call, the oldest first, into a row.
func summarize(records []protocol.Record) (row Row) {
	for _, rec := range records {
		if row.Seq == 0 {
			row.Seq, row.Call, row.At = rec.Seq, rec.Call, rec.Time
		}
		row.Tool = cmp.Or(row.Tool, dotted(rec.Tool), rec.Name)
		if rec.Principal != nil {
			row.Session, row.By = rec.Principal.Session, rec.Principal.String()
		}
		if state := stateAfter(rec); state != "" {
			row.State = state
		}
		if rec.Ask != nil {
			row.About = arguments.OneLine(rec.Ask.Args, 120)
		}
		if rec.End != nil {
			row.Took = rec.End.Took
		}
	}
	return row
}

// stateAfter is the state of a call after a record; "": as before.
func stateAfter(rec protocol.Record) string {
	switch rec.Kind {
	case protocol.RecordKindAsked:
		if rec.Ask != nil && rec.Ask.Verdict == protocol.VerdictRefuse {
			return stateDenied
		}
		if rec.Ask != nil && rec.Ask.Verdict == protocol.VerdictWait {
			return stateWaiting
		}
		return stateRunning
	case protocol.RecordKindAnswered:
		if rec.Answer != nil && rec.Answer.Verdict != "approved" {
			return stateDenied
		}
		return stateRunning
	case protocol.RecordKindBegun:
		return stateRunning
	case protocol.RecordKindDoubted:
		return stateDoubt
	case protocol.RecordKindResolved:
		return stateDone
	case protocol.RecordKindEnded:
		switch {
		case rec.End == nil || rec.End.Status == tool.Success:
			return stateDone
		case rec.End.Status == tool.Refused:
			return stateDenied
		case rec.End.Error == tool.InDoubt:
			return stateDoubt
		}
		return stateFailed
	}
	return ""
}

// dotted is the name of a tool that a record has.
func dotted(id string) string {
	if parsed, ok := tool.TryParseID(id); ok {
		return parsed.Dotted()
	}
	return id
}
