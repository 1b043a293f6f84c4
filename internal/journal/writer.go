package journal

import (
	"context"
	"time"

	"callgate/internal/journal/anchor"
	"callgate/tool"
)

// The law of the writer.
//
// One goroutine owns the chain. It takes a batch from the queue, numbers,
// encodes and hashes its records from the head on, and hands them to the store
// as one transaction. Only when the store has taken them does the head move;
// then the anchor is written, then the callers get their answer. Numbers are
// given anew at each attempt, so a withdrawn record leaves no gap.
//
// A store that reports failure may yet have written: the writer reads the head
// back and believes that. While even the head cannot be read the batch is
// uncertain: its callers got an error, and before anything else is written the
// head decides. If the batch is found to be there after all, its kept records
// are not written twice, and each Begun that its caller believes withdrawn is
// ended here, so that it is never taken for a doubt.
//
// An anchor that disagrees with the store is evidence of a loss. A copy of it is
// preserved before the first record of the new epoch, which reports the loss,
// takes its place.

// head is a point of the chain: all that the next record needs to know.
type head struct {
	seq   uint64
	hash  Hash
	epoch uint64

	open   bool      // the epoch was opened by this start
	since  uint64    // calls begun before it are settled
	opened time.Time // when the epoch was opened
	count  uint64    // records in it
}

// uncertainBatch is a batch of which nobody knows yet whether it was written.
type uncertainBatch struct {
	head      head
	kept      int      // how many records at the front of the queue were in it
	withdrawn []Record // its Begun records, whose callers got an error
}

// writer is the goroutine that owns the chain.
type writer struct {
	store   Store
	opts    Options
	queue   *queue
	anchor  *anchor.File
	stopped chan struct{}

	head      head
	cut       *Truncation // what was wrong when the chain was loaded, until it is on record
	uncertain *uncertainBatch
	rows      []Row             // of the batch in hand
	firstSeq  uint64            // the head when the journal was opened
	begun     map[string]uint64 // the calls of this start that have not ended, and where they began
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
	if !w.anchor.Kept() {
		return nil, nil
	}
	point, err := w.anchor.Read()
	if err != nil {
		return nil, err
	}
	switch {
	case point == nil && w.head.seq == 0:
		return nil, nil
	case point == nil:
		return &Truncation{Head: w.head.seq}, nil
	case point.Seq == w.head.seq && point.Hash == w.head.hash:
		return nil, nil
	case *point == anchor.Point{}:
		return nil, nil // behind: it has seen the empty chain only
	}
	cut := &Truncation{Anchor: point.Seq, Hash: point.Hash[:], Head: w.head.seq}
	if point.Seq >= w.head.seq {
		return cut, nil
	}
	rows, err := w.store.Rows(ctx, Query{After: point.Seq - 1, Before: point.Seq + 1})
	if err != nil {
		return nil, err
	}
	if len(rows) == 1 && rows[0].Hash == point.Hash {
		return nil, nil // behind, as after a power cut
	}
	return cut, nil
}

// run writes until the queue is closed.
func (w *writer) run() {
	defer close(w.stopped)
	for range w.queue.awake {
		last := w.queue.isClosed() // before writing: then nothing can come after
		for w.attempt() {
		}
		if last {
			return
		}
	}
}

// attempt writes one batch and reports whether it left a part behind. What comes meanwhile waits for company.
func (w *writer) attempt() bool {
	ctx := context.Background() // a record is written though its caller's context has ended
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
		return !b.whole()
	}
	kept := w.queue.fail(b, err)
	if w.uncertain != nil {
		w.uncertain.kept = kept
		for _, e := range b.entries {
			if !e.mark && !e.keep && e.rec.Kind == Begun {
				w.uncertain.withdrawn = append(w.uncertain.withdrawn, e.rec)
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
	if err := w.openAnchor(); err != nil {
		return err
	}
	if err := w.store.Append(ctx, w.rows); err != nil {
		written, unknown := w.wasWritten(ctx, next)
		if unknown != nil {
			w.uncertain = &uncertainBatch{head: next}
		}
		if !written {
			return err
		}
	}
	w.accept(next)
	return nil
}

// openAnchor opens the anchor before the first write, and preserves one that
// shows a loss.
func (w *writer) openAnchor() error {
	if w.anchor.Opened() {
		return nil
	}
	if w.cut != nil {
		if err := w.anchor.Preserve(w.cut.Anchor); err != nil {
			return err
		}
	}
	return w.anchor.Open(w.head.seq == 0 && w.cut == nil)
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
	w.anchor.Set(anchor.Point{Seq: next.seq, Hash: next.hash})
}

// wasWritten reads the store's head back: whether it is the wanted one.
func (w *writer) wasWritten(ctx context.Context, want head) (bool, error) {
	rows, err := w.store.Rows(ctx, Query{Newest: true, Limit: 1})
	if err != nil {
		return false, err
	}
	return len(rows) == 1 && rows[0].Seq == want.seq && rows[0].Hash == want.hash, nil
}

// resolveUncertain asks the store whether an uncertain batch was written.
func (w *writer) resolveUncertain(ctx context.Context) error {
	if w.uncertain == nil {
		return nil
	}
	written, err := w.wasWritten(ctx, w.uncertain.head)
	if err != nil {
		return err
	}
	if written {
		w.accept(w.uncertain.head)
		var ends []entry
		for _, rec := range w.uncertain.withdrawn {
			ends = append(ends, entry{rec: withdrawal(rec), keep: true})
		}
		w.queue.replace(w.uncertain.kept, ends)
		w.queue.done(batch{}, w.head.seq)
	}
	w.uncertain = nil
	return nil
}

// withdrawal ends a call whose Begun record was written although its caller
// got an error.
func withdrawal(begun Record) Record {
	return Record{
		Time: begun.Time, Kind: Ended, Call: begun.Call, Parent: begun.Parent,
		Principal: begun.Principal, Name: begun.Name, Tool: begun.Tool,
		End: &End{
			Status: tool.Failure, Error: tool.Unavailable,
			Summary: "the handler did not run: the record of its beginning was not confirmed in time",
		},
	}
}
