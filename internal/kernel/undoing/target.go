package undoing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/conversation/history"
	"callgate/internal/undo"
	"callgate/tool"
)

// choice is the calls that an undo is about.
type choice struct {
	workspace    string
	conversation string       // "": the calls are of none
	turns        []Turn       // those of the conversation, from the first that is undone on
	calls        []undo.Entry // in the order in which they began
	all          []undo.Entry
	redo         bool
}

func (c *choice) ids() []string {
	ids := make([]string, len(c.calls))
	for i := range c.calls {
		ids[i] = c.calls[i].Call
	}
	return ids
}

// Turn is a turn of a conversation.
type Turn struct {
	history.Turn
	Conversation string
	Calls        []undo.Entry // those that changed files, or may have
	Undone       bool         // all of them are

	left bool // one of them changed files, and is not undone
}

// choose finds the calls that a target means.
func (u *Undoer) choose(ctx context.Context, t Target) (choice, error) {
	all, err := u.opt.Store.Entries(ctx)
	if err != nil {
		return choice{}, err
	}
	if t.Call != "" {
		return u.chooseCall(ctx, t, all)
	}
	if t.Conversation == "" {
		if t.Workspace, err = u.opt.Folder(ctx, t.Workspace); err != nil {
			return choice{}, err
		}
	}
	switch {
	case t.Redo:
		return u.chooseRedo(ctx, t, all)
	case t.Conversation != "":
		return u.chooseTurns(ctx, t, all)
	default:
		return u.chooseLast(ctx, t, all)
	}
}

// chooseCall chooses one call, and what it called.
func (u *Undoer) chooseCall(ctx context.Context, t Target, all []undo.Entry) (choice, error) {
	c := choice{all: all}
	for _, e := range all {
		if e.Call == t.Call || strings.HasPrefix(e.Call, t.Call+".") {
			c.calls = append(c.calls, e)
		}
	}
	if len(c.calls) == 0 {
		var near []string
		for _, e := range all {
			if strings.HasPrefix(e.Call, t.Call) && !e.Empty() {
				near = append(near, e.Call)
			}
		}
		if len(near) == 1 {
			t.Call = near[0]
			return u.chooseCall(ctx, t, all)
		}
		e := tool.Errorf(op, tool.NotFound, "nothing is kept of a call %q", tool.Truncate(t.Call))
		e.Similar = near[:min(len(near), 5)]
		return c, e.WithHint("it changed no file, or it is too old; callgate undo --list shows what can be undone")
	}
	c.workspace = c.calls[0].Workspace
	c.calls = slices.DeleteFunc(c.calls, func(e undo.Entry) bool { return e.Workspace != c.workspace })
	u.findConversation(ctx, &c)
	c.redo = len(c.calls[0].Undoes) > 0
	return c, nil
}

// findConversation finds the conversation whose model is told of an undo of calls. An
// undo is of the conversation whose calls it undid.
func (u *Undoer) findConversation(ctx context.Context, c *choice) {
	e := c.calls[0]
	for e.Principal.Session == Session {
		i := slices.IndexFunc(c.all, func(o undo.Entry) bool { return slices.Contains(e.Undoes, o.Call) })
		if i < 0 || !c.all[i].Begun.Before(e.Begun) {
			return
		}
		e = c.all[i]
	}
	owner := e.Principal.Session
	if _, _, err := u.opt.Conversations.History(ctx, owner, 0); err == nil {
		c.conversation = cmp.Or(u.opt.Parent(ctx, owner), owner)
	}
}

// chooseRedo chooses the last undo that was not undone.
func (u *Undoer) chooseRedo(ctx context.Context, t Target, all []undo.Entry) (choice, error) {
	undone := undo.Undone(all)
	undos := map[string]bool{}
	for _, e := range all {
		undos[e.Call] = len(e.Undoes) > 0
	}
	for _, e := range slices.Backward(all) {
		ofUndo := slices.ContainsFunc(e.Undoes, func(call string) bool { return undos[call] })
		if len(e.Undoes) == 0 || ofUndo || undone[e.Call] {
			continue
		}
		c := choice{workspace: e.Workspace, calls: []undo.Entry{e}, all: all, redo: true}
		u.findConversation(ctx, &c)
		if t.Conversation != "" && c.conversation == t.Conversation || t.Conversation == "" && e.Workspace == t.Workspace {
			return c, nil
		}
	}
	return choice{}, tool.Errorf(op, tool.NotFound, "there is no undo here to take back").
		WithHint("callgate undo --list shows what was undone")
}

// chooseTurns chooses a turn of a conversation, and all that came after it.
func (u *Undoer) chooseTurns(ctx context.Context, t Target, all []undo.Entry) (choice, error) {
	turns, info, err := u.turns(ctx, t.Conversation, all)
	if err != nil {
		return choice{}, err
	}
	c := choice{workspace: info.Workspace, conversation: t.Conversation, all: all}
	at := slices.IndexFunc(turns, func(turn Turn) bool { return turn.Number == t.Turn })
	for i := range turns {
		if t.Turn == 0 && turns[i].left || t.Turn == LastTurn && !turns[i].Cut {
			at = i
		}
	}
	if at < 0 {
		const none = "no turn of conversation %s changed a file that is not undone already"
		e := tool.Errorf(op, tool.NotFound, none, t.Conversation)
		switch {
		case t.Turn == LastTurn:
			e.Message = fmt.Sprintf("conversation %s has no turn that could be taken back", t.Conversation)
		case t.Turn != 0:
			e.Message = fmt.Sprintf("conversation %s has no turn %d; it has %d", t.Conversation, t.Turn, len(turns))
		}
		return c, e.WithHint("callgate undo --list shows what can be undone")
	}
	c.turns = turns[at:]
	undone := undo.Undone(all)
	for _, turn := range c.turns {
		for _, e := range turn.Calls {
			if !undone[e.Call] && e.Workspace == c.workspace {
				c.calls = append(c.calls, e)
			}
		}
	}
	return c, nil
}

// chooseLast chooses the last that changed files in a workspace: the turn of a
// conversation, or a call of another client.
func (u *Undoer) chooseLast(ctx context.Context, t Target, all []undo.Entry) (choice, error) {
	undone := undo.Undone(all)
	hint := "callgate undo --list shows what is kept; a conversation in another folder has an ID: --conversation ID"
	for _, e := range slices.Backward(all) {
		if e.Workspace != t.Workspace || undone[e.Call] || len(e.Undoes) > 0 {
			continue
		}
		if len(e.Changed()) == 0 {
			if e.Unnamed {
				hint = fmt.Sprintf("%s ran at %s (call %s): what it changed is not kept", e.Tool, at(e.Begun), e.Call)
			}
			continue
		}
		c := choice{workspace: e.Workspace, calls: []undo.Entry{e}, all: all}
		if u.findConversation(ctx, &c); c.conversation != "" {
			return u.chooseTurns(ctx, Target{Conversation: c.conversation, Turn: t.Turn}, all)
		}
		return c, nil
	}
	return choice{}, tool.Errorf(op, tool.NotFound, "nothing that changed files in %s is left to undo", t.Workspace).
		WithHint("%s", hint)
}

// turns returns the turns of a conversation, with their calls.
func (u *Undoer) turns(ctx context.Context, id string, all []undo.Entry) ([]Turn, history.Info, error) {
	info, events, err := u.opt.Conversations.History(ctx, id, 0)
	if err != nil {
		return nil, info, err
	}
	sessions, err := u.opt.Jobs(ctx, id)
	if err != nil {
		return nil, info, err
	}
	sessions = append(sessions, id)
	var turns []Turn
	for _, turn := range history.TurnsOf(events) {
		turns = append(turns, Turn{Turn: turn, Conversation: id, Undone: true})
	}
	undone := undo.Undone(all)
	for _, e := range all {
		if !slices.Contains(sessions, e.Principal.Session) || e.Empty() || len(e.Undoes) > 0 {
			continue
		}
		for i := len(turns) - 1; i >= 0; i-- {
			if !e.Begun.Before(turns[i].At) {
				turns[i].Calls = append(turns[i].Calls, e)
				turns[i].Undone = turns[i].Undone && undone[e.Call]
				turns[i].left = turns[i].left || !undone[e.Call] && len(e.Changed()) > 0
				break
			}
		}
	}
	for i := range turns {
		turns[i].Undone = turns[i].Undone && len(turns[i].Calls) > 0
	}
	return turns, info, nil
}

// endBefore is the event with which the last turn before another ended; 0: there is none.
// What a turn does begins after it, also what happens before its own first event.
func (u *Undoer) endBefore(ctx context.Context, conversation string, turn int64) (end int64, err error) {
	_, events, err := u.opt.Conversations.History(ctx, conversation, 0)
	for _, e := range events {
		if e.Type == history.TurnEnded && e.Seq < turn {
			end = e.Seq
		}
	}
	return end, err
}
