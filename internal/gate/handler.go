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

// acquireLocks takes every claim, all or none, in line.
func (d *Gate) acquireLocks(ctx context.Context, p *callState) (err error) {
	if len(p.claims) == 0 {
		if !p.tool.Runtime.Control {
			signalQueued(ctx)
		}
		p.lease, err = d.Locks.Acquire(ctx, lock.Request{})
		return err
	}
	if p.ticket == nil {
		if p.ticket, err = d.Locks.Enqueue(d.lockRequest(p)); err != nil {
			return err
		}
	}
	signalQueued(ctx)
	defer d.reportLockWait(ctx, p)()
	p.lease, err = p.ticket.Wait(ctx)
	return err
}

// lockWaitNotice is how long a call may wait for its locks before whoever watches
// it is told for whom.
const lockWaitNotice = 500 * time.Millisecond

// reportLockWait tells whoever watches a call who it waits for, if it does for long.
// It returns what stops the clock.
func (d *Gate) reportLockWait(ctx context.Context, p *callState) (stop func()) {
	if _, waits := p.ticket.BlockedBy(); !waits || d.Output == nil {
		return func() {}
	}
	told := make(chan struct{})
	timer := time.AfterFunc(lockWaitNotice, func() {
		defer close(told)
		by, waits := p.ticket.BlockedBy()
		if !waits {
			return
		}
		if p.caller.OnStart != nil {
			p.caller.OnStart(ctx, p.call)
		}
		what := "holds it"
		if by.Queued {
			what = "is ahead in the queue"
		}
		d.Output.Publish(p.call.ID, "waiting", d.Secrets.Scrub(fmt.Appendf(nil, "waiting for %.200s: %s %s\n", by.Resource, by.Holder, what)))
	})
	return func() {
		if !timer.Stop() {
			<-told // it never waits, and the call is not over before it
		}
	}
}

// release gives back what the passage holds: at once, or, when its handler
// outstayed its time, as soon as that has stopped.
func (d *Gate) release(p *callState) {
	switch {
	case p.lease == nil && p.ticket != nil:
		p.ticket.Cancel()
	case p.lease == nil:
	case p.handlerDone == nil:
		p.lease.Release()
	default:
		go func() {
			<-p.handlerDone
			p.lease.Release()
			r := p.record(journal.Noted)
			r.Note = "the handler has stopped at last, and its locks are free"
			_ = d.Journal.Append(r) // its end is on record already
		}()
	}
}

// handlerResult is what a handler returned.
type handlerResult struct {
	result *tool.Result
	err    error
	stack  []byte // of a panic
}

// runHandler runs the tool inside its grant and its time. A handler that fails,
// panics or must be stopped is an answer, not an error of the passage: its
// record still has to be written.
func (d *Gate) runHandler(ctx context.Context, p *callState) error {
	grant, err := d.grant(p)
	if err != nil {
		p.result = failureResult(p.call.ID, asError("arbiter.grant", err))
		return nil
	}
	var end func()
	grant.Emit, end = d.liveOutput(p)
	defer end()
	ctx, cancel := p.lease.WithExpiry(ctx, d.handlerTimeout(p))
	defer cancel()

	if p.caller.OnStart != nil {
		p.caller.OnStart(ctx, p.call)
	}
	defer d.releaseLocksAfter(p)()
	done := make(chan handlerResult, 1)
	go func() { done <- d.invokeWithRetry(ctx, p, grant) }()
	select {
	case out := <-done:
		d.setResult(ctx, p, out)
	case <-ctx.Done():
		d.awaitCancelled(ctx, p, done)
	}
	return nil
}

// releaseLocksAfter lets the locks go while the handler runs on, when it runs for longer
// than its tool may keep others waiting. It returns what stops the clock.
func (d *Gate) releaseLocksAfter(p *callState) (stop func()) {
	limit := p.tool.Runtime.LockFor
	if limit <= 0 || len(p.claims) == 0 {
		return func() {}
	}
	timer := time.AfterFunc(limit, func() {
		p.lease.Release()
		r := p.record(journal.Noted)
		r.Note = fmt.Sprintf("it has run for %v: its locks are let go, and it runs on without them", limit)
		_ = d.Journal.Append(r)
	})
	return func() { timer.Stop() }
}

// awaitCancelled waits a little for a cancelled handler to return.
func (d *Gate) awaitCancelled(ctx context.Context, p *callState, done <-chan handlerResult) {
	timer := time.NewTimer(d.Limits.Grace)
	defer timer.Stop()
	select {
	case out := <-done:
		d.setResult(ctx, p, out)
	case <-timer.C:
		stopped := make(chan struct{})
		go func() { <-done; close(stopped) }()
		p.handlerDone = stopped
		e := stopReason(ctx)
		e.Message += ", and it did not stop when told to"
		p.result = failureResult(p.call.ID, e.WithHint("what it still holds stays locked until it returns: see callgate locks"))
	}
}

// setResult makes what a handler returned the result of the passage.
func (d *Gate) setResult(ctx context.Context, p *callState, out handlerResult) {
	if out.stack != nil { // for whoever mends the tool, never for the model
		r := p.record(journal.Noted)
		r.Note = tool.TruncateTo(d.Secrets.ScrubString(string(out.stack)), 16<<10)
		_ = d.Journal.Append(r)
	}
	switch {
	case out.err != nil && ctx.Err() != nil:
		e := stopReason(ctx)
		e.Err = out.err
		p.result = failureResult(p.call.ID, e)
	case out.err != nil:
		p.result = failureResult(p.call.ID, asError(p.tool.ID.Dotted(), out.err))
	case out.result == nil:
		p.result = failureResult(p.call.ID, tool.Errorf(p.tool.ID.Dotted(), tool.Internal, "the tool returned neither a result nor an error"))
	default:
		result := *out.result                             // the handler may keep its own
		if !p.tool.Runtime.Control || result.Call == "" { // what a control tool called answers for itself
			result.Call = p.call.ID
		}
		if result.Status == "" {
			result.Status = tool.Success
		}
		p.result = &result
		if result.Status == tool.Success && p.caller.OnSuccess != nil {
			p.caller.OnSuccess(p.tool)
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
func invoke(ctx context.Context, t *tool.Tool, call tool.Call, grant tool.Grant) (out handlerResult) {
	defer func() {
		if p := recover(); p != nil {
			err := tool.Errorf(t.ID.Dotted(), tool.Internal, "the tool panicked: %v", p).
				WithHint("this is a defect in the tool; other arguments may avoid it")
			out = handlerResult{err: err, stack: debug.Stack()}
		}
	}()
	result, err := t.Handler.Execute(ctx, call, grant)
	return handlerResult{result: result, err: err}
}

// grant is everything this call may reach.
func (d *Gate) grant(p *callState) (tool.Grant, error) {
	r, module := &p.tool.Runtime, p.tool.ID.Namespace
	settings := p.caller.Settings[module]
	if err, ok := settings.(error); ok {
		return tool.Grant{}, err
	}
	secrets, err := d.Secrets.Values(r.Secrets)
	g := tool.Grant{
		Workspace: p.caller.Workspace, Root: p.caller.Root,
		Network: r.Network, Secrets: secrets, Claims: p.claims,
		Settings: settings, Relaxed: p.caller.Relaxed,
		HiddenFiles: p.caller.HiddenFiles, HiddenPaths: p.caller.HiddenPaths,
	}
	if name := p.caller.Credentials[module]; name != "" && err == nil {
		var values map[string]string
		values, err = d.Secrets.Values([]string{name})
		g.Credential = values[name]
	}
	return g, err
}

// liveOutput is how a handler's output reaches whoever watches: scrubbed as it comes,
// so that a secret cut in two by its pieces is still found. Each stream holds
// back what may be the beginning of one, until end.
func (d *Gate) liveOutput(p *callState) (emit func(stream string, chunk []byte), end func()) {
	if d.Output == nil {
		return nil, func() {}
	}
	var mu sync.Mutex // a handler may print from several goroutines
	streams := map[string]*secret.Stream{}
	emit = func(name string, chunk []byte) {
		mu.Lock()
		s := streams[name]
		if s == nil {
			s = d.Secrets.Stream(func(text []byte) { d.Output.Publish(p.call.ID, name, text) })
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

// checkResult holds the result against the output schema. The effect has happened,
// so a mismatch is a warning.
func (d *Gate) checkResult(_ context.Context, p *callState) error {
	if len(p.tool.Spec.Output) == 0 || p.result.Status != tool.Success || len(p.result.Data) == 0 {
		return nil
	}
	s, err := d.schemas.Get(p.tool.Spec.Output)
	if err == nil {
		err = s.CheckResult(p.result.Data)
	}
	if err != nil {
		p.result.Warnings = append(p.result.Warnings, "the result does not match the tool's output schema: "+err.Error())
	}
	return nil
}
