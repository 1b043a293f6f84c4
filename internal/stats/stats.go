// Package stats says what the gate did for its user, out of what the journal holds.
//
// # Law
//
// The journal is read a page at a time, the newest first, and nothing of it is kept but counts and, for
// each session, how its next call went. Only what a record says counts: nothing is guessed.
package stats

import (
	"context"
	"slices"
	"strings"
	"time"

	"callgate/internal/journal"
	"callgate/internal/secret"
	"callgate/tool"
)

// Stats is what the gate did since a time.
type Stats struct {
	Records   int       // that were looked at
	From      time.Time // of the oldest of them
	Partial   bool      // there were more
	Calls     int       // that ended
	Succeeded int
	Refused   int // calls that did not run: a rule, a mistake, a name that means no tool
	Coerced   int // calls whose arguments were put right before they were checked
	PutRight  int // calls that were told what was wrong, and whose next one in the session went well
	Approved  int // by a human
	Edited    int // of those, with other arguments
	Denied    int
	Expired   int // nobody answered
	Granted   int // calls that would have asked, but for a lasting grant
	Allowed   int // the same, for what a person allowed in the session
	Scrubbed  int // results out of which secrets were taken
	Cut       int // results that were too large for a model, and kept whole beside it
	Doubted   int // calls that began, and whose end nobody saw
}

// Reader reads the journal. *journal.Journal is one.
type Reader interface {
	Read(ctx context.Context, q journal.Query) ([]journal.Record, error)
}

const (
	page = 2000
	// maxSessions is for how many sessions it is known how their next call went. Those of more are not counted as
	// put right.
	maxSessions = 10_000
)

// Collect counts what the journal holds since a time, and looks at so many records at most; 0: at all.
func Collect(ctx context.Context, from Reader, since time.Time, limit int) (Stats, error) {
	c := counter{next: map[string]bool{}}
	for before := uint64(0); ; {
		records, err := from.Read(ctx, journal.Query{Before: before, Newest: true, Limit: page})
		if err != nil {
			return c.Stats, err
		}
		for _, r := range slices.Backward(records) {
			if r.Time.Before(since) {
				return c.Stats, nil
			}
			if limit > 0 && c.Records >= limit {
				c.Partial = true
				return c.Stats, nil
			}
			c.Records++
			c.From = r.Time
			c.add(r)
		}
		if len(records) < page {
			return c.Stats, nil
		}
		before = records[0].Seq
	}
}

// counter counts records, the newest first.
type counter struct {
	Stats
	next map[string]bool // by session: the call after the one that is looked at went well
}

func (c *counter) add(r journal.Record) {
	if r.Bench {
		return
	}
	if r.Kind == journal.Doubted {
		c.Doubted++
	}
	if r.Ask != nil {
		c.asked(r)
	}
	if r.Kind == journal.Answered && r.Answer != nil {
		c.answered(*r.Answer)
	}
	if r.End != nil && r.Kind == journal.Ended {
		c.ended(r)
	}
}

func (c *counter) asked(r journal.Record) {
	if len(r.Ask.Coercions) > 0 {
		c.Coerced++
	}
	switch {
	case r.Ask.Verdict == journal.Refuse:
		c.Refused++
		c.told(r)
	case r.Ask.Verdict == journal.Allow && strings.HasPrefix(r.Ask.Reason, "grant "):
		c.Granted++
	case r.Ask.Verdict == journal.Allow && isOfSession(r.Ask.Reason):
		c.Allowed++
	}
}

// isOfSession reports whether a call ran by what a person allowed in its session.
func isOfSession(reason string) bool {
	return strings.HasPrefix(reason, "allowed for this session") ||
		strings.HasPrefix(reason, "permission mode accept-edits")
}

func (c *counter) answered(a journal.Answer) {
	switch {
	case isOfSession(a.By): // what waited when it was allowed
		c.Allowed++
	case a.Verdict == "approved":
		c.Approved++
		if len(a.Args) > 0 || a.ArgsRef != "" {
			c.Edited++
		}
	case a.Verdict == "denied":
		c.Denied++
	case a.Verdict == "expired":
		c.Expired++
	}
}

func (c *counter) ended(r journal.Record) {
	c.Calls++
	well := r.End.Status == tool.Success
	switch {
	case well:
		c.Succeeded++
	case r.End.Error == tool.Invalid || r.End.Error == tool.NotFound:
		c.told(r)
	}
	if r.End.ArtifactRef != "" && r.End.Readable {
		c.Cut++
	}
	if slices.Contains(r.End.Warnings, secret.TakenOut) {
		c.Scrubbed++
	}
	if s := session(r); s != "" && (len(c.next) < maxSessions || c.next[s]) {
		c.next[s] = well
	}
}

// told counts a call that was answered with what was wrong, if the next one of its session went well.
func (c *counter) told(r journal.Record) {
	s := session(r)
	if s != "" && c.next[s] {
		c.PutRight++
	}
	delete(c.next, s)
}

func session(r journal.Record) string {
	if r.Principal == nil {
		return ""
	}
	return r.Principal.Session
}
