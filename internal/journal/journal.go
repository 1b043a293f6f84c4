package journal

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"
	"time"

	"callgate/internal/journal/anchor"
	"callgate/tool"
)

// Options shape a journal. The zero value works: no anchor, no key, an epoch a
// day.
type Options struct {
	Anchor          string             // file that repeats the head outside the store; "" keeps none
	Key             ed25519.PrivateKey // signs what pruning drops, and exports
	KeyFile         string             // holds that key when Key is nil; made for its owner alone when first needed
	Public          ed25519.PublicKey  // of another's journal, which is read: its Key is with its kernel
	Kernel          string             // the kernel's version, for the Opened record
	MaxEpochAge     time.Duration      // an epoch older than this is followed by another; 0: 24 h
	MaxEpochRecords uint64             // and one longer than this; 0: 1,000,000
	Delay           time.Duration      // how long an appended record may wait for others; 0: 20 ms
	Backlog         int                // bytes of records that may wait in memory; 0: 32 MiB
	HoldLoss        bool               // a journal that lost records takes none before AcceptLoss
	Hold            error              // why the journal takes no record at all; nil: it takes them
}

func (o Options) withDefaults() Options {
	if o.MaxEpochAge <= 0 {
		o.MaxEpochAge = 24 * time.Hour
	}
	if o.MaxEpochRecords == 0 {
		o.MaxEpochRecords = 1_000_000
	}
	if o.Delay <= 0 {
		o.Delay = 20 * time.Millisecond
	}
	if o.Backlog <= 0 {
		o.Backlog = 32 << 20
	}
	return o
}

// Journal writes one chain of records to a store, and reads it. It is safe for
// concurrent use.
type Journal struct {
	store   Store
	opts    Options
	queue   *queue
	writer  *writer
	waiters sync.Pool // of *waiter

	firstSeq   uint64       // the head when this journal was opened
	since      uint64       // calls begun before it, by earlier starts, are settled
	recovering sync.Mutex   // one Recover at a time
	pruning    sync.RWMutex // held by Prune alone, and shared by those who read everything
}

// Open reads where the chain ends and makes ready to continue it. Nothing is written until the first record is: a
// process that only reads leaves the store and the anchor as they were.
func Open(ctx context.Context, store Store, opts Options) (*Journal, error) {
	opts = opts.withDefaults()
	w := &writer{
		store: store, opts: opts, anchor: anchor.At(opts.Anchor),
		begun: make(map[string]uint64), stopped: make(chan struct{}),
	}
	if err := w.load(ctx); err != nil {
		return nil, wrap("journal.Open", err, "the journal's head cannot be read")
	}
	j := &Journal{
		store: store, opts: opts, writer: w, firstSeq: w.firstSeq, since: w.head.since,
		waiters: sync.Pool{New: func() any { return newWaiter() }},
	}
	j.queue = newQueue(opts, w.head.seq)
	if opts.Hold != nil {
		j.queue.loss = opts.Hold
	} else if opts.HoldLoss && w.cut != nil && w.cut.Anchor > 0 {
		j.queue.loss = lossError(w.cut, opts.Anchor)
	}
	w.queue = j.queue
	go w.run()
	return j, nil
}

// Append queues a record and returns at once; it is written in its place within Options.Delay, and lost only if the
// process dies before. When more waits than Options.Backlog allows, Append waits for the write under way: if that
// succeeds there is room, and if it fails Append refuses. A refused record is not kept: the caller must not go on as
// though it had been.
func (j *Journal) Append(rec Record) error {
	return j.queue.put(context.Background(), entry{rec: rec, keep: true}, false)
}

// Commit returns rec's Seq when rec and everything queued before it is on disk. When the store fails the error says
// why, and its kind is Unavailable. A Begun record is then withdrawn, since its handler will not run; any other record
// says what happened, so it is kept in its place and tried again until the store works.
//
// If ctx ends first, Commit returns and the record is written all the same. A call whose Begun record was left so must
// still be ended.
func (j *Journal) Commit(ctx context.Context, rec Record) (uint64, error) {
	return j.await(ctx, entry{rec: rec, keep: rec.Kind != Begun})
}

// Flush returns when everything queued before it is on disk, or says why that
// cannot be; what was queued is kept either way.
func (j *Journal) Flush(ctx context.Context) error {
	if j.queue.idle() {
		return nil
	}
	_, err := j.await(ctx, entry{mark: true})
	return err
}

// await queues an entry and waits until it is written.
func (j *Journal) await(ctx context.Context, e entry) (uint64, error) {
	w := j.waiters.Get().(*waiter)
	e.wait = w
	if err := j.queue.put(ctx, e, true); err != nil {
		j.waiters.Put(w)
		return 0, err
	}
	select {
	case out := <-w.done:
		j.waiters.Put(w)
		return out.seq, out.err
	case <-ctx.Done():
		return 0, cancelledError(ctx, "the journal is still writing the record")
	}
}

// Err returns why the last write failed, and nil when it succeeded: whether a
// call that must be recorded can be.
func (j *Journal) Err() error { return j.queue.health() }

// Progress returns the last Seq on disk, and how many records wait to be written.
func (j *Journal) Progress() (last uint64, waiting int) {
	last, _, _ = j.queue.progress()
	return last, j.queue.length()
}

// Close writes what is queued and stops. Records that the store still refuses are lost; the error says how many.
func (j *Journal) Close() error {
	j.queue.close()
	<-j.writer.stopped
	var errs []error
	if n, err := j.queue.finish(); n > 0 {
		errs = append(errs, wrap("journal.Close", err, fmt.Sprintf("%d records could not be written and are lost", n)))
	}
	return errors.Join(append(errs, j.writer.anchor.Close())...)
}

// Read returns the records that match q, with what was appended before.
func (j *Journal) Read(ctx context.Context, q Query) ([]Record, error) {
	const op = "journal.Read"
	if !q.Stored {
		_ = j.Flush(ctx) // a store that takes no writes may still be read
	}
	rows, err := j.store.Rows(ctx, q)
	if err != nil {
		return nil, wrap(op, err, "the journal cannot be read")
	}
	records := make([]Record, 0, len(rows))
	for _, row := range rows {
		rec, err := decode(row)
		if err != nil {
			return nil, err
		}
		records = append(records, rec)
	}
	return records, nil
}

// cancelledError is the error of a caller whose context ended first.
func cancelledError(ctx context.Context, message string) error {
	kind := tool.Cancelled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		kind = tool.Timeout
	}
	return &tool.Error{Op: "journal.Commit", Kind: kind, Message: message, Err: ctx.Err()}
}

// wrap puts a store's failure into the words of the operation that met it, and
// keeps its kind and its hint.
func wrap(op string, err error, message string) *tool.Error {
	wrapped := &tool.Error{Op: op, Kind: tool.KindOf(err), Message: message, Err: err}
	var cause *tool.Error
	switch {
	case errors.As(err, &cause):
		wrapped.Message = message + ": " + cause.Message
		wrapped.Hint = cause.Hint
		wrapped.Err = cause.Err
	case errors.Is(err, context.Canceled):
		wrapped.Kind = tool.Cancelled
	case errors.Is(err, context.DeadlineExceeded):
		wrapped.Kind = tool.Timeout
	}
	return wrapped
}
