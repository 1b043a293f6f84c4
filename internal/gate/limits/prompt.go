package limits

import (
	"context"

	"callgate/tool"
)

// prompt is a handler that returns soon after its context has ended, whatever it waits for.
type prompt interface{ Prompt() bool }

// Begin runs a function that runs a handler: in a goroutine of its own, which may go on when it was told to stop, or
// here, if the handler is prompt: another goroutine has to be waited for, and that costs more than many handlers do.
func Begin(h tool.Handler, run func()) {
	if p, ok := h.(prompt); ok && p.Prompt() {
		run()
		return
	}
	go run()
}

// readier is a handler that first has to make something ready, which takes time: a server's process.
type readier interface{ Ready(context.Context) error }

// Ready makes a handler ready, so that it need not begin with that when it is run.
func Ready(ctx context.Context, h tool.Handler) error {
	if r, ok := h.(readier); ok {
		return r.Ready(ctx)
	}
	return nil
}
