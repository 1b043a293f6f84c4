package journal

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"callgate/internal/journal/anchor"
	"callgate/tool"
)

// maxPrunedRows is about how many records one summary stands for: a drop is one
// transaction, and calls wait while it lasts.
const maxPrunedRows = 100_000

// Prune drops the epochs whose last record is older than before, oldest first,
// and returns a signed summary for each run of them. It never drops the current
// epoch, nor one with a call that was begun and has not ended or whose doubt
// nobody has resolved, nor anything after that.
//
// What is dropped is verified first: epochs that are not whole are not signed
// for, and stay. Each summary is written to the journal, as a Dropped record,
// before its records are removed.
func (j *Journal) Prune(ctx context.Context, before time.Time) ([]PruneSummary, error) {
	const op = "journal.Prune"
	j.pruning.Lock()
	defer j.pruning.Unlock()
	epochs, err := j.prunableEpochs(ctx, before)
	if err != nil {
		return nil, wrap(op, err, "what may be dropped cannot be determined")
	}
	if len(epochs) == 0 {
		return nil, nil
	}
	key, err := j.opts.signingKey(true)
	if err != nil {
		return nil, err
	}
	var done []PruneSummary
	for len(epochs) > 0 {
		n := 1
		for n < len(epochs) && epochs[n].last-epochs[0].first < maxPrunedRows {
			n++
		}
		s, err := j.summarize(ctx, epochs[:n])
		if err != nil {
			return done, err
		}
		s.sign(key)
		if _, err := j.Commit(ctx, Record{Kind: Dropped, Summary: &s}); err != nil {
			return done, err
		}
		if err := anchor.At(j.opts.Anchor).Sync(); err != nil {
			return done, err // a power cut could leave it naming a record that was dropped
		}
		if err := j.store.Drop(ctx, s); err != nil {
			return done, wrap(op, err, "old records could not be dropped")
		}
		done = append(done, s)
		epochs = epochs[n:]
	}
	return done, nil
}

// epochRange is the records of an epoch that has ended.
type epochRange struct{ epoch, first, last uint64 }

// prunableEpochs returns the epochs that may go, oldest first.
func (j *Journal) prunableEpochs(ctx context.Context, before time.Time) ([]epochRange, error) {
	needed, err := j.firstNeeded(ctx)
	if err != nil {
		return nil, err
	}
	var epochs []epochRange
	var open *Row
	for row, err := range walk(ctx, j.store, Query{Kind: Opened}) {
		if err != nil {
			return nil, err
		}
		if open != nil {
			s := epochRange{open.Epoch, open.Seq, row.Seq - 1}
			if s.last >= needed {
				return epochs, nil
			}
			old, err := j.older(ctx, s.last, before)
			if err != nil || !old {
				return epochs, err
			}
			epochs = append(epochs, s)
		}
		open = &row
	}
	return epochs, nil
}

// firstNeeded returns the first record that a call still open, or in doubt, has.
func (j *Journal) firstNeeded(ctx context.Context) (uint64, error) {
	first := uint64(math.MaxUint64)
	unended, err := j.store.Unended(ctx, 0)
	if err != nil {
		return 0, err
	}
	calls := make(map[string]bool)
	for _, row := range unended {
		calls[row.Call] = true
		first = min(first, row.Seq)
	}
	doubts, err := j.Doubts(ctx)
	if err != nil {
		return 0, err
	}
	for _, rec := range doubts {
		calls[rec.Call] = true
		first = min(first, rec.Seq)
	}
	delete(calls, "") // a query for no call would find all of them
	for call := range calls {
		rows, err := j.store.Rows(ctx, Query{Call: call, Limit: 1})
		if err != nil {
			return 0, err
		}
		for _, row := range rows {
			first = min(first, row.Seq)
		}
	}
	return first, nil
}

// older reports whether a record is from before a time. One that is missing or
// unreadable counts as old: summarizing will find it, and say so.
func (j *Journal) older(ctx context.Context, seq uint64, before time.Time) (bool, error) {
	rows, err := j.store.Rows(ctx, Query{After: seq - 1, Before: seq + 1})
	if err != nil || len(rows) == 0 {
		return true, err
	}
	rec, err := decode(rows[0])
	return err != nil || rec.Time.Before(before), nil
}

// summarize verifies the epochs and sums them up.
func (j *Journal) summarize(ctx context.Context, epochs []epochRange) (PruneSummary, error) {
	const op = "journal.Prune"
	first, last := epochs[0], epochs[len(epochs)-1]
	prev, err := j.before(ctx, first.first)
	if err != nil {
		return PruneSummary{}, wrap(op, err, "old records cannot be read")
	}
	s := PruneSummary{
		FromEpoch: first.epoch, ToEpoch: last.epoch, FirstSeq: first.first, LastSeq: last.last,
		Before: prev[:], At: time.Now().UTC(),
	}
	next, head := first.first, prev
	for row, err := range walk(ctx, j.store, Query{After: first.first - 1, Before: last.last + 1}) {
		if err != nil {
			return PruneSummary{}, wrap(op, err, "old records cannot be read")
		}
		what := check(head, row)
		if row.Seq != next {
			what = "it does not follow the one before"
		}
		if what == "" && (row.Seq == s.FirstSeq || row.Seq == s.LastSeq) {
			what = s.setTimes(row)
		}
		if what != "" {
			return PruneSummary{}, damagedError("record %d is not as it was written (%s)", row.Seq, what)
		}
		if row.Kind == Ended || row.Kind == Doubted {
			s.Calls++
		}
		next, head = row.Seq+1, row.Hash
	}
	if next != last.last+1 {
		return PruneSummary{}, damagedError("records %d to %d are missing", next, last.last)
	}
	s.Head = head[:]
	return s, nil
}

// setTimes takes the times of the first and the last row, and says what is wrong
// with a row that cannot be read.
func (s *PruneSummary) setTimes(row Row) string {
	rec, err := decode(row)
	if err != nil {
		return err.Error()
	}
	if row.Seq == s.FirstSeq {
		s.From = rec.Time
	}
	s.To = rec.Time
	return ""
}

// damagedError is the refusal to sign for records that are not whole.
func damagedError(format string, args ...any) error {
	return tool.Errorf("journal.Prune", tool.Internal, format+": nothing was dropped from there on", args...).
		WithHint("run callgate log verify")
}

// Refs yields every artifact that a record names, perhaps more than once. An
// artifact that no record names may be deleted.
func (j *Journal) Refs(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := j.Flush(ctx); err != nil {
			yield("", err)
			return
		}
		for row, err := range walk(ctx, j.store, Query{}) {
			if err != nil {
				yield("", wrap("journal.Refs", err, "the journal cannot be read"))
				return
			}
			if !bytes.Contains(row.Body, []byte(`_ref":`)) {
				continue
			}
			rec, err := decode(row)
			if err != nil {
				yield("", fmt.Errorf("the artifacts in use cannot be determined: %w", err))
				return
			}
			for _, ref := range rec.refs() {
				if !yield(ref, nil) {
					return
				}
			}
		}
	}
}

// refs returns the artifacts that the record names.
func (r *Record) refs() []string {
	var refs []string
	add := func(ref string) {
		if ref != "" {
			refs = append(refs, ref)
		}
	}
	if r.Ask != nil {
		add(r.Ask.ArgsRef)
	}
	if r.Answer != nil {
		add(r.Answer.ArgsRef)
	}
	if r.End != nil {
		add(r.End.ResultRef)
		add(r.End.ArtifactRef)
	}
	return refs
}
