package client

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"callgate/internal/protocol"
	"callgate/tool"
)

// # How a conversation goes on by itself
//
// A client that attends a conversation is told when the conversation should go on without
// a word of the user, because its model is to be told something. Then the client has it
// do so: the turn is the client's, like one that began with the user's words. A client
// that attends no more is told nothing, and the model is told in the next turn.

// attendAgain is how long a client waits before it looks for the next kernel.
const attendAgain = 2 * time.Second

// Attend yields that the conversation should go on by itself, until ctx ends, or another
// client has the conversation. It outlives its kernel, but starts none.
func (c *Conversation) Attend(ctx context.Context) iter.Seq[protocol.News] {
	return func(yield func(protocol.News) bool) {
		for ctx.Err() == nil {
			stopped, err := c.attendOnce(ctx, yield)
			if stopped || !c.mayAttendAgain(ctx, err) {
				return
			}
		}
	}
}

// attendOnce yields what one kernel says. stopped says that nobody wants more.
func (c *Conversation) attendOnce(ctx context.Context, yield func(protocol.News) bool) (stopped bool, err error) {
	resp, err := c.client.send(ctx, http.MethodGet, c.path("/attend"), nil, nil)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return ctx.Err() != nil, nil // the kernel, or the session, has ended
		}
		var n protocol.News
		if err := json.Unmarshal(line, &n); err != nil {
			return false, err
		}
		if !yield(n) {
			return true, nil
		}
	}
}

// mayAttendAgain waits for a kernel that runs, and opens the conversation there if nobody
// has it open. It reports false if somebody else has.
func (c *Conversation) mayAttendAgain(ctx context.Context, err error) bool {
	for {
		switch {
		case err == nil: // the stream ended
		case tool.KindOf(err) == tool.NotFound && !c.Running():
			if _, err = c.Reconnect(ctx); err == nil {
				return true
			}
			return tool.KindOf(err) == tool.Unavailable
		case tool.KindOf(err) == tool.NotFound, tool.KindOf(err) == tool.Unavailable:
		default:
			return false
		}
		select {
		case <-time.After(attendAgain):
		case <-ctx.Done():
			return false
		}
		if c.client.kernel.Runs(ctx) {
			return true
		}
	}
}

// Wake has the conversation go on by itself, if it should, and yields the events of its
// turn: see Send. The last event has no reason if there was none. Like KeepOn it outlives
// its kernel. One that is gone before a turn began leaves nothing to go on with: the next
// one says again, to who attends, what the conversation is owed.
func (c *Conversation) Wake(ctx context.Context) iter.Seq2[protocol.TurnEvent, error] {
	return func(yield func(protocol.TurnEvent, error) bool) {
		begun := false
		for e, err := range c.keep(ctx, nil, c.turnEvents(ctx, "/wake", struct{}{})) {
			if !begun && IsLost(err) {
				return
			}
			if begun = begun || err == nil; !yield(e, err) {
				return
			}
		}
	}
}
