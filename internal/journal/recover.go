package journal

import (
	"context"
	"fmt"
	"slices"

	"callgate/internal/journal/doubt"
	"callgate/tool"
)

// Recover finds the calls that an earlier start of the kernel began and never
// ended, gives each of them one Doubted record, and returns those records once
// they are on disk. A kernel calls it before it begins a call. Calling it again,
// in this start or in a later one, finds only what is new: what could not be
// written is withdrawn, and found again.
//
// A call that was made in the place of one in doubt, and was cut off too, is no
// doubt of its own: it ends, and the doubt goes on.
func (j *Journal) Recover(ctx context.Context) ([]Record, error) {
	const op = "journal.Recover"
	j.recovering.Lock()
	defer j.recovering.Unlock()
	rows, err := j.store.Unended(ctx, j.since)
	if err != nil {
		return nil, wrap(op, err, "the calls in doubt cannot be read")
	}
	var found []Record
	seen := make(map[string]bool)
	for _, row := range rows {
		if row.Seq > j.firstSeq || seen[row.Call] {
			continue
		}
		seen[row.Call] = true
		rec, err := j.doubt(ctx, row)
		if err != nil {
			return nil, wrap(op, err, "the calls in doubt cannot be read")
		}
		found = append(found, rec)
	}
	waiters, err := j.queue.putDoubts(found)
	if err != nil {
		return nil, err
	}
	for i, w := range waiters { // also when ctx has ended: half of the doubts would be found twice
		out := <-w.done
		if out.err != nil {
			err = out.err
		}
		found[i].Seq, found[i].Epoch = out.seq, out.epoch
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(r Record) bool { return r.Kind != Doubted }), nil
}

// IsEarlier reports whether a record was written before this start of the kernel.
func (j *Journal) IsEarlier(seq uint64) bool { return seq <= j.firstSeq }

// doubt is the record of a call that was begun in row and never ended, with what
// its records tell.
func (j *Journal) doubt(ctx context.Context, row Row) (Record, error) {
	begun, err := decode(row)
	if err != nil {
		begun = Record{Call: row.Call} // damaged, and in doubt all the same
	}
	rec := begun.About(Doubted)
	rec.End = &End{Status: tool.Failure, Error: tool.InDoubt, Summary: "it may or may not have happened"}
	if begun.isRetry() {
		rec.Kind = Ended
		rec.End.Summary = "it was cut off too: call " + begun.Parent + " stays in doubt, and is not made again"
		return rec, nil
	}
	rec.Note = fmt.Sprintf("begun in record %d before the kernel was started again, and never ended", row.Seq)
	rec.Doubt = &doubt.Facts{Record: row.Seq, Begun: begun.Time, Files: begun.Files}
	asked, err := j.store.Rows(ctx, Query{Call: row.Call, Kind: Asked, Before: row.Seq, Newest: true, Limit: 1})
	if err != nil || len(asked) == 0 || row.Call == "" {
		return rec, err
	}
	if ask, err := decode(asked[0]); err == nil && ask.Ask != nil {
		rec.Doubt.Claims, rec.Doubt.Workspace, rec.Doubt.AppFile = ask.Ask.Claims, ask.Ask.Workspace, ask.Ask.AppFile
	}
	return rec, nil
}
