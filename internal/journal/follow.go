package journal

import (
	"context"
	"iter"
)

// followPage is how many rows a follower reads at a time.
const followPage = 512

// Follow yields the records with a Seq greater than after, in order and without a gap, first those in the store, then
// each as it is committed, until ctx ends or the journal closes. A follower that remembers the Seq of the last record
// it dealt with misses nothing and sees nothing twice, also across restarts. What pruning has dropped is passed over.
//
// A record that cannot be read is yielded as an error, with its Seq, and passed over; a store that cannot be read ends
// the sequence after its error.
func (j *Journal) Follow(ctx context.Context, after uint64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for ctx.Err() == nil {
			last, finished, changed := j.queue.progress()
			if after >= last {
				if finished {
					return
				}
				select {
				case <-changed:
				case <-ctx.Done():
				}
				continue
			}
			rows, err := j.store.Rows(ctx, Query{After: after, Before: last + 1, Limit: followPage})
			if err != nil {
				if ctx.Err() == nil {
					yield(Record{}, wrap("journal.Follow", err, "the journal cannot be read"))
				}
				return
			}
			if len(rows) == 0 {
				after = last // dropped since
			}
			for _, row := range rows {
				after = row.Seq
				rec, err := decode(row)
				if err != nil {
					rec = Record{Seq: row.Seq}
				}
				if !yield(rec, err) {
					return
				}
			}
		}
	}
}

// walk yields every row that matches, a page at a time; a Limit of 0 is none.
func walk(ctx context.Context, store Store, q Query) iter.Seq2[Row, error] {
	const page = 1024
	return func(yield func(Row, error) bool) {
		left := q.Limit
		for {
			q.Limit = page
			if left > 0 {
				q.Limit = min(page, left)
			}
			rows, err := store.Rows(ctx, q)
			if err != nil {
				yield(Row{}, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
				q.After = row.Seq
			}
			if left -= len(rows); len(rows) < q.Limit || left == 0 {
				return
			}
		}
	}
}

// newest yields what a Query for the newest rows returns.
func newest(ctx context.Context, store Store, q Query) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		rows, err := store.Rows(ctx, q)
		if err != nil {
			yield(Row{}, err)
			return
		}
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}
