package gate

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/journal"
	"callgate/tool"
)

// Who asked for a call in doubt learns of it with the next result, and that is put
// on record: it is told once, also if the kernel ends before the asker comes back.

// maxNotices is the most doubts that one result tells in words; the rest are
// counted.
const maxNotices = 5

// noticeWait is how long a result waits for the notices of earlier kernels, which
// are read in the background after a start.
const noticeWait = 2 * time.Second

// Notice is what the asker of an earlier call has to know.
type Notice struct {
	Principal tool.Principal
	Workspace string
	Text      string
	Doubt     *journal.Record // told with this notice; nil: nothing is put on record
}

// doubtNotices holds the notices that wait for their principals. The zero value
// is empty.
type doubtNotices struct {
	waiting atomic.Int64
	mu      sync.Mutex
	notices map[noticeKey][]Notice
	loading chan struct{} // closed when those of earlier kernels are there; nil: they are
}

// noticeKey is a principal as it comes back after a restart: its session is
// another, everything else is the same.
type noticeKey struct {
	user, app, agent, lane, workspace string
}

func noticeKeyOf(p tool.Principal, workspace string) noticeKey {
	return noticeKey{p.User, p.App, p.Agent, p.Lane, workspace}
}

// expect makes results wait for notices that are on their way. It returns the
// function that says that they are there.
func (d *doubtNotices) expect() (loaded func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	loading := make(chan struct{})
	d.loading = loading
	d.waiting.Add(1)
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.loading = nil
		d.waiting.Add(-1)
		close(loading)
	})
}

func (d *doubtNotices) add(n Notice) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.notices == nil {
		d.notices = map[noticeKey][]Notice{}
	}
	to := noticeKeyOf(n.Principal, n.Workspace)
	d.notices[to] = append(d.notices[to], n)
	d.waiting.Add(1)
}

// take returns the notices for a principal, once.
func (d *doubtNotices) take(ctx context.Context, to noticeKey) []Notice {
	if d.waiting.Load() == 0 {
		return nil
	}
	d.mu.Lock()
	loading := d.loading
	d.mu.Unlock()
	if loading != nil {
		timer := time.NewTimer(noticeWait)
		defer timer.Stop()
		select {
		case <-loading:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	notices := d.notices[to]
	delete(d.notices, to)
	d.waiting.Add(-int64(len(notices)))
	return notices
}

// Notify adds a warning to the next result of a principal.
func (g *Gate) Notify(n Notice) { g.doubts.add(n) }

// ExpectNotices makes results wait a moment for notices that are on their way. The
// function that it returns says that they are there.
func (g *Gate) ExpectNotices() (loaded func()) { return g.doubts.expect() }

// tellDoubts adds the notices for the caller to the result.
func (g *Gate) tellDoubts(ctx context.Context, c *callState) {
	if c.how.background {
		return
	}
	notices := g.doubts.take(ctx, noticeKeyOf(c.call.Principal, c.caller.place.Workspace))
	c.how.told = notices
	for i, n := range notices {
		if i == maxNotices {
			c.result.Warnings = append(c.result.Warnings, fmt.Sprintf(
				"and %d more earlier calls of yours are in doubt: callgate log doubts lists them", len(notices)-i))
			return
		}
		c.result.Warnings = append(c.result.Warnings, n.Text)
	}
}

// recordTold puts on record of which doubts the caller was told with this result. A
// record that cannot be written is lost: then it is told again.
func (g *Gate) recordTold(_ context.Context, c *callState) error {
	for _, n := range c.how.told {
		if n.Doubt == nil {
			continue
		}
		r := n.Doubt.About(journal.Told)
		r.Note = "told with the result of call " + c.call.ID
		_ = g.Journal.Append(r)
	}
	return nil
}
