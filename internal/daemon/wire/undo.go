package wire

import (
	"callgate/internal/kernel/undoing"
	"callgate/internal/protocol"
	"callgate/internal/undo"
)

// UndoTarget converts what is to be undone.
func UndoTarget(t protocol.UndoTarget) undoing.Target { return undoing.Target(t) }

// UndoPreview converts what an undo would do.
func UndoPreview(p undoing.Preview) protocol.UndoPreview {
	return protocol.UndoPreview{
		ID: p.ID, Workspace: p.Workspace, Conversation: p.Conversation, Turns: orNil(p.Turns, undoTurn), Redo: p.Redo,
		Calls: List(p.Calls, undoCall), Files: List(p.Files, undoFile), Rules: p.Rules,
		NotKept: orNil(p.NotKept, func(n undo.NotKept) protocol.UndoNotKept { return protocol.UndoNotKept(n) }),
		Unnamed: orNil(p.Unnamed, undoCall),
	}
}

func undoTurn(t undoing.Turn) protocol.UndoTurn {
	return protocol.UndoTurn{
		Number: t.Number, At: t.At, Text: t.Text, Files: (&undoing.Item{Calls: t.Calls}).Files(),
		Undone: t.Undone, Cut: t.Cut,
	}
}

func undoCall(e undo.Entry) protocol.UndoCall {
	return protocol.UndoCall{Call: e.Call, Tool: e.Tool, Principal: e.Principal, At: e.Begun}
}

func undoFile(f undoing.File) protocol.UndoFile {
	return protocol.UndoFile{
		Path: f.Path, Action: protocol.UndoAction(f.Action), Kind: string(f.Kind), From: f.From, Diff: f.Diff.Text,
		Added: f.Diff.Added, Removed: f.Diff.Removed, Binary: f.Diff.Binary, Cut: f.Diff.Cut, NotKept: f.NotKept,
		Conflict: pointer(f.Conflict, func(c undoing.Conflict) protocol.UndoConflict { return protocol.UndoConflict(c) }),
	}
}

// Undone converts what an undo did.
func Undone(d undoing.Done) protocol.Undone {
	return protocol.Undone{
		Preview: UndoPreview(d.Preview), Call: d.Call, Put: List(d.Put, func(p string) string { return p }), Left: d.Left,
		Failed:  orNil(d.Failed, func(f undoing.Failure) protocol.UndoNotKept { return protocol.UndoNotKept(f) }),
		Rewound: d.Rewound,
	}
}

// UndoItem converts something that changed files.
func UndoItem(i undoing.Item) protocol.UndoItem {
	item := protocol.UndoItem{
		Conversation: i.Conversation, Turn: i.Turn, Text: i.Text, At: i.At, Workspace: i.Workspace,
		Calls: List(i.Calls, undoCall), Files: List(i.Files(), func(p string) string { return p }),
		Undone: i.Undone, Cut: i.Cut, Undo: i.Undo,
	}
	for _, e := range i.Calls {
		item.Unnamed = item.Unnamed || e.Unnamed
	}
	return item
}
