package client

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"callgate/internal/client/liveness"
	"callgate/internal/protocol"
	"callgate/tool"
)

// # How a conversation outlives its kernel
//
// A kernel may end while clients have conversations open at it. What was said and done
// is in the history, so a client opens the conversation again at the next kernel
// (Reconnect), and goes on with the turn that was interrupted (Resume). KeepOn does
// both.

// IsLost reports whether an error says that the kernel went away, or that it does not
// have the conversation open: then Reconnect opens it again. A conversation that
// another process has open now is not lost.
func IsLost(err error) bool {
	var e *tool.Error
	if !errors.As(err, &e) || liveness.IsNoAnswer(err) {
		return false
	}
	switch e.Op {
	case "client", "client.Send":
		return e.Kind == tool.Unavailable || e.Kind == tool.InDoubt
	case "conversation.Get", "session.Get":
		return e.Kind == tool.NotFound
	case "session.Call":
		return e.Kind == tool.Unavailable
	}
	return false
}

// Reconnect opens the conversation again, at the kernel that runs now, with the
// permissions that were set here, and returns it as it is: Info says whether a turn was
// interrupted, which Resume goes on with, and Queued what waits for it.
func (c *Conversation) Reconnect(ctx context.Context) (protocol.Conversation, error) {
	o := c.spec
	o.Resume = c.ID
	opened, err := openConversation(ctx, c.client, o)
	if err != nil {
		return opened, err
	}
	c.mu.Lock()
	granted := c.granted
	c.mu.Unlock()
	if granted.Mode == "" && len(granted.Allow) == 0 && granted.Unattended == nil {
		return opened, nil
	}
	opened.Permissions, err = c.setPermissions(ctx, granted)
	return opened, err
}

// keepPermissions keeps what was set, for Reconnect.
func (c *Conversation) keepPermissions(set protocol.SetPermissions) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.granted.Mode, c.granted.By = cmp.Or(set.Mode, c.granted.Mode), cmp.Or(set.By, c.granted.By)
	c.granted.Form = cmp.Or(set.Form, c.granted.Form)
	c.granted.Unattended = cmp.Or(set.Unattended, c.granted.Unattended)
	c.granted.Allow = append(c.granted.Allow, set.Allow...)
	if set.Unattended != nil {
		c.granted.Unattended = set.Unattended
	}
}

// Running reports whether a turn is read.
func (c *Conversation) Running() bool { return c.turns.Load() > 0 }

// maxLosses bounds how often in a row a turn is taken up again of which nothing more is
// heard.
const maxLosses = 3

// GoesOn is the notice that a turn goes on at the next kernel.
const GoesOn = "the kernel went away; the turn goes on at the next one"

// KeepOn is Send for a client that outlives its kernel: if the kernel goes away, the
// conversation is opened again at the next one, and the turn goes on there; a notice
// says so. A message that no kernel had begun with is sent again. Events of the history
// that were missed are yielded before the rest. Without a message it goes on with the
// turn that was interrupted.
func (c *Conversation) KeepOn(
	ctx context.Context, message *protocol.SendMessage,
) iter.Seq2[protocol.TurnEvent, error] {
	if message != nil {
		return c.keep(ctx, message, c.SendMessage(ctx, *message))
	}
	return c.keep(ctx, nil, c.Resume(ctx))
}

// keep yields the events of a turn, also if its kernel goes away.
func (c *Conversation) keep(
	ctx context.Context, message *protocol.SendMessage, events iter.Seq2[protocol.TurnEvent, error],
) iter.Seq2[protocol.TurnEvent, error] {
	return func(yield func(protocol.TurnEvent, error) bool) {
		k := &keptTurn{Conversation: c, message: message, turns: c.begun.Load(), seen: c.events.Load(), yield: yield}
		for events := events; events != nil; {
			lost := k.untilLost(ctx, events)
			if lost == nil {
				return
			}
			events = k.again(ctx, lost)
		}
	}
}

// keptTurn is a turn that outlives its kernel.
type keptTurn struct {
	*Conversation
	message *protocol.SendMessage
	turns   int64 // of the conversation, before this one
	seen    int64 // the Seq of the last event of the history
	losses  int   // in a row
	begun   bool  // the message is in the history
	yield   func(protocol.TurnEvent, error) bool
}

// untilLost yields events until the kernel is lost, and returns the error that says so;
// nil if there is no more to yield.
func (k *keptTurn) untilLost(ctx context.Context, events iter.Seq2[protocol.TurnEvent, error]) error {
	for e, err := range events {
		switch {
		case ctx.Err() != nil:
		case err != nil && IsLost(err):
			return err
		case e.End != nil && e.End.Reason == protocol.EndInterrupted && e.End.Error == protocol.KernelClosed:
			return underWay{}.lost(k.ID, nil)
		}
		if e.Event != nil {
			k.seen, k.losses, k.begun = e.Event.Seq, 0, true
		}
		if !k.yield(e, err) {
			return nil
		}
	}
	return nil
}

// again opens the conversation again, and returns the events of what goes on there; nil
// if nothing does.
func (k *keptTurn) again(ctx context.Context, lost error) iter.Seq2[protocol.TurnEvent, error] {
	opened, err := k.Reconnect(ctx)
	if k.losses++; k.losses > maxLosses || err != nil {
		k.yield(protocol.TurnEvent{}, lost)
		return nil
	}
	refused := tool.KindOf(lost) == tool.NotFound // the kernel did not have the conversation open
	if k.message != nil && !k.begun && (refused || int64(opened.Info.Turns) == k.turns) {
		if !k.yield(protocol.TurnEvent{Notice: "the kernel had gone away; the conversation goes on at the next one"}, nil) {
			return nil
		}
		return k.SendMessage(ctx, *k.message)
	}
	k.begun = true
	h, err := k.client.History(ctx, k.ID)
	if err != nil {
		k.yield(protocol.TurnEvent{}, lost)
		return nil
	}
	for _, e := range h.Log {
		if e.Seq > k.seen {
			k.seen = e.Seq
			if !k.yield(protocol.TurnEvent{Event: &e}, nil) {
				return nil
			}
		}
	}
	if h.Last != protocol.EndInterrupted {
		k.yield(protocol.TurnEvent{End: &protocol.TurnEnd{
			HistoryEnd: protocol.HistoryEnd{Reason: h.Last}, Info: h.ConversationInfo,
		}}, nil)
		return nil
	}
	if !k.yield(protocol.TurnEvent{Notice: GoesOn}, nil) {
		return nil
	}
	return k.Resume(ctx)
}
