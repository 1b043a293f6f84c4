package gate

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"callgate/internal/gate/lock"
	"callgate/internal/journal"
	"callgate/internal/secret"
	"callgate/tool"
)

// lock takes every claim, all or none, in line.
func (d *Door) lock(ctx context.Context, p *passage) (err error) {
	if len(p.claims) == 0 {
		if !p.tool.Runtime.Control {
			placed(ctx)
		}
		p.lease, err = d.Locks.Acquire(ctx, lock.Request{})
		return err
	}
	if p.place == nil {
		if p.place, err = d.Locks.Enqueue(d.lockRequest(p)); err != nil {
			return err
		}
	}
	placed(ctx)
	defer d.tellWait(ctx, p)()
	p.lease, err = p.place.Wait(ctx)
	return err
}

// tellAfter is how long a call may wait for its locks before whoever watches
// it is told for whom.
const tellAfter = 500 * time.Millisecond

// tellWait tells whoever watches a call who it waits for, if it does for long.
// It returns what stops the clock.
func (d *Door) tellWait(ctx context.Context, p *passage) (stop func()) {
	if _, waits := p.place.Behind(); !waits || d.Live == nil {
		return func() {}
	}
	told := make(chan struct{})
	timer := time.AfterFunc(tellAfter, func() {
		defer close(told)
		by, waits := p.place.Behind()
		if !waits {
			return
		}
		if p.session.Began != nil {
			p.session.Began(ctx, p.call)
		}
		what := "holds it"
		if by.Queued {
			what = "is ahead in the queue"
		}
		d.Live.Publish(p.call.ID, "waiting", d.Secrets.Scrub(fmt.Appendf(nil, "waiting for %.200s: %s %s\n", by.Resource, by.Holder, what)))
	})
	return func() {
		if !timer.Stop() {
			<-told // it never waits, and the call is not over before it
		}
	}
}

// leave gives back what the passage holds: at once, or, when its handler
// outstayed its time, as soon as that has stopped.
func (d *Door) leave(p *passage) {
	switch {
	case p.lease == nil && p.place != nil:
		p.place.Leave()
	case p.lease == nil:
	case p.runaway == nil:
		p.lease.Release()
	default:
		go func() {
			<-p.runaway
			p.lease.Release()
			r := p.record(journal.Noted)
			r.Note = "the handler has stopped at last, and its locks are free"
			_ = d.Journal.Note(r) // its end is on record already
		}()
	}
}

// outcome is what a handler returned.
type outcome struct {
	result *tool.Result
	err    error
	stack  []byte // of a panic
}

// handle runs the tool inside its grant and its time. A handler that fails,
// panics or must be stopped is an answer, not an error of the passage: its
// record still has to be written.
func (d *Door) handle(ctx context.Context, p *passage) error {
	grant, err := d.grant(p)
	if err != nil {
		p.result = failure(p.call.ID, asError("arbiter.grant", err))
		return nil
	}
	var end func()
	grant.Emit, end = d.live(p)
	defer end()
	ctx, cancel := p.lease.Guard(ctx, d.limit(p))
	defer cancel()

	if p.session.Began != nil {
		p.session.Began(ctx, p.call)
	}
	defer d.lockFor(p)()
	done := make(chan outcome, 1)
	go func() { done <- d.invoke(ctx, p, grant) }()
	select {
	case out := <-done:
		d.take(ctx, p, out)
	case <-ctx.Done():
		d.reap(ctx, p, done)
	}
	return nil
}

// lockFor lets the locks go while the handler runs on, when it runs for longer
// than its tool may keep others waiting. It returns what stops the clock.
func (d *Door) lockFor(p *passage) (stop func()) {
	limit := p.tool.Runtime.LockFor
	if limit <= 0 || len(p.claims) == 0 {
		return func() {}
	}
	timer := time.AfterFunc(limit, func() {
		p.lease.Release()
		r := p.record(journal.Noted)
		r.Note = fmt.Sprintf("it has run for %v: its locks are let go, and it runs on without them", limit)
		_ = d.Journal.Note(r)
	})
	return func() { timer.Stop() }
}

// reap waits a little for a cancelled handler to return.
func (d *Door) reap(ctx context.Context, p *passage, done <-chan outcome) {
	timer := time.NewTimer(d.Limits.Grace)
	defer timer.Stop()
	select {
	case out := <-done:
		d.take(ctx, p, out)
	case <-timer.C:
		stopped := make(chan struct{})
		go func() { <-done; close(stopped) }()
		p.runaway = stopped
		e := stopReason(ctx)
		e.Message += ", and it did not stop when told to"
		p.result = failure(p.call.ID, e.WithHint("what it still holds stays locked until it returns: see callgate locks"))
	}
}

// take makes what a handler returned the result of the passage.
func (d *Door) take(ctx context.Context, p *passage, out outcome) {
	if out.stack != nil { // for whoever mends the tool, never for the model
		r := p.record(journal.Noted)
		r.Note = tool.ClipTo(d.Secrets.ScrubString(string(out.stack)), 16<<10)
		_ = d.Journal.Note(r)
	}
	switch {
	case out.err != nil && ctx.Err() != nil:
		e := stopReason(ctx)
		e.Err = out.err
		p.result = failure(p.call.ID, e)
	case out.err != nil:
		p.result = failure(p.call.ID, asError(p.tool.ID.Dotted(), out.err))
	case out.result == nil:
		p.result = failure(p.call.ID, tool.Errorf(p.tool.ID.Dotted(), tool.Internal, "the tool returned neither a result nor an error"))
	default:
		result := *out.result                             // the handler may keep its own
		if !p.tool.Runtime.Control || result.Call == "" { // what a control tool called answers for itself
			result.Call = p.call.ID
		}
		if result.Status == "" {
			result.Status = tool.Success
		}
		p.result = &result
		if result.Status == tool.Success && p.session.Ran != nil {
			p.session.Ran(p.tool)
		}
	}
}

// stopReason says why a handler's context ended.
func stopReason(ctx context.Context) *tool.Error {
	cause := context.Cause(ctx)
	if kind := tool.KindOf(cause); kind == tool.Timeout {
		return tool.Errorf("arbiter.handle", tool.Timeout, "%s", cause)
	}
	if cause == context.DeadlineExceeded {
		return tool.Errorf("arbiter.handle", tool.Timeout, "the caller's time for this call ran out")
	}
	return tool.Errorf("arbiter.handle", tool.Cancelled, "the call was cancelled")
}

// invoke is the one place where a handler runs.
func invoke(ctx context.Context, t *tool.Tool, call tool.Call, grant tool.Grant) (out outcome) {
	defer func() {
		if p := recover(); p != nil {
			err := tool.Errorf(t.ID.Dotted(), tool.Internal, "the tool panicked: %v", p).
				WithHint("this is a defect in the tool; other arguments may avoid it")
			out = outcome{err: err, stack: debug.Stack()}
		}
	}()
	result, err := t.Handler.Execute(ctx, call, grant)
	return outcome{result: result, err: err}
}

// grant is everything this call may reach.
func (d *Door) grant(p *passage) (tool.Grant, error) {
	r, module := &p.tool.Runtime, p.tool.ID.Namespace
	settings := p.session.Settings[module]
	if err, ok := settings.(error); ok {
		return tool.Grant{}, err
	}
	secrets, err := d.Secrets.Values(r.Secrets)
	g := tool.Grant{
		Workspace: p.session.Workspace, Root: p.session.Root,
		Network: r.Network, Secrets: secrets, Claims: p.claims,
		Settings: settings, Relaxed: p.session.Relaxed,
		Hidden: p.session.Hidden, HiddenAt: p.session.HiddenAt,
	}
	if name := p.session.Credentials[module]; name != "" && err == nil {
		var values map[string]string
		values, err = d.Secrets.Values([]string{name})
		g.Credential = values[name]
	}
	return g, err
}

// live is how a handler's output reaches whoever watches: scrubbed as it comes,
// so that a secret cut in two by its pieces is still found. Each stream holds
// back what may be the beginning of one, until end.
func (d *Door) live(p *passage) (emit func(stream string, chunk []byte), end func()) {
	if d.Live == nil {
		return nil, func() {}
	}
	var mu sync.Mutex // a handler may print from several goroutines
	streams := map[string]*secret.Stream{}
	emit = func(name string, chunk []byte) {
		mu.Lock()
		s := streams[name]
		if s == nil {
			s = d.Secrets.Stream(func(text []byte) { d.Live.Publish(p.call.ID, name, text) })
			streams[name] = s
		}
		mu.Unlock()
		_, _ = s.Write(chunk)
	}
	return emit, func() {
		mu.Lock()
		defer mu.Unlock()
		for _, name := range slices.Sorted(maps.Keys(streams)) {
			_ = streams[name].Close()
		}
	}
}

// conform holds the result against the output schema. The effect has happened,
// so a mismatch is a warning.
func (d *Door) conform(_ context.Context, p *passage) error {
	if len(p.tool.Spec.Output) == 0 || p.result.Status != tool.Success || len(p.result.Data) == 0 {
		return nil
	}
	s, err := d.schemas.Get(p.tool.Spec.Output)
	if err == nil {
		err = s.Conforms(p.result.Data)
	}
	if err != nil {
		p.result.Warnings = append(p.result.Warnings, "the result does not match the tool's output schema: "+err.Error())
	}
	return nil
}
