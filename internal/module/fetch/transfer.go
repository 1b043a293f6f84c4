package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"callgate/internal/amount"
	"callgate/tool"
)

// errStalled ends a transfer in which nothing moves.
var errStalled = errors.New("nothing moved for too long")

// Transfer ends a transfer in which nothing moves, and reports its progress.
// Length alone does not make a transfer too long. A request may still be sent
// while its answer is read, so a lock guards the counts.
type Transfer struct {
	grant tool.Grant
	verb  string // what is done, for the reports: "downloaded"
	limit time.Duration
	timer *time.Timer

	mu       sync.Mutex
	done     int64 // bytes so far
	total    int64 // -1: unknown
	reported time.Time
}

// reportEvery bounds how often progress is reported.
const reportEvery = 500 * time.Millisecond

// NewTransfer returns a context that ends when nothing moves for limit. Stop
// must be called.
func NewTransfer(ctx context.Context, grant tool.Grant, verb string, limit time.Duration) (
	_ context.Context, t *Transfer, stop func(),
) {
	ctx, cancel := context.WithCancelCause(ctx)
	t = &Transfer{grant: grant, verb: verb, limit: limit, total: -1}
	t.timer = time.AfterFunc(limit, func() { cancel(errStalled) })
	return ctx, t, func() {
		t.timer.Stop()
		cancel(nil)
	}
}

// Touch notes that the transfer is alive.
func (t *Transfer) Touch() { t.timer.Reset(t.limit) }

// SetPosition says how far the transfer is; a total of -1 is unknown.
func (t *Transfer) SetPosition(done, total int64) {
	t.Touch()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done, t.total = done, total
}

// Reader returns a reader whose bytes are counted as transferred.
func (t *Transfer) Reader(r io.Reader) io.Reader { return countedReader{r, t} }

// TouchReader returns a reader whose bytes only show that the other side is
// alive.
func (t *Transfer) TouchReader(r io.Reader) io.Reader { return touchReader{r, t} }

type countedReader struct {
	io.Reader
	transfer *Transfer
}

// Read reads, and counts.
func (r countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.transfer.add(n)
	}
	return n, err
}

type touchReader struct {
	io.Reader
	transfer *Transfer
}

// Read reads, and notes that something came.
func (r touchReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.transfer.Touch()
	}
	return n, err
}

// add counts n more bytes, and reports them if the last report is old.
func (t *Transfer) add(n int) {
	t.Touch()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done += int64(n)
	if now := time.Now(); now.Sub(t.reported) >= reportEvery {
		t.reported = now
		t.report()
	}
}

// report says how far the transfer is. The lock is held.
func (t *Transfer) report() {
	progress := t.verb + " " + amount.Bytes(t.done)
	if t.total > 0 {
		progress += fmt.Sprintf(" of %s (%d %%)", amount.Bytes(t.total), 100*t.done/t.total)
	}
	t.grant.Output("progress", []byte(progress+"\n"))
}
