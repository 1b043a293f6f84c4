package journal

import (
	"context"
	"time"

	"callgate/tool"
)

// Doubt is what is known of a call in doubt from before it was cut off.
type Doubt struct {
	Record    uint64       `json:"record"` // of its beginning
	Begun     time.Time    `json:"begun"`
	Claims    []tool.Claim `json:"claims,omitempty"`
	Workspace string       `json:"workspace,omitempty"`
	AppFile   string       `json:"app_file,omitempty"`
	Files     []FileState  `json:"files,omitempty"`
}

// FileState is the identity and the times of a file, by which a later look tells
// whether anybody has touched it.
type FileState struct {
	Absent   bool   `json:"absent,omitempty"`
	Device   uint64 `json:"device,omitempty"`
	Inode    uint64 `json:"inode,omitempty"`
	Size     int64  `json:"size,omitempty"`
	Modified int64  `json:"modified,omitempty"` // nanoseconds
	Changed  int64  `json:"changed,omitempty"`
}

// Resolution says how a doubt ended: somebody looked, the call was made again
// because making it twice is making it once, or it was closed by a rule.
type Resolution struct {
	Happened bool   `json:"happened"`
	By       string `json:"by,omitempty"`
	Retry    string `json:"retry,omitempty"`  // the call that was made in its place
	Closed   string `json:"closed,omitempty"` // the rule that closed it: whether it happened is not known
}

// OpenDoubt is the Doubted record of a call in doubt, and how far that has come.
type OpenDoubt struct {
	Record
	State DoubtState
}

// RetryID is the ID of the call that is made in the place of one in doubt. There is
// one at most: a call is attempted twice in all.
func RetryID(call string) string { return call + ".again" }

// isRetry reports whether the record is of a call that was made in the place of
// its parent, which is in doubt.
func (r *Record) isRetry() bool { return r.Parent != "" && r.Call == RetryID(r.Parent) }

// OpenDoubts returns open doubts, oldest first.
func (j *Journal) OpenDoubts(ctx context.Context, q DoubtQuery) ([]OpenDoubt, error) {
	if j.queue.waiting() {
		_ = j.Flush(ctx) // as in Read
	}
	rows, err := j.store.Doubts(ctx, q)
	if err != nil {
		return nil, wrap("journal.Doubts", err, "the calls in doubt cannot be read")
	}
	open := make([]OpenDoubt, len(rows))
	for i, row := range rows {
		rec, err := decode(row.Row)
		if err != nil { // damaged, and in doubt all the same
			rec = Record{Seq: row.Seq, Kind: Doubted, Call: row.Call}
		}
		open[i] = OpenDoubt{rec, row.State}
	}
	return open, nil
}

// Doubts returns the Doubted records that nobody has resolved, oldest first.
func (j *Journal) Doubts(ctx context.Context) ([]Record, error) {
	var all []Record
	for q := (DoubtQuery{}); ; {
		page, err := j.OpenDoubts(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, d := range page {
			all = append(all, d.Record)
			q.After = d.Seq
		}
		if len(page) < MaxRows {
			return all, nil
		}
	}
}

// DoubtOf returns the open doubt of a call, and whether there is one.
func (j *Journal) DoubtOf(ctx context.Context, call string) (OpenDoubt, bool, error) {
	if call == "" {
		return OpenDoubt{}, false, nil
	}
	open, err := j.OpenDoubts(ctx, DoubtQuery{Call: call, Limit: 1})
	if err != nil || len(open) == 0 {
		return OpenDoubt{}, false, err
	}
	return open[0], true, nil
}

// CountDoubts returns how many calls are in doubt, by state.
func (j *Journal) CountDoubts(ctx context.Context) (map[DoubtState]int, error) {
	if j.queue.waiting() {
		_ = j.Flush(ctx)
	}
	counts, err := j.store.CountDoubts(ctx)
	if err != nil {
		return nil, wrap("journal.CountDoubts", err, "the calls in doubt cannot be counted")
	}
	return counts, nil
}

// Resolve ends a doubt, once. The record is on disk when it returns.
func (j *Journal) Resolve(ctx context.Context, call string, r Resolution) error {
	j.recovering.Lock()
	defer j.recovering.Unlock()
	d, open, err := j.DoubtOf(ctx, call)
	if err != nil {
		return err
	}
	if !open {
		return tool.Errorf("journal.Resolve", tool.NotFound, "call %s is not in doubt", tool.Truncate(call)).
			WithHint("callgate log doubts lists those that are")
	}
	rec := d.About(Resolved)
	rec.Resolution = &r
	_, err = j.Commit(ctx, rec)
	return err
}

// About starts a record about the same call.
func (r *Record) About(kind Kind) Record {
	return Record{Kind: kind, Call: r.Call, Parent: r.Parent, Principal: r.Principal, Name: r.Name, Tool: r.Tool}
}
