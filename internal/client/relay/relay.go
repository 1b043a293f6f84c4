// Package relay carries the messages of one MCP client to a kernel and back, for as
// long as the client lives, whatever becomes of the kernel.
//
// # Law
//
// Messages come one per line, and leave as they came, except for ids: at the kernel a
// request has an id of the bridge's own, and at the client an answer has the client's
// id, letter by letter. So a client may use any id, and use it again; a second request
// under an id that has no answer yet is refused.
//
// A kernel that goes away is found again, or started again, when there is something to
// ask of it. Then the client is introduced as it introduced itself, and what has no
// answer is sent again. That is safe: of a tools/call the bridge says the number
// (callid.Key), and the kernel looks it up in its journal: a call that ended
// gives its result, one that waits for a human goes on waiting, one that touched nothing
// is made, and one that may have happened is in doubt and not made again. All other
// requests only read. A kernel that reads no numbers, or gives calls other IDs for them
// than the one that may have begun the call, is sent no call again: the call is in doubt.
//
// The client never gets a part of a line, and for each request at most one answer.
package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"callgate/internal/protocol/callid"
	"callgate/tool"
)

// Options is how a client is served.
type Options struct {
	// Connect makes a connection to a kernel, starting one where need be. resent is the
	// last number that an earlier kernel may have seen.
	Connect func(ctx context.Context, resent uint64) (*Kernel, error)
	Key     callid.Key // numbers the calls
	// Status tells the user what happened, in one line; nil: nobody is told.
	Status func(format string, args ...any)
	// Grace is how long open requests may take after the client's last message; 0: they
	// may take no time.
	Grace time.Duration
	// Gone, if set, reports whether no process reads the answers any more.
	Gone func() bool
	// Probe, if set, asks the kernel for a sign of life; nil: it gave one, or is gone.
	Probe      func(ctx context.Context) *Silence
	MaxMessage int // bytes of one message, in either direction; 0: 64 MiB
	// Trim, if set, returns memory to the system. It is called when the client pauses.
	Trim func()
	// Cache, if set, answers initialize and tools/list while the kernel does not.
	Cache *Cache
}

// relay is the state of one bridge.
type relay struct {
	Options
	ctx   context.Context
	out   *output
	quiet *quiet

	mu         sync.Mutex
	link       *link // over which messages are sent; nil: none
	connecting bool
	closing    bool // the client has ended, and the kernel was told
	quick      int  // how many kernels ended at once, without an answer, one after another
	table      *table
	outbox     []outgoing // what waits for a link
	client     introduction
	known      *known              // from the cache; nil: nothing
	asked      map[string]question // of kernels to the client, by the id at the client
	lastAsked  uint64
	none       chan struct{} // closed when no request is open; made by waitEmpty

	settled chan struct{} // closed when the first connection was made, or could not be
	settle  func()
	ended   chan error
}

// outgoing is a message to the kernel.
type outgoing struct {
	line  *line
	edits []edit
	of    *request // nil: a notification
}

// question is a request of a kernel.
type question struct {
	over *link
	id   string // at the kernel, as it is written
}

// errUnread ends a relay whose answers no process reads.
var errUnread = errors.New("the messages are not read")

// Run serves a client until it ends its messages and has its answers, or ctx ends. A
// client that has ended its messages (`printf … | callgate mcp`) may still wait for
// answers, but for the kernel the end of the messages is the end of the client, whose
// calls it then cancels. So Run delays that end: until each request was answered or
// cancelled, until the client is gone, or until its grace is over.
//
// It returns an error if it ends for any other reason than the client's end.
func Run(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.Status == nil {
		o.Status = func(string, ...any) {}
	}
	o.MaxMessage = cmp.Or(o.MaxMessage, maxMessage)
	r := &relay{
		Options: o, ctx: ctx, out: &output{w: out}, table: newTable(o.Key),
		asked: map[string]question{}, ended: make(chan error, 1),
		settled: make(chan struct{}), quiet: &quiet{trim: o.Trim},
	}
	r.quiet.busy = r.keepsLarge
	r.quiet.carried(0)
	defer r.quiet.stop()
	r.settle = sync.OnceFunc(func() { close(r.settled) })
	r.mu.Lock()
	r.startConnecting() // also without a request: what is wrong is told at once
	r.mu.Unlock()
	go r.readClient(in)
	var err error
	select {
	case err = <-r.ended:
	case <-ctx.Done():
		err = tool.Errorf("relay.Run", tool.Cancelled, "the bridge was ended by a signal")
	}
	if errors.Is(err, errUnread) {
		return nil // the client is gone
	}
	return err
}

// end ends the relay. The first reason counts.
func (r *relay) end(err error) {
	select {
	case r.ended <- err:
	default:
	}
}

// output lets answers share a stream, a line at a time.
type output struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *output) write(l *line, edits ...edit) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return l.writeTo(o.w, edits...)
}

// say sends a message to the client.
func (r *relay) say(text []byte) { r.sayLine(newLine(text)) }

func (r *relay) sayLine(l *line, edits ...edit) {
	if r.out.write(l, edits...) != nil {
		r.end(errUnread)
	}
}

// readClient reads the client's messages to their end.
func (r *relay) readClient(in io.Reader) {
	lines := newLineReader(in, r.MaxMessage)
	for {
		l, err := lines.next()
		if err != nil {
			break // whatever it was, no message comes any more
		}
		size := l.size
		r.fromClient(l)
		r.quiet.carried(size)
	}
	r.waitEmpty()
	select {
	case <-r.settled: // else nobody would be told why no kernel can be reached
	case <-r.ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = true
	if r.link == nil || r.link.kernel.CloseWrite() != nil {
		r.end(nil)
	}
}

// waitEmpty waits until the client waits for no answer, or is gone.
func (r *relay) waitEmpty() {
	none := make(chan struct{})
	r.mu.Lock()
	r.none = none
	r.checkEmpty()
	r.mu.Unlock()
	grace := time.NewTimer(r.Grace)
	defer grace.Stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-none:
			return
		case <-grace.C:
			return
		case <-r.ctx.Done():
			return
		case <-tick.C:
			if r.Gone != nil && r.Gone() {
				return
			}
		}
	}
}

// pollInterval is how often Gone is asked.
const pollInterval = 50 * time.Millisecond

// checkEmpty tells waitEmpty that no request is open. The lock is held.
func (r *relay) checkEmpty() {
	if r.none != nil && len(r.table.waiting()) == 0 {
		close(r.none)
		r.none = nil
	}
}

// keepsLarge reports whether much is kept of requests that have no answer yet.
func (r *relay) keepsLarge() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.table.kept >= worthBytes
}

// tooLong says how large a message may be.
func (r *relay) tooLong(size int) string {
	return fmt.Sprintf("the message has %d bytes, and the limit is %d (%d MiB); nothing of it was used",
		size, r.MaxMessage, r.MaxMessage>>20)
}
