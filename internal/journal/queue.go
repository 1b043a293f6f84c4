package journal

import (
	"context"
	"slices"
	"sync"
	"time"

	"callgate/tool"
)

// The law of the queue.
//
// Records wait here between the callers and the writer, in the order in which
// they will be numbered. A caller holds the lock for an append and no longer:
// encoding, hashing and the store are the writer's work.
//
// The writer sleeps until it is woken. A committed record wakes it at once. An
// appended record sets a timer when it is the first to wait, and wakes the
// writer when a batch is full. No timer runs while nothing waits.
//
// An attempt to write takes the front of the queue. If it succeeds, all callers
// that wait in it get their answer. If it fails, all callers in the whole queue
// get the error, since no record can be written before those in front of it;
// withdrawn records leave, kept ones go back to the front in their order, and a
// timer tries again (250 ms, doubling to 8 s). Any commit tries again at once,
// so the first caller after space returns finds the journal working.
//
// What waits is bounded by its size in memory. At the bound, appending and
// beginning wait for the attempt under way and are refused if it fails: when
// nothing can be recorded, nothing new may start. Ended, answered and the like
// are always taken: only what was begun can end, so they are few.

// maxBatch bounds the bytes of one transaction, so that a long backlog is
// written in pieces and each piece that fits counts.
const maxBatch = 4 << 20

const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = 8 * time.Second
)

// entry is one record in the queue.
type entry struct {
	rec  Record
	wait *waiter // gets the outcome; nil when nobody waits
	keep bool    // after a failed write: kept for another attempt, or withdrawn
	mark bool    // no record: only a position in the order, for Flush
}

// waiter is where a caller gets the outcome of its record.
type waiter struct{ done chan outcome }

func newWaiter() *waiter { return &waiter{make(chan outcome, 1)} }

type outcome struct {
	seq   uint64
	epoch uint64
	err   error
}

// queue is what waits to be written.
type queue struct {
	opts  Options
	awake chan struct{} // wakes the writer; holds one
	timer *time.Timer   // wakes the writer for records that can wait

	mu        sync.Mutex
	entries   []entry
	spare     []entry       // the buffer of the batch before, to be used again
	size      int           // bytes in memory
	failing   error         // why the last attempt failed
	retry     time.Duration // the time until the next attempt, when nobody commits
	busy      bool          // the writer has a batch in hand
	closed    bool          // nothing more is taken
	finished  bool          // nothing more is written
	loss      error         // records were lost, and nobody has accepted that
	recovered bool          // the doubts of earlier starts are in the queue or settled
	last      uint64        // the Seq of the last record on disk
	tried     chan struct{} // closed after each attempt; nil until somebody asks
}

func newQueue(opts Options, last uint64) *queue {
	q := &queue{opts: opts, awake: make(chan struct{}, 1), last: last}
	q.timer = time.AfterFunc(time.Hour, q.wake)
	q.timer.Stop()
	return q
}

// wake wakes the writer, unless it is about to wake.
func (q *queue) wake() {
	select {
	case q.awake <- struct{}{}:
	default:
	}
}

// put adds an entry at the end, and wakes the writer when it is urgent.
func (q *queue) put(ctx context.Context, e entry, urgent bool) error {
	q.mu.Lock()
	for waited := false; q.full(e) && !q.closed && (q.failing == nil || urgent && !waited); waited = true {
		tried := q.attempted()
		q.mu.Unlock()
		q.wake()
		select {
		case <-tried:
		case <-ctx.Done():
			return cancelledError(ctx, "the record was not taken: the journal has fallen behind")
		}
		q.mu.Lock()
	}
	if err := q.refuses(e); err != nil {
		q.mu.Unlock()
		return err
	}
	e.rec.Time = time.Now().UTC()
	first := len(q.entries) == 0
	q.entries = append(q.entries, e)
	q.size += e.memSize()
	full := q.size >= maxBatch && q.failing == nil
	q.mu.Unlock()
	switch {
	case urgent || full:
		q.wake()
	case first:
		q.timer.Reset(q.opts.Delay)
	}
	return nil
}

// putDoubts adds the doubts of earlier starts, one after the other, each with a
// waiter. From here on an epoch may say that they are settled.
func (q *queue) putDoubts(doubts []Record) ([]*waiter, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.refuses(entry{keep: true, wait: &waiter{}}); err != nil {
		return nil, err
	}
	waiters := make([]*waiter, len(doubts))
	for i := range doubts {
		waiters[i] = newWaiter()
		doubts[i].Time = time.Now().UTC()
		e := entry{rec: doubts[i], wait: waiters[i]}
		q.entries = append(q.entries, e)
		q.size += e.memSize()
	}
	q.recovered = true
	if len(doubts) > 0 {
		q.wake()
	}
	return waiters, nil
}

// refuses says why an entry is not taken; the caller holds the lock.
func (q *queue) refuses(e entry) error {
	switch {
	case q.closed:
		return &tool.Error{
			Op: "journal.Append", Kind: tool.Unavailable, Message: "the journal is closed", Hint: "start the kernel again",
		}
	case q.loss != nil && !e.mark:
		return q.loss
	case q.full(e):
		return unavailable(q.failing, "the record was not taken: the journal cannot write, and its backlog is full")
	}
	return nil
}

// full reports whether the entry must wait for space; the caller holds the lock.
func (q *queue) full(e entry) bool {
	bounded := e.wait == nil || !e.keep && !e.mark
	return bounded && q.size >= q.opts.Backlog
}

// memSize estimates the bytes that the entry holds in memory.
func (e *entry) memSize() int {
	n := 512 + len(e.rec.Note)
	if a := e.rec.Ask; a != nil {
		n += len(a.Args) + len(a.Reason) + 64*len(a.Claims)
	}
	if a := e.rec.Answer; a != nil {
		n += len(a.Args) + len(a.Feedback)
	}
	if r := e.rec.End; r != nil {
		n += len(r.Summary)
		for _, w := range r.Warnings {
			n += len(w)
		}
	}
	return n
}

// batch is what one attempt writes.
type batch struct {
	entries   []entry
	behind    int // entries that were left in the queue
	recovered bool
}

// take moves the front of the queue into a batch.
func (q *queue) take() batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.entries) == 0 {
		return batch{}
	}
	n, size := 0, 0
	for n < len(q.entries) && size < maxBatch {
		size += q.entries[n].memSize()
		n++
	}
	b := batch{behind: len(q.entries) - n, recovered: q.recovered}
	if b.whole() {
		b.entries, q.entries, q.spare = q.entries, q.spare[:0], nil
	} else {
		b.entries = slices.Clone(q.entries[:n])
		q.entries = slices.Delete(q.entries, 0, n)
	}
	q.size -= size
	q.busy = true
	return b
}

// whole reports whether nothing was left behind.
func (b *batch) whole() bool { return b.behind == 0 }

// done answers all callers in the batch: it is on disk, up to last.
func (q *queue) done(b batch, last uint64) {
	for i := range b.entries {
		if e := &b.entries[i]; e.wait != nil {
			e.wait.done <- outcome{seq: e.rec.Seq, epoch: e.rec.Epoch}
		}
	}
	clear(b.entries)
	q.mu.Lock()
	defer q.mu.Unlock()
	if b.whole() {
		q.spare = b.entries[:0]
	}
	q.busy, q.failing, q.retry, q.last = false, nil, 0, last
	q.announce()
}

// fail answers all callers that waited when the attempt began with the cause,
// puts the kept records back in front, and sets the time of the next attempt.
// Callers that came during the attempt get one of their own at once: the cause
// may have passed since. It returns how many records of the batch went back.
func (q *queue) fail(b batch, cause error) (kept int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make([]entry, 0, len(b.entries)+len(q.entries))
	q.size = 0
	for i, e := range slices.Concat(b.entries, q.entries) {
		late := i >= len(b.entries)+b.behind
		if e.wait != nil && late {
			q.wake()
		} else if e.wait != nil {
			e.wait.done <- outcome{err: e.refusal(cause)}
			e.wait = nil
		}
		if !late && (e.mark || !e.keep) {
			q.recovered = q.recovered && (e.mark || e.rec.Kind == Begun) // else it was one of putDoubts
			continue
		}
		all = append(all, e)
		q.size += e.memSize()
		if i < len(b.entries) {
			kept++
		}
	}
	q.entries = all
	q.busy, q.failing = false, cause
	q.retry = min(max(2*q.retry, firstRetry), lastRetry)
	if len(all) > 0 {
		q.timer.Reset(q.retry)
	}
	q.announce()
	return kept
}

// replace puts entries in the place of the first n.
func (q *queue) replace(n int, with []entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.entries = slices.Replace(q.entries, 0, n, with...)
	q.size = 0
	for i := range q.entries {
		q.size += q.entries[i].memSize()
	}
}

// refusal is the answer to the entry's caller after a failed write.
func (e *entry) refusal(cause error) error {
	switch {
	case e.mark:
		return unavailable(cause, "the journal cannot write; what is queued is kept and tried again")
	case e.keep:
		return unavailable(cause, "the "+string(e.rec.Kind)+
			" record is not on disk yet; it is kept and tried again until it is")
	default:
		return unavailable(cause, "the "+string(e.rec.Kind)+" record could not be written and is withdrawn")
	}
}

// unavailable is the refusal of a journal that cannot write.
func unavailable(cause error, message string) error {
	err := wrap("journal.Commit", cause, message)
	err.Kind = tool.Unavailable
	return err
}

// attempted returns a channel that closes after the next attempt; the caller
// holds the lock.
func (q *queue) attempted() <-chan struct{} {
	if q.tried == nil {
		q.tried = make(chan struct{})
	}
	return q.tried
}

// announce wakes all who wait for an attempt; the caller holds the lock.
func (q *queue) announce() {
	if q.tried != nil {
		close(q.tried)
		q.tried = nil
	}
}

// progress returns the last Seq on disk, whether it will stay the last, and a
// channel that closes when either may have changed.
func (q *queue) progress() (last uint64, finished bool, changed <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.last, q.finished, q.attempted()
}

// health returns why the last attempt failed.
func (q *queue) health() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failing
}

// idle reports whether all that was queued is on disk, and more may be.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.entries) == 0 && !q.busy && !q.closed
}

// length returns how many entries are queued.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.entries)
}

// close takes nothing more, and has the writer write what there is.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake()
}

func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// finish is called when the writer has stopped. It returns how many records
// were never written, and why.
func (q *queue) finish() (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.finished = true
	q.timer.Stop()
	q.announce()
	return len(q.entries), q.failing
}
