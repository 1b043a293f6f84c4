package journal

import (
	"context"

	"callgate/tool"
)

// Resolution says how a doubt ended: somebody looked, or the call was made again
// because making it twice is making it once.
type Resolution struct {
	Happened bool   `json:"happened"`
	By       string `json:"by,omitempty"`
	Retry    string `json:"retry,omitempty"` // the call that was made in its place
}

// Doubts returns the Doubted records that nobody has resolved, oldest first: of
// calls that an earlier start of the kernel never ended, and of calls that ended
// with the kind in_doubt. An ended record resolves nothing.
func (j *Journal) Doubts(ctx context.Context) ([]Record, error) {
	resolved := make(map[string]bool)
	for row, err := range walk(ctx, j.store, Query{Kind: Resolved}) {
		if err != nil {
			return nil, wrap("journal.Doubts", err, "the journal cannot be read")
		}
		resolved[row.Call] = true
	}
	var open []Record
	for row, err := range walk(ctx, j.store, Query{Kind: Doubted}) {
		if err != nil {
			return nil, wrap("journal.Doubts", err, "the journal cannot be read")
		}
		if resolved[row.Call] {
			continue
		}
		rec, err := decode(row)
		if err != nil {
			rec = Record{Seq: row.Seq, Kind: Doubted, Call: row.Call}
		}
		open = append(open, rec)
	}
	return open, nil
}

// Resolve ends a doubt, once. The record is on disk when it returns.
func (j *Journal) Resolve(ctx context.Context, call string, r Resolution) error {
	const op = "journal.Resolve"
	j.recovering.Lock()
	defer j.recovering.Unlock()
	open, err := j.Doubts(ctx)
	if err != nil {
		return err
	}
	for _, d := range open {
		if d.Call != call {
			continue
		}
		_, err := j.Commit(ctx, Record{
			Kind: Resolved, Call: call, Parent: d.Parent, Principal: d.Principal,
			Name: d.Name, Tool: d.Tool, Resolution: &r,
		})
		return err
	}
	return tool.Errorf(op, tool.NotFound, "call %s is not in doubt", tool.Truncate(call)).
		WithHint("callgate log doubt lists those that are")
}
