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

// mostExtension is how many times its timeout a call may last at most, however
// much progress it reports.
const mostExtension = 20

// progressStream is the stream on which a waiting or running call tells where
// it stands.
const progressStream = "progress"

// desk has the calls of one server: those in flight, and the line of those who
// wait for a place.
type desk struct {
	places  chan struct{}
	timeout time.Duration

	mu       sync.Mutex
	flights  map[string]*flight // by progress token
	next     int
	waiting  int
	asking   int // questions to humans that are open
	calls    int
	failures int
	used     time.Time
}

// flight is one request in flight.
type flight struct {
	desk  *desk
	token string
	call  string // its id; empty: not a call
	grant tool.Grant
	timer *time.Timer
}

// errSilent is why a call that was not answered in time is cancelled.
var errSilent = errors.New("no answer in time")

func newDesk(cfg Config) *desk {
	return &desk{places: make(chan struct{}, cfg.Concurrency), timeout: cfg.CallTimeout, flights: map[string]*flight{}, used: time.Now()}
}

// enter takes a place, and says so to whoever watches when it must wait.
func (d *desk) enter(ctx context.Context, server string, grant tool.Grant) error {
	select {
	case d.places <- struct{}{}:
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
	grant.Live(progressStream, fmt.Appendf(nil, "waiting: the MCP server %s has %d calls already, %d in line\n", server, cap(d.places), ahead))
	select {
	case d.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return stopped(ctx, fmt.Sprintf("while it waited in line for the MCP server %s, which takes %d calls at a time", server, cap(d.places)))
	}
}

func (d *desk) leave(failed bool) {
	d.mu.Lock()
	d.calls++
	if failed {
		d.failures++
	}
	d.used = time.Now()
	d.mu.Unlock()
	<-d.places
}

// quiet reports whether nobody used the server for so long.
func (d *desk) quiet(long time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.places) == 0 && time.Since(d.used) >= long
}

// begin starts the clock of a request. The returned context ends when it has
// been silent for too long.
func (d *desk) begin(ctx context.Context, call string, grant tool.Grant) (context.Context, *flight, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &flight{desk: d, call: call, grant: grant}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next++
	f.token = "callgate-" + strconv.Itoa(d.next)
	d.flights[f.token] = f
	f.timer = time.AfterFunc(d.timeout, func() {
		if d.isAsking() { // a human may take their time
			f.timer.Reset(d.timeout)
			return
		}
		cancel(errSilent)
	})
	return ctx, f, cancel
}

// end stops the clock.
func (f *flight) end() {
	f.timer.Stop()
	f.desk.mu.Lock()
	defer f.desk.mu.Unlock()
	delete(f.desk.flights, f.token)
}

// progress passes on where a call stands, and gives it more time.
func (d *desk) progress(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	d.mu.Lock()
	f := d.flights[token]
	d.mu.Unlock()
	if f == nil {
		return
	}
	f.timer.Reset(d.timeout)
	f.grant.Live(progressStream, []byte(progressLine(p)))
}

func progressLine(p *sdk.ProgressNotificationParams) string {
	line := strconv.FormatFloat(p.Progress, 'g', 6, 64)
	if p.Total > 0 {
		line += "/" + strconv.FormatFloat(p.Total, 'g', 6, 64)
	}
	if p.Message != "" {
		line += " " + strings.ReplaceAll(tool.ClipTo(p.Message, 1<<10), "\n", " ")
	}
	return line + "\n"
}

func (d *desk) isAsking() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asking > 0
}

// under returns the calls that are under way.
func (d *desk) under() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.underLocked()
}

func (d *desk) underLocked() (calls []string) {
	for _, f := range d.flights {
		if f.call != "" {
			calls = append(calls, f.call)
		}
	}
	return calls
}

// ask stops all clocks while a client is asked, and returns the calls that may
// have led to the question.
func (d *desk) ask() (calls []string, done func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asking++
	return d.underLocked(), func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.asking--
		for _, f := range d.flights {
			f.timer.Reset(d.timeout)
		}
	}
}
