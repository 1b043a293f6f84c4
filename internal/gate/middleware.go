package gate

import (
	"context"
	"slices"
	"time"

	"callgate/internal/journal"
	"callgate/tool"
)

// Middleware is what an app wants done around the calls of a module.
type Middleware struct {
	Audit   bool          // reads, too, are on record whole before they are answered
	Timeout time.Duration // in place of the tool's own; 0: the tool's own
	Retry   Retry
}

// Retry makes a call that failed again. Only what can be made twice without
// harm is: a tool that reads, or says that twice is once.
type Retry struct {
	Attempts int           // in all; less than two: none
	Backoff  time.Duration // before the second; it doubles
	On       []tool.Kind   // the failures that may pass
}

// invokeWithRetry runs the handler, again where the app wants that and nothing can be
// done twice by it.
func (d *Gate) invokeWithRetry(ctx context.Context, p *callState, grant tool.Grant) handlerResult {
	r := &p.tool.Runtime
	care := p.caller.Middleware[p.tool.ID.Namespace].Retry
	wait := care.Backoff
	for attempt := 1; ; attempt++ {
		out := invoke(ctx, p.tool, p.call, grant)
		if out.err == nil || attempt >= care.Attempts || r.SideEffect.Durable() && !r.Idempotent || !slices.Contains(care.On, tool.KindOf(out.err)) {
			return out
		}
		note := p.record(journal.Noted)
		note.Note = tool.TruncateTo(d.Secrets.ScrubString("it failed and is made again: "+out.err.Error()), 500)
		_ = d.Journal.Append(note)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return out
		}
		wait *= 2
	}
}

// handlerTimeout is how long the handler may take.
func (d *Gate) handlerTimeout(p *callState) time.Duration {
	if care := p.caller.Middleware[p.tool.ID.Namespace]; care.Timeout > 0 {
		return care.Timeout
	}
	if p.tool.Runtime.Timeout > 0 {
		return p.tool.Runtime.Timeout
	}
	return d.Limits.Timeout
}
