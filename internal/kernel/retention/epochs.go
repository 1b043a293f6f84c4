package retention

import (
	"context"
	"time"

	"callgate/internal/journal"
)

// Epochs are those of a journal, which are dropped whole.
type Epochs struct{ *journal.Journal }

// Drop is of Journal.
func (j Epochs) Drop(ctx context.Context, before time.Time, dry bool) (records uint64, last time.Time, err error) {
	if dry {
		records, err = j.droppable(ctx, before)
		return records, last, err
	}
	pruned, err := j.Prune(ctx, before)
	for _, p := range pruned {
		records, last = records+p.LastSeq-p.FirstSeq+1, p.To
	}
	return records, last, err
}

// droppable counts the records of epochs that ended before a time, up to the first call in doubt.
func (j Epochs) droppable(ctx context.Context, before time.Time) (records uint64, err error) {
	doubts, err := j.Doubts(ctx)
	if err != nil {
		return 0, err
	}
	var begins []uint64
	for after := uint64(0); ; {
		page, err := j.Read(ctx, journal.Query{Kind: journal.Opened, After: after, Limit: journal.MaxRows})
		if err != nil {
			return 0, err
		}
		for _, r := range page {
			begins, after = append(begins, r.Seq), r.Seq
		}
		if len(page) < journal.MaxRows {
			break
		}
	}
	for i := 1; i < len(begins); i++ {
		last, err := j.Read(ctx, journal.Query{After: begins[i] - 2, Before: begins[i]})
		if err != nil {
			return records, err
		}
		if len(last) == 0 || !last[0].Time.Before(before) || len(doubts) > 0 && doubts[0].Seq < begins[i] {
			return records, nil
		}
		records += begins[i] - begins[i-1]
	}
	return records, nil
}

// TimeOf is of Journal.
func (j Epochs) TimeOf(ctx context.Context, n int64) (time.Time, bool, error) {
	newest, err := j.Read(ctx, journal.Query{Newest: true, Limit: 1})
	if err != nil || len(newest) == 0 || newest[0].Seq <= uint64(n) {
		return time.Time{}, false, err
	}
	at := newest[0].Seq - uint64(n)
	found, err := j.Read(ctx, journal.Query{After: at - 1, Before: at + 1})
	if err != nil || len(found) == 0 { // dropped already
		return time.Time{}, false, err
	}
	return found[0].Time, true, nil
}
