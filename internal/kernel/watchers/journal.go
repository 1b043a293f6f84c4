package watchers

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"callgate/internal/condition"
	"callgate/internal/journal"
	"callgate/internal/kernel/session"
	"callgate/internal/watch"
	"callgate/tool"
)

// filter is which calls a watcher of the journal sees: those of its own user and app
// that have ended, but for its own conversation's, which knows of them.
type filter struct {
	Tool   string      `json:"tool,omitempty"`   // a dotted name, or a pattern with *
	Status tool.Status `json:"status,omitempty"` // how they ended
}

// seen is a call in the result of a check of the journal. What it was about is not in it:
// that is its own conversation's.
type seen struct {
	Call    string      `json:"call"`
	Tool    string      `json:"tool"`
	Status  tool.Status `json:"status"`
	Error   tool.Kind   `json:"error,omitempty"`
	Agent   string      `json:"agent,omitempty"`
	Session string      `json:"session"`
	At      time.Time   `json:"at"`

	seq uint64
}

// maxSeen is how many calls one check shows; count says how many there were.
const maxSeen = 20

// journalType is the type of what a check of the journal gives.
func journalType() condition.Type {
	text := condition.Type{Kind: condition.Text}
	record := condition.Type{Kind: condition.Map, Closed: true, Fields: map[string]condition.Type{
		"call": text, "tool": text, "status": text, "error": text, "agent": text, "session": text, "at": text,
	}}
	return condition.Type{Kind: condition.Map, Closed: true, Fields: map[string]condition.Type{
		"count": {Kind: condition.Number}, "records": {Kind: condition.List, Elem: &record},
	}}
}

// parseFilter reads the parameters of a watcher of the journal.
func parseFilter(params json.RawMessage) (filter, error) {
	var f filter
	if len(params) == 0 {
		return f, nil
	}
	d := json.NewDecoder(bytes.NewReader(params))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return f, tool.Errorf(startOp, tool.Invalid, "params of journal: %w", err).
			WithHint(`there are tool and status, as in {"tool":"shell.*","status":"error"}`)
	}
	if _, err := path.Match(f.Tool, ""); err != nil {
		return f, tool.Errorf(startOp, tool.Invalid, "params of journal: the pattern %q is wrong", tool.Truncate(f.Tool))
	}
	switch f.Status {
	case "", tool.Success, tool.Failure, tool.Refused:
		return f, nil
	}
	return f, tool.Errorf(startOp, tool.Invalid, "params of journal: status is %q", tool.Truncate(string(f.Status))).
		WithHint("use success, error or denied")
}

// matches reports whether a watcher of an owner is to see a record.
func (f filter) matches(r journal.Record, l *live) (seen, bool) {
	own := l.run.Asker.Principal
	if r.Principal == nil || r.Principal.User != own.User || r.Principal.App != own.App ||
		r.Principal.Session == own.Session || strings.HasPrefix(r.Call, l.run.ID) {
		return seen{}, false
	}
	s := seen{
		Call: r.Call, Tool: r.Name, Agent: r.Principal.Agent, Session: r.Principal.Session, At: r.Time.UTC(),
		seq: r.Seq,
	}
	if id, err := tool.ParseID(r.Tool); err == nil {
		s.Tool = id.Dotted()
	}
	switch {
	case r.Kind == journal.Ended && r.End != nil:
		s.Status, s.Error = r.End.Status, r.End.Error
	case r.Kind == journal.Asked && r.Ask != nil && r.Ask.Verdict == journal.Refuse:
		s.Status = tool.Refused
	default:
		return seen{}, false
	}
	if f.Status != "" && f.Status != s.Status {
		return seen{}, false
	}
	if ok, err := path.Match(f.Tool, s.Tool); f.Tool != "" && (err != nil || !ok) {
		return seen{}, false
	}
	return s, true
}

// The times between two attempts to read a journal that cannot be read.
const (
	readAgain    = time.Second
	maxReadAgain = time.Minute
)

// follows reads the journal as it is written, and wakes the watcher for what it is to
// see. After a restart it goes on behind what was checked, and after a failure to read
// behind what was read.
func (s *Set) follows(ctx context.Context, l *live) {
	f, err := parseFilter(l.w.Params)
	if err != nil {
		return // it was checked when the watcher was started
	}
	var read uint64
	l.with(func(w *watch.Watcher) { read, l.read = w.Cursor, w.Cursor })
	for wait := readAgain; ; wait = min(2*wait, maxReadAgain) {
		had := read
		read, err = l.readJournal(ctx, s.opt.Journal, f, had)
		if err == nil || ctx.Err() != nil {
			return // with the watcher, or the journal
		}
		s.opt.Log.Error("a watcher cannot read the journal now", "watcher", l.run.ID, "error", err)
		if read > had {
			wait = readAgain
		}
		if !pause(ctx, wait) {
			return
		}
	}
}

// readJournal reads the records after one until that fails, and returns the last.
func (l *live) readJournal(ctx context.Context, j *journal.Journal, f filter, after uint64) (uint64, error) {
	for r, err := range j.Follow(ctx, after) {
		if err != nil && r.Seq == 0 {
			return after, err
		}
		after = r.Seq
		one, ok := seen{}, false
		if err == nil { // else it is damaged, and passed over
			one, ok = f.matches(r, l)
		}
		l.came(after, one, ok)
	}
	return after, nil
}

// came notes that a record was read, and which call it shows, if it shows one.
func (l *live) came(seq uint64, one seen, shows bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = seq
	switch {
	case shows:
		if l.seen = append(l.seen, one); len(l.seen) > maxSeen {
			l.seen = l.seen[1:]
			l.more++
		}
		signal(l.wake)
	case len(l.seen) == 0:
		l.w.Cursor = seq // there is nothing to check before it
	}
}

// batch is what a check of the journal is about.
type batch struct {
	records []seen
	count   int
	last    uint64 // the last record that was read
}

// unchecked returns the calls that were not checked yet. They stay so until checked.
func (l *live) unchecked() batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	return batch{records: slices.Clone(l.seen), count: len(l.seen) + l.more, last: l.read}
}

// checked forgets the calls that a check was about, and has the next run begin behind
// them. The lock is held.
func (l *live) checked(b batch) {
	if b.count == 0 {
		return
	}
	rest := len(l.seen) + l.more - b.count // they came meanwhile
	l.seen = slices.DeleteFunc(l.seen, func(one seen) bool { return one.seq <= b.last })
	l.more = rest - len(l.seen)
	if l.w.Cursor = b.last; rest == 0 {
		l.w.Cursor = l.read
	}
}

// checkJournal is the check of a watcher of the journal: the calls that came since the
// last one, of tools that the asker has. Without any there is no check. What was in a
// check that failed or was cut off is in the next one.
func (s *Set) checkJournal(ctx context.Context, l *live, kept *shared) (watch.Check, batch, bool) {
	c, b := watch.Check{At: time.Now()}, l.unchecked()
	more := b.count - len(b.records)
	err := kept.Use(ctx, func(in *session.Session) error {
		if err := mayWatch(in); err != nil {
			return err
		}
		b.records = slices.DeleteFunc(b.records, func(one seen) bool {
			_, err := in.View().Tool(ctx, one.Tool)
			return err != nil
		})
		return ctx.Err()
	})
	if err != nil {
		return checkOf(&tool.Result{Status: tool.Failure, Error: asError(err)}, c.At), batch{}, true
	}
	if len(b.records) == 0 {
		l.with(func(*watch.Watcher) { l.checked(b) })
		return c, b, false
	}
	c.Result, err = json.Marshal(struct {
		Count   int    `json:"count"`
		Records []seen `json:"records"`
	}{len(b.records) + more, b.records})
	return c, b, err == nil
}

// head is the last record of the journal.
func (s *Set) head(ctx context.Context) (uint64, error) {
	last, err := s.opt.Journal.Read(ctx, journal.Query{Newest: true, Limit: 1})
	if err != nil || len(last) == 0 {
		return 0, err
	}
	return last[0].Seq, nil
}
