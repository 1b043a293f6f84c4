package recovery

import (
	"context"
	"time"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/tool"
)

// Report is what a human is told of a call in doubt.
type Report struct {
	Doubted  journal.Record
	State    string // new, judged or told while it is open; then resolved or closed
	Changed  Answer // whether the files that it claims differ from how they were
	Why      string // it is not made again
	Attempts []Attempt
	Resolved *doubt.Resolution
}

// Attempt is one time that the call was made.
type Attempt struct {
	Call    string
	Begun   time.Time
	Ended   time.Time // zero: it was cut off
	Summary string
}

// maxAll is the most doubts that a list of all of them holds: the newest.
const maxAll = 1000

// Doubts lists the calls in doubt, oldest first, and with all those too that are
// no longer, the newest of them.
func Doubts(ctx context.Context, j *journal.Journal, all bool) ([]Report, error) {
	var reports []Report
	if all {
		resolved, err := j.Read(ctx, journal.Query{Kind: journal.Resolved, Newest: true, Limit: maxAll})
		if err != nil {
			return nil, err
		}
		for _, rec := range resolved {
			report, err := reportOf(ctx, j, rec.Call)
			if err != nil {
				return nil, err
			}
			reports = append(reports, report)
		}
	}
	for q := (doubt.Query{}); ; {
		open, err := j.OpenDoubts(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, d := range open {
			q.After = d.Seq
			reports = append(reports, Report{Doubted: d.Record, State: string(d.State), Changed: Changed(d.Doubt)})
		}
		if len(open) < journal.MaxRows {
			return reports, nil
		}
	}
}

// DoubtOf returns everything that is known of a call that is or was in doubt.
func DoubtOf(ctx context.Context, j *journal.Journal, call string) (Report, error) {
	report, err := reportOf(ctx, j, call)
	if err == nil && report.Doubted.Kind != journal.Doubted {
		err = tool.Errorf("recovery.DoubtOf", tool.NotFound, "call %s is not in doubt, and never was", tool.Truncate(call)).
			WithHint("callgate log doubts lists those that are")
	}
	return report, err
}

// reportOf makes the report of the records of a call, and of the one that was made in
// its place.
func reportOf(ctx context.Context, j *journal.Journal, call string) (Report, error) {
	var report Report
	if call == "" {
		return report, nil
	}
	for _, id := range []string{call, doubt.RetryID(call)} {
		records, err := j.Read(ctx, journal.Query{Call: id})
		if err != nil {
			return report, err
		}
		for _, rec := range records {
			report.add(rec, id == call)
		}
	}
	if report.State != "resolved" && report.State != "closed" {
		report.Changed = Changed(report.Doubted.Doubt)
	}
	return report, nil
}

// add takes up what one record says.
func (r *Report) add(rec journal.Record, original bool) {
	switch rec.Kind {
	case journal.Begun:
		r.Attempts = append(r.Attempts, Attempt{Call: rec.Call, Begun: rec.Time, Summary: "cut off"})
	case journal.Doubted:
		r.Doubted, r.State = rec, string(doubt.New)
	case journal.Judged:
		r.Why = rec.Note
		if r.State == string(doubt.New) {
			r.State = string(doubt.Judged)
		}
	case journal.Told:
		r.State = string(doubt.Told)
	case journal.Resolved:
		r.State, r.Resolved = "resolved", rec.Resolution
		if rec.Resolution != nil && rec.Resolution.Closed != "" {
			r.State = "closed"
		}
	case journal.Ended:
		if n := len(r.Attempts); !original && n > 1 && rec.End != nil {
			r.Attempts[n-1].Ended, r.Attempts[n-1].Summary = rec.Time, rec.End.Summary
		}
	}
}
