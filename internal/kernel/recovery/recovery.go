// Package recovery finishes what an earlier process left.
//
// # Calls in doubt
//
// Before anything is served, each call that began and never ended is in doubt,
// once. It is made again only when all of this holds:
//
//   - Its tool says that twice is once, as it began and now.
//   - Everything that it claims is a plain file, or absent, and its Begun record
//     says how each was. A folder, a server or a database cannot be compared, and
//     somebody may have changed it while no kernel ran: a call with such a claim
//     is not made again. (What lies in a folder changes without a trace in the
//     folder's own times.)
//   - Each of these files is as it was. One that differs was changed by the call
//     itself or by somebody else, and nobody can tell which: it is told. Of one that
//     is absent the nearest folder above is compared, since the call may have made it,
//     and somebody may have removed it.
//   - No call that touches the same thing, reading or changing, began, ended or was
//     cut off since, whoever made it. One that changes something and claims
//     nothing touches everything of its source.
//   - No other call in doubt touches the same thing.
//   - Policy allows it without a human, also that of whom its asker works for, it would touch the same things, and its
//     arguments are whole on record: no secret was left out of them.
//   - It was attempted once. A second attempt is the last, whatever becomes of it;
//     it is a call of its own in the journal (doubt.RetryID), inside the one
//     doubt: cut off, it ends and is no new doubt.
//   - Its asker has not been told that it is in doubt: with a result, or by asking
//     for it again by its ID.
//   - The kernel stays. One that ends with its command makes nothing again.
//   - Its workspace is no folder that several machines have: another may have worked there since, and that is not in
//     this journal.
//
// Its place in the lock queue is taken, in the order of the beginnings, before
// the kernel serves anybody; the rest is looked at under the locks, when its server runs,
// right before it begins. A call that
// changes something and does not say what comes after all that are made again
// (lockqueue.Retries): it may write the same file, and no lock would tell.
//
// Every other call in doubt is told: to its asker with the next result, which is on
// record (journal.Told) so that it is told once, and to a human, in one line of
// the log and with callgate log doubts. Doubts age: one that was told is closed
// after 30 days, one whose asker never came back after 90, and of more than 10,000
// the oldest are. A closed doubt stays in the journal, with a resolution that says
// that nobody looked.
package recovery

import (
	"context"
	"log/slog"
	"sync/atomic"

	"callgate/internal/gate"
	"callgate/internal/gate/lockqueue"
	"callgate/internal/gate/notice"
	"callgate/internal/journal"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// Gate is what recovery does with calls.
type Gate interface {
	Retrier
	Teller
}

// Retrier makes calls in doubt again.
type Retrier interface {
	LoadDoubtful(ctx context.Context, doubted journal.Record) (gate.DoubtfulCall, error)
	Reserve(d gate.DoubtfulCall) (lockqueue.Ticket, error)
	Retry(ctx context.Context, c *gate.Caller, d gate.DoubtfulCall, place lockqueue.Ticket,
		law func(context.Context) error) *tool.Result
}

// Teller tells askers of their earlier calls.
type Teller interface {
	Notify(n notice.Notice)
	ExpectNotices() (loaded func())
}

// Sessions builds sessions that are never published, of one who works for another with no
// more than it had.
type Sessions interface {
	Build(ctx context.Context, spec session.Spec) (*session.Session, error)
}

// Recovery finishes calls that nobody waits for. All fields are required.
type Recovery struct {
	Journal  *journal.Journal
	Gate     Gate
	Sessions Sessions
	Log      *slog.Logger
	// Go runs work in the background, unless the kernel closes.
	Go func(func(context.Context)) bool
	// ShortLived says that the kernel ends with the command that started it: it
	// makes no call again, since it may end before that one does.
	ShortLived bool
	// IsShared reports whether a folder is one that several machines have. May be nil: none is.
	IsShared func(folder string) bool

	detached atomic.Int64
	// retried are the calls whose retries this kernel began: each tells its asker itself.
	// Its channel is closed when the retry has ended.
	retried map[string]chan struct{}
}

// Detached returns how many calls run for which nobody waits.
func (r *Recovery) Detached() int64 { return r.detached.Load() }

// Run finishes the calls in doubt that an earlier process left. A kernel whose journal
// cannot be written starts all the same, so that what is there can be read: written is
// false, and what could not be put on record is tried again until it can.
func (r *Recovery) Run(ctx context.Context) (written bool, err error) {
	err = r.openDoubts(ctx, r.ShortLived)
	if tool.KindOf(err) == tool.Unavailable {
		r.Log.Error("calls of an earlier kernel cannot be put in doubt: the journal cannot be written; "+
			"what only reads works, and the rest is refused until there is room", "error", err)
		r.Go(r.openDoubtsLater)
		return false, nil
	}
	return err == nil, err
}
