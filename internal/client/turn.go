package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strings"
	"time"

	"callgate/internal/protocol"
	"callgate/tool"
)

// stopTimeout bounds how long a turn that is stopped may take to end.
const stopTimeout = 8 * time.Second

// turnEvents runs a turn and yields its events. The connection outlives ctx: the
// kernel is asked to stop the turn, and says how it ended. A connection that just
// breaks tells the kernel that its client is gone.
func (c *Conversation) turnEvents(ctx context.Context, path string, in any) iter.Seq2[protocol.TurnEvent, error] {
	return func(yield func(protocol.TurnEvent, error) bool) {
		c.turns.Add(1)
		defer c.turns.Add(-1)
		stream, end := context.WithCancel(context.WithoutCancel(ctx))
		defer end()
		defer context.AfterFunc(ctx, func() {
			if errors.Is(context.Cause(ctx), ErrLeave) || !c.stopTurn(ctx) {
				end()
			}
		})()
		if ctx.Err() != nil {
			end()
		}
		resp, err := c.client.send(stream, http.MethodPost, c.path(path), nil, in)
		if err != nil {
			yield(protocol.TurnEvent{}, err)
			return
		}
		defer resp.Body.Close()
		lines := bufio.NewReader(resp.Body)
		under := underWay{}
		for {
			line, err := lines.ReadBytes('\n')
			var m protocol.TurnEvent
			if err == nil {
				err = json.Unmarshal(line, &m)
			}
			under.see(m)
			if m.End != nil {
				c.hear(m.End.Info)
			}
			switch {
			case err != nil && ctx.Err() != nil:
				yield(m, unreachable(ctx, err))
				return
			case err != nil:
				yield(m, under.lost(c.ID, err))
				return
			case m.Failure != nil:
				yield(m, m.Failure)
				return
			case !yield(m, nil):
				if m.End == nil && !errors.Is(context.Cause(ctx), ErrLeave) {
					c.stopTurn(ctx)
				}
				return
			case m.End != nil:
				return
			}
		}
	}
}

// ErrLeave is the cause of a context whose end does not stop a turn: the client goes
// away, as when its terminal is closed, and nobody said that the turn should stop.
var ErrLeave = errors.New("the client goes away")

// stopTurn asks the kernel to stop the turn, and reports whether it has stopped.
func (c *Conversation) stopTurn(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	stopped, err := c.client.CancelTurn(ctx, c.ID) // a kernel that cannot be asked sees that its client is gone
	return err == nil && stopped
}

// underWay are the tools of the calls of a turn that have not ended.
type underWay []protocol.AgentCall

func (u *underWay) see(m protocol.TurnEvent) {
	switch {
	case m.Call != nil:
		*u = append(*u, *m.Call)
	case m.Result != nil:
		for i, call := range *u {
			if call.ID == m.Result.Call.ID {
				*u = append((*u)[:i:i], (*u)[i+1:]...)
				return
			}
		}
	}
}

// lost is the error of a turn whose kernel went away. A turn whose calls were under
// way is in doubt.
func (u underWay) lost(id string, err error) error {
	e := &tool.Error{
		Op: "client.Send", Kind: tool.Unavailable, Err: err,
		Message: "the kernel went away during the turn; what happened so far is kept",
		Hint:    "callgate sessions resume " + id + " goes on where it was",
	}
	if len(u) == 0 {
		return e
	}
	names := make([]string, len(u))
	for i, call := range u {
		names[i] = call.Name
	}
	e.Kind = tool.InDoubt
	e.Message += "; " + tool.TruncateTo(strings.Join(names, ", "), 200) + " may or may not have happened"
	return e
}
