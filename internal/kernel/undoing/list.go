package undoing

import (
	"context"
	"slices"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/undo"
)

// Item is something that changed files: a turn of a conversation, a call of another
// client, or an undo.
type Item struct {
	Conversation string // "": it is of none
	Turn         int    // of the conversation
	Text         string // what the user said
	At           time.Time
	Workspace    string
	Calls        []undo.Entry
	Undone       bool
	Cut          bool // the model no longer sees the turn
	Undo         bool // it is an undo
}

// Files are the paths that it changed.
func (i *Item) Files() []string {
	var paths []string
	for _, e := range i.Calls {
		for _, c := range e.Changed() {
			if !slices.Contains(paths, c.Path) {
				paths = append(paths, c.Path)
			}
		}
	}
	slices.Sort(paths)
	return paths
}

// List returns what changed files in a workspace, or in a conversation, the newest first.
func (u *Undoer) List(ctx context.Context, who approval.Credential, t Target) ([]Item, error) {
	if err := u.opt.Authority.HasHumanAuthority(who); err != nil {
		return nil, err
	}
	all, err := u.opt.Store.Entries(ctx)
	if err != nil {
		return nil, err
	}
	if t.Conversation == "" {
		if t.Workspace, err = u.opt.Folder(ctx, t.Workspace); err != nil {
			return nil, err
		}
	}
	turns, listed := map[string][]Turn{}, map[string]bool{}
	undone := undo.Undone(all)
	var items []Item
	for i := len(all) - 1; i >= 0; i-- {
		e := all[i]
		if e.Empty() || listed[e.Call] || t.Conversation == "" && e.Workspace != t.Workspace {
			continue
		}
		c := choice{calls: []undo.Entry{e}, all: all}
		u.findConversation(ctx, &c)
		if t.Conversation != "" && c.conversation != t.Conversation {
			continue
		}
		item := Item{
			Conversation: c.conversation, At: e.Begun, Workspace: e.Workspace, Calls: []undo.Entry{e}, Undone: undone[e.Call],
			Undo: len(e.Undoes) > 0,
		}
		if c.conversation != "" && !item.Undo {
			if turns[c.conversation] == nil {
				if turns[c.conversation], _, err = u.turns(ctx, c.conversation, all); err != nil {
					return nil, err
				}
			}
			item.join(turns[c.conversation], e.Call)
		}
		for _, o := range item.Calls {
			listed[o.Call] = true
		}
		items = append(items, item)
	}
	return items, nil
}

// join makes the item the turn that a call is of.
func (i *Item) join(turns []Turn, call string) {
	for _, turn := range turns {
		if slices.ContainsFunc(turn.Calls, func(e undo.Entry) bool { return e.Call == call }) {
			i.Turn, i.Text, i.At, i.Calls = turn.Number, turn.Text, turn.At, turn.Calls
			i.Undone, i.Cut = turn.Undone, turn.Cut
		}
	}
}
