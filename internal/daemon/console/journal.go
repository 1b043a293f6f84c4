package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/visible/arguments"
	"callgate/tool"
)

// journalPages shows what happened, and undoes it.
type journalPages struct{ *Console }

func (c *journalPages) routes() map[string]serve {
	return map[string]serve{
		"GET /journal":         c.journal,
		"POST /journal/verify": c.verify,
		"GET /calls/{id}":      c.story,
		"GET /undo":            c.undo,
		"POST /undo":           c.doUndo,
		"POST /doubts/{id}":    c.resolve,
	}
}

// The bounds of a page of the journal.
const (
	callsOnPage = 50
	batch       = 400  // records that are read at once
	maxRead     = 8000 // records that one page reads at most
)

// journalFilter says which calls a page lists. Its zero value is all.
type journalFilter struct {
	Tool, State, Session string
	Since                time.Time
	SinceText            string
}

// query writes the filter as the parameters of a page.
func (f journalFilter) query() url.Values {
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

func (f journalFilter) fits(row callRow) bool {
	return (f.Tool == "" || strings.Contains(strings.ToLower(row.Tool), strings.ToLower(f.Tool))) &&
		(f.State == "" || row.State == f.State) &&
		(f.Session == "" || row.Session == f.Session || row.Call == f.Session)
}

// readFilter reads the filter of a page: since is a span back from now, or a day.
func readFilter(r *http.Request, now time.Time) (f journalFilter, err error) {
	f = journalFilter{
		Tool: strings.TrimSpace(r.FormValue("tool")), State: r.FormValue("state"),
		Session: strings.TrimSpace(r.FormValue("session")), SinceText: strings.TrimSpace(r.FormValue("since")),
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

// callRow is a call, or a remark of the journal, as a list shows it.
type callRow struct {
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

// journalData is a page of the journal, the newest first.
type journalData struct {
	Filter journalFilter
	States []string
	Rows   []callRow
	Older  string // the page of what is older; "": there is none
	Read   int    // records
	Back   time.Time
	First  bool
	Verify *protocol.VerifyReport
}

func (c *journalPages) journal(w http.ResponseWriter, r *http.Request) error {
	filter, err := readFilter(r, time.Now())
	if err != nil {
		return err
	}
	before, _ := strconv.ParseUint(r.FormValue("before"), 10, 64) // what is no number is the newest
	data, err := readCalls(r.Context(), c.Client(r), filter, before, callsOnPage)
	if err != nil {
		return err
	}
	p := page{Title: "Journal", Nav: "journal", Data: data}
	if data.First {
		p.Live = "journal?" + filter.query().Encode()
	}
	return c.show(w, r, "journal", p)
}

// readCalls reads a page of calls: those whose first record is older than before (0: the
// newest) and that fit, until there are as many as asked for or the bound of reading is met.
func readCalls(
	ctx context.Context, k *client.Client, f journalFilter, before uint64, most int,
) (d journalData, err error) {
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
	query := f.query()
	query.Set("before", strconv.FormatUint(next, 10))
	d.Older = "/journal?" + query.Encode()
	return d, nil
}

// rowOf is the row that a record begins: of a call, that it was asked; of what is no call, a
// remark. later are the records of its call that were read, which are all or, of a call that
// has not ended in them, are read anew.
func rowOf(
	ctx context.Context, k *client.Client, rec protocol.Record, later []protocol.Record,
) (row callRow, ok bool, err error) {
	switch {
	case rec.Call == "":
		return callRow{
			Seq: rec.Seq, Tool: string(rec.Kind), About: cmp.Or(rec.Note, remarkOf(rec)), State: stateRemark, At: rec.Time,
		}, true, nil
	case rec.Ask == nil: // a call that only reads has one record, which says both
		return callRow{}, false, nil
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
func summarize(records []protocol.Record) (row callRow) {
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

func (c *journalPages) verify(w http.ResponseWriter, r *http.Request) error {
	report, err := c.Client(r).Verify(r.Context())
	if err != nil {
		return err
	}
	data, err := readCalls(r.Context(), c.Client(r), journalFilter{}, 0, callsOnPage)
	if err != nil {
		return err
	}
	data.Verify = &report
	return c.show(w, r, "journal", page{Title: "Journal", Nav: "journal", Data: data})
}
