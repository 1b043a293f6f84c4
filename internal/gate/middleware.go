package gate

import (
	"context"
	"time"

	"callgate/internal/gate/limits"
	"callgate/tool"
)

// Middleware is what an app wants done around the calls of a module.
type Middleware struct {
	Audit   bool          // reads are recorded whole, too, before they are answered
	Timeout time.Duration // in place of the tool's own; 0: the tool's own
	Retry   Retry
}

// Retry repeats a failed call.
type Retry = limits.Retry

// invokeWithRetry runs the handler and retries it if the app allows that and the tool is safe to repeat.
func (x *executor) invokeWithRetry(ctx context.Context, c *callState, grant tool.Grant) handlerResult {
	runtime, retry := &c.tool.Runtime, c.middleware().Retry
	safe := !runtime.SideEffect.Durable() || runtime.Idempotent
	wait := retry.Backoff
	for attempt := 1; ; attempt++ {
		out := invoke(ctx, c.tool, c.call, grant)
		if out.err == nil || !safe || attempt >= retry.Attempts || !retry.Covers(tool.KindOf(out.err)) {
			return out
		}
		x.records.note(c, "it failed and is made again: "+out.err.Error())
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

// timeoutOf is how long the handler of a call may take.
func (x *executor) timeoutOf(c *callState) time.Duration {
	if limit := c.middleware().Timeout; limit > 0 {
		return limit
	}
	if c.tool.Runtime.Timeout > 0 {
		return c.tool.Runtime.Timeout
	}
	return x.timeout
}

// limit gives a handler its time. In the background a limit of the app's counts, and one
// that the tool names, unless the tool lets others pass meanwhile. A call that is made
// again always has one: others wait for it (lockqueue.Retries).
func (x *executor) limit(ctx context.Context, c *callState) (context.Context, context.CancelFunc) {
	limit, runtime := x.timeoutOf(c), &c.tool.Runtime
	if c.how.detach == nil {
		return c.lease.WithExpiry(ctx, limit)
	}
	settings := c.caller.mods().Settings[c.tool.ID.Namespace]
	if c.how.retry != nil || c.middleware().Timeout > 0 || runtime.Timeout > 0 && runtime.LockFor == 0 {
		ctx, cancel := c.lease.WithExpiry(ctx, limit)
		inner, stop := c.how.detach.Within(ctx, 0, settings)
		return inner, func() { stop(); cancel() }
	}
	return c.how.detach.Within(ctx, limit, settings)
}
