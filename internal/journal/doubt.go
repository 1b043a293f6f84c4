package journal

import (
	"context"

	"callgate/internal/journal/doubt"
	"callgate/tool"
)

// OpenDoubt is the Doubted record of a call in doubt, and how far that has come.
type OpenDoubt struct {
	Record
	State doubt.State
}

// isRetry reports whether the record is of a call that was made in the place of
// its parent, which is in doubt.
func (r *Record) isRetry() bool { return r.Parent != "" && r.Call == doubt.RetryID(r.Parent) }

// OpenDoubts returns open doubts, oldest first.
func (j *Journal) OpenDoubts(ctx context.Context, q doubt.Query) ([]OpenDoubt, error) {
	_ = j.Flush(ctx) // a store that takes no writes may still be read
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

// Doubts returns the Doubted records that nobody has resolved, oldest first: of
// calls that an earlier start of the kernel never ended, and of calls that ended
// with the kind in_doubt. An ended record resolves nothing.
func (j *Journal) Doubts(ctx context.Context) ([]Record, error) {
	var all []Record
	for q := (doubt.Query{}); ; {
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
	open, err := j.OpenDoubts(ctx, doubt.Query{Call: call, Limit: 1})
	if err != nil || len(open) == 0 {
		return OpenDoubt{}, false, err
	}
	return open[0], true, nil
}

// CountDoubts returns how many calls are in doubt, by state.
func (j *Journal) CountDoubts(ctx context.Context) (map[doubt.State]int, error) {
	_ = j.Flush(ctx) // a store that takes no writes may still be read
	counts, err := j.store.CountDoubts(ctx)
	if err != nil {
		return nil, wrap("journal.CountDoubts", err, "the calls in doubt cannot be counted")
	}
	return counts, nil
}

// Resolve ends a doubt, once. The record is on disk when it returns.
func (j *Journal) Resolve(ctx context.Context, call string, r doubt.Resolution) error {
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
