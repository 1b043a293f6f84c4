package recovery

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/gate/filestate"
	"callgate/internal/gate/notice"
	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/tool"
)

// Ages at which doubts are closed, and how many may be open.
const (
	toldAge   = 30 * 24 * time.Hour
	untoldAge = 90 * 24 * time.Hour
	maxOpen   = 10_000
)

// loadNotices reads, in the background, the doubts of which nobody was told. With
// undecided it tells those too that a kernel which stays would decide about.
func (r *Recovery) loadNotices(undecided bool) {
	states := []doubt.State{doubt.Judged}
	if undecided {
		states = append(states, doubt.New)
	}
	loaded := r.Gate.ExpectNotices()
	started := r.Go(func(ctx context.Context) {
		defer loaded()
		for _, state := range states {
			if err := r.notify(ctx, state); err != nil && ctx.Err() == nil {
				r.Log.Error("the calls in doubt cannot be read: their askers are told after the next start", "error", err)
			}
		}
	})
	if !started {
		loaded()
	}
}

// notify adds a notice for each doubt in a state.
func (r *Recovery) notify(ctx context.Context, state doubt.State) error {
	for q := (doubt.Query{State: state, Limit: 1000}); ; {
		page, err := r.Journal.OpenDoubts(ctx, q)
		if err != nil {
			return err
		}
		for _, d := range page {
			if q.After = d.Seq; r.retried[d.Call] == nil {
				r.Gate.Notify(noticeOf(d.Record))
			}
		}
		if len(page) < q.Limit {
			return nil
		}
	}
}

// noticeOf is what the asker of a call in doubt is told.
func noticeOf(d journal.Record) notice.Notice {
	n := notice.Notice{Doubt: &d}
	if d.Principal != nil {
		n.Principal = *d.Principal
	}
	var known strings.Builder
	if d.Doubt != nil {
		n.Workspace = d.Doubt.Workspace
		fmt.Fprintf(&known, "; it began at %s", d.Doubt.Begun.Local().Format("2006-01-02 15:04:05"))
		if len(d.Doubt.Claims) > 0 {
			known.WriteString(" and touches " + resources(d.Doubt.Claims))
		}
		switch Changed(d.Doubt) {
		case Yes:
			known.WriteString(", which is not as it was before")
		case No:
			known.WriteString(", which is as it was before")
		}
	}
	n.Text = fmt.Sprintf("an earlier call of yours is in doubt: %s (%s) began and its end was never recorded, "+
		"so it may or may not have happened%s; look before you repeat it", nameOf(d), d.Call, known.String())
	return n
}

// resources lists what is claimed, the first few by name.
func resources(claims []tool.Claim) string {
	const most = 3
	var names []string
	for _, c := range claims[:min(most, len(claims))] {
		names = append(names, c.Resource)
	}
	if more := len(claims) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// nameOf is the tool of a record as people know it.
func nameOf(r journal.Record) string {
	if id, ok := tool.TryParseID(r.Tool); ok {
		return id.Dotted()
	}
	return r.Tool
}

// Answer is yes, no, or that nobody can tell.
type Answer string

// The answers.
const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "unknown"
)

// Changed reports whether the files that a call in doubt claims differ from how they
// were when it began.
func Changed(d *doubt.Facts) Answer {
	if d == nil || len(d.Files) == 0 {
		return Unknown
	}
	now, _ := filestate.Of(d.Claims)
	bothAbsent := func(a, b doubt.FileState) bool { return a == b || a.Absent && b.Absent }
	switch {
	case changedFile(d.Claims, d.Files, now) == "":
		return No
	case slices.EqualFunc(d.Files, now, bothAbsent): // only its folder differs
		return Unknown
	}
	return Yes
}

// closeOld closes the doubts that have aged: see the law at the head of the package.
func (r *Recovery) closeOld(ctx context.Context) {
	if err := r.closeAged(ctx, time.Now()); err != nil && ctx.Err() == nil {
		r.Log.Error("old doubts cannot be closed", "error", err)
	}
}

func (r *Recovery) closeAged(ctx context.Context, now time.Time) error {
	counts, err := r.Journal.CountDoubts(ctx)
	if err != nil {
		return err
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	over, closed := total-maxOpen, 0
	for q := (doubt.Query{Limit: 1000}); ctx.Err() == nil; {
		page, err := r.Journal.OpenDoubts(ctx, q)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, d := range page {
			q.After = d.Seq
			why := aged(d, now)
			if why == "" && over > closed {
				why = fmt.Sprintf("closed by number: more than %d calls were in doubt", maxOpen)
			}
			if why == "" {
				if now.Sub(d.Time) < toldAge { // and all that follow are younger
					return r.Journal.Flush(ctx)
				}
				continue
			}
			closed++
			rec := d.About(journal.Resolved)
			rec.Resolution = &doubt.Resolution{By: "the kernel", Closed: why}
			if err := r.Journal.Append(rec); err != nil {
				return err
			}
		}
		if err := r.Journal.Flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// aged says by which rule a doubt is closed; "" for none.
func aged(d journal.OpenDoubt, now time.Time) string {
	age := now.Sub(d.Time)
	switch {
	case d.Time.IsZero(): // damaged
		return ""
	case d.State == doubt.Told && age > toldAge:
		return "closed by age: its asker was told 30 days ago or more, and nobody looked"
	case age > untoldAge:
		return "closed by age: after 90 days its asker has not come back, and nobody looked"
	}
	return ""
}
