package mcp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/tool"
)

// maxExtension is how many times its timeout a call may last at most, however
// much progress it reports.
const maxExtension = 20

// progressStream is the stream on which a waiting or running call tells where
// it stands.
const progressStream = "progress"

// callTracker has the calls of one server: those in flight, and the line of those who
// wait for a place.
type callTracker struct {
	slots   chan struct{}
	timeout time.Duration

	mu       sync.Mutex
	inFlight map[string]*inFlightCall // by progress token
	next     int
	waiting  int
	asking   int // questions to humans that are open
	calls    int
	failures int
	used     time.Time
}

// inFlightCall is one request in flight.
type inFlightCall struct {
	desk  *callTracker
	token string
	call  string // its id; empty: not a call
	grant tool.Grant
	timer *time.Timer
}

// errNoAnswer is why a call that was not answered in time is cancelled.
var errNoAnswer = errors.New("no answer in time")

func newCallTracker(cfg Config) *callTracker {
	return &callTracker{slots: make(chan struct{}, cfg.Concurrency), timeout: cfg.CallTimeout, inFlight: map[string]*inFlightCall{}, used: time.Now()}
}

// acquire takes a place, and says so to whoever watches when it must wait.
func (d *callTracker) acquire(ctx context.Context, server string, grant tool.Grant) error {
	select {
	case d.slots <- struct{}{}:
		return nil
	default:
	}
	d.mu.Lock()
	d.waiting++
	ahead := d.waiting
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.waiting--
		d.mu.Unlock()
	}()
	grant.Output(progressStream, fmt.Appendf(nil, "waiting: the MCP server %s has %d calls already, %d in line\n", server, cap(d.slots), ahead))
	select {
	case d.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return stopped(ctx, fmt.Sprintf("while it waited in line for the MCP server %s, which takes %d calls at a time", server, cap(d.slots)))
	}
}

func (d *callTracker) release(failed bool) {
	d.mu.Lock()
	d.calls++
	if failed {
		d.failures++
	}
	d.used = time.Now()
	d.mu.Unlock()
	<-d.slots
}

// idleFor reports whether nobody used the server for so long.
func (d *callTracker) idleFor(long time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.slots) == 0 && time.Since(d.used) >= long
}

// begin starts the clock of a request. The returned context ends when it has
// been silent for too long.
func (d *callTracker) begin(ctx context.Context, call string, grant tool.Grant) (context.Context, *inFlightCall, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &inFlightCall{desk: d, call: call, grant: grant}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next++
	f.token = "callgate-" + strconv.Itoa(d.next)
	d.inFlight[f.token] = f
	f.timer = time.AfterFunc(d.timeout, func() {
		if d.isAsking() { // a human may take their time
			f.timer.Reset(d.timeout)
			return
		}
		cancel(errNoAnswer)
	})
	return ctx, f, cancel
}

// end stops the clock.
func (f *inFlightCall) end() {
	f.timer.Stop()
	f.desk.mu.Lock()
	defer f.desk.mu.Unlock()
	delete(f.desk.inFlight, f.token)
}

// progress passes on where a call stands, and gives it more time.
func (d *callTracker) progress(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	d.mu.Lock()
	f := d.inFlight[token]
	d.mu.Unlock()
	if f == nil {
		return
	}
	f.timer.Reset(d.timeout)
	f.grant.Output(progressStream, []byte(progressLine(p)))
}

func progressLine(p *sdk.ProgressNotificationParams) string {
	line := strconv.FormatFloat(p.Progress, 'g', 6, 64)
	if p.Total > 0 {
		line += "/" + strconv.FormatFloat(p.Total, 'g', 6, 64)
	}
	if p.Message != "" {
		line += " " + strings.ReplaceAll(tool.TruncateTo(p.Message, 1<<10), "\n", " ")
	}
	return line + "\n"
}

func (d *callTracker) isAsking() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asking > 0
}

// running returns the calls that are under way.
func (d *callTracker) running() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.underLocked()
}

func (d *callTracker) underLocked() (calls []string) {
	for _, f := range d.inFlight {
		if f.call != "" {
			calls = append(calls, f.call)
		}
	}
	return calls
}

// ask stops all clocks while a client is asked, and returns the calls that may
// have led to the question.
func (d *callTracker) ask() (calls []string, done func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asking++
	return d.underLocked(), func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.asking--
		for _, f := range d.inFlight {
			f.timer.Reset(d.timeout)
		}
	}
}
