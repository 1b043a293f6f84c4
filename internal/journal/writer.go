package journal

import (
	"context"
	"time"

	"callgate/tool"
)

// The law of the writer.
//
// One goroutine owns the chain. It takes a batch from the queue, numbers,
// encodes and hashes its records from the head on, and hands them to the store
// as one transaction. Only when the store has taken them does the head move;
// then the anchor is told, then the callers. Numbers are given anew at each
// attempt, so a withdrawn record leaves no gap.
//
// A store that reports failure may yet have written: the writer reads the head
// back and believes that. While even the head cannot be read the batch is in
// limbo: its callers have been told that it failed, and before anything else
// is written the head decides. If the batch is found to be there after all,
// its kept records are not written twice, and each Begun that its caller
// believes withdrawn is ended here, so that it is never taken for a doubt.
//
// The anchor is written after the store has synced, and not synced itself:
// after a power cut it may be behind the store, never ahead of it. So an
// anchor ahead of the store, or of another hash, is evidence. It is kept in a
// file beside the anchor before the first record of the new epoch, which tells
// of it, takes its place.

// head is a point of the chain: all that the next record needs to know.
type head struct {
	seq   uint64
	hash  Hash
	epoch uint64

	open   bool      // the epoch is of this life
	since  uint64    // calls begun before it are settled
	opened time.Time // when the epoch was opened
	count  uint64    // records in it
}

// uncertainBatch is a batch of which nobody knows yet whether it was written.
type uncertainBatch struct {
	head      head
	kept      int      // how many records at the front of the queue were in it
	withdrawn []Record // its Begun records whose callers were told that it failed
}

// writer is the goroutine that owns the chain.
type writer struct {
	store   Store
	opts    Options
	queue   *queue
	anchor  anchor
	stopped chan struct{}

	head     head
	cut      *Truncation // what was wrong when the chain was loaded, until it is on record
	limbo    *uncertainBatch
	rows     []Row             // of the batch in hand
	firstSeq uint64            // the head when this life began
	begun    map[string]uint64 // the calls of this life that have not ended, and where they began
}

// load reads where the chain ends, and what the anchor says about that.
func (w *writer) load(ctx context.Context) error {
	last, err := w.store.Rows(ctx, Query{Newest: true, Limit: 1})
	if err != nil {
		return err
	}
	if len(last) == 1 {
		w.head = head{seq: last[0].Seq, hash: last[0].Hash, epoch: last[0].Epoch}
	}
	opened, err := w.store.Rows(ctx, Query{Kind: Opened, Newest: true, Limit: 1})
	if err != nil {
		return err
	}
	if len(opened) == 1 {
		// An opening that cannot be read bounds nothing: look at everything.
		if rec, err := decode(opened[0]); err == nil && rec.Opening != nil {
			w.head.since = rec.Opening.Since
		}
	}
	w.firstSeq = w.head.seq
	w.cut, err = w.compare(ctx)
	return err
}

// compare returns how the anchor and the store disagree, nil when they agree.
func (w *writer) compare(ctx context.Context) (*Truncation, error) {
	if w.anchor.path == "" {
		return nil, nil
	}
	point, err := w.anchor.read()
	if err != nil {
		return nil, err
	}
	switch {
	case point == nil && w.head.seq == 0:
		return nil, nil
	case point == nil:
		return &Truncation{Head: w.head.seq}, nil
	case point.seq == w.head.seq && point.hash == w.head.hash:
		return nil, nil
	case point.seq == 0 && point.hash == Hash{}:
		return nil, nil // behind: it has seen the empty chain only
	}
	cut := &Truncation{Anchor: point.seq, Hash: point.hash[:], Head: w.head.seq}
	if point.seq >= w.head.seq {
		return cut, nil
	}
	rows, err := w.store.Rows(ctx, Query{After: point.seq - 1, Before: point.seq + 1})
	if err != nil {
		return nil, err
	}
	if len(rows) == 1 && rows[0].Hash == point.hash {
		return nil, nil // behind, as after a power cut
	}
	return cut, nil
}

// run writes until the queue is closed.
func (w *writer) run() {
	defer close(w.stopped)
	for range w.queue.kick {
		last := w.queue.isClosed() // before writing: then nothing can come after
		for w.attempt() {
		}
		if last {
			return
		}
	}
}

// attempt writes one batch and reports whether there may be more.
func (w *writer) attempt() bool {
	ctx := context.Background() // what is recorded is recorded, whoever went away
	queued := w.queue.length()
	if err := w.resolveUncertain(ctx); err != nil {
		w.queue.fail(batch{behind: queued}, err)
		return false
	}
	b := w.queue.take()
	if len(b.entries) == 0 {
		return false
	}
	next := w.encode(b)
	err := w.append(ctx, next)
	if err == nil {
		w.queue.done(b, w.head.seq)
		return true
	}
	kept := w.queue.fail(b, err)
	if w.limbo != nil {
		w.limbo.kept = kept
		for _, e := range b.entries {
			if !e.mark && !e.keep && e.rec.Kind == Begun {
				w.limbo.withdrawn = append(w.limbo.withdrawn, e.rec)
			}
		}
	}
	return false
}

// append hands the encoded rows to the store and moves the head.
func (w *writer) append(ctx context.Context, next head) error {
	if len(w.rows) == 0 {
		return nil
	}
	if err := w.anchor.prepare(w.cut, w.head.seq == 0); err != nil {
		return err
	}
	if err := w.store.Append(ctx, w.rows); err != nil {
		landed, unknown := w.wasWritten(ctx, next)
		if unknown != nil {
			w.limbo = &uncertainBatch{head: next}
		}
		if !landed {
			return err
		}
	}
	w.accept(next)
	return nil
}

// accept moves the head: the store has it, and the rows in hand.
func (w *writer) accept(next head) {
	for i := range w.rows {
		switch row := &w.rows[i]; row.Kind {
		case Begun:
			w.begun[row.Call] = row.Seq
		case Ended, Doubted:
			delete(w.begun, row.Call)
		}
	}
	w.head, w.cut = next, nil
	w.anchor.set(anchorPoint{next.seq, next.hash})
}

// wasWritten reads the store's head back: whether it is the wanted one.
func (w *writer) wasWritten(ctx context.Context, want head) (bool, error) {
	rows, err := w.store.Rows(ctx, Query{Newest: true, Limit: 1})
	if err != nil {
		return false, err
	}
	return len(rows) == 1 && rows[0].Seq == want.seq && rows[0].Hash == want.hash, nil
}

// resolveUncertain asks the store what became of a batch in limbo.
func (w *writer) resolveUncertain(ctx context.Context) error {
	if w.limbo == nil {
		return nil
	}
	landed, err := w.wasWritten(ctx, w.limbo.head)
	if err != nil {
		return err
	}
	if landed {
		w.accept(w.limbo.head)
		var ends []entry
		for _, rec := range w.limbo.withdrawn {
			ends = append(ends, entry{rec: withdrawal(rec), keep: true})
		}
		w.queue.replace(w.limbo.kept, ends)
		w.queue.done(batch{}, w.head.seq)
	}
	w.limbo = nil
	return nil
}

// withdrawal ends a call whose Begun record was written although its caller
// was told that it was not.
func withdrawal(begun Record) Record {
	return Record{
		Time: begun.Time, Kind: Ended, Call: begun.Call, Parent: begun.Parent,
		Principal: begun.Principal, Name: begun.Name, Tool: begun.Tool,
		End: &End{Status: tool.Failure, Error: tool.Unavailable, Summary: "the handler did not run: the record of its beginning was not confirmed in time"},
	}
}
