package protocol

import (
	"fmt"
	"time"

	"callgate/tool"
)

// The routes of undo. They need the human's key.
const (
	RouteUndoList    = "GET /v1/undo"
	RouteUndoPreview = "POST /v1/undo/preview"
	RouteUndo        = "POST /v1/undo"
)

// LastTurn as the turn of a target is the last that the model sees, whatever it changed.
const LastTurn = -1

// UndoTarget says what is to be undone. Without a call and a conversation, it is the last
// that changed files in the workspace.
type UndoTarget struct {
	Workspace    string `json:"workspace,omitempty"`
	Call         string `json:"call,omitempty"` // with the calls that it made
	Conversation string `json:"conversation,omitempty"`
	Turn         int    `json:"turn,omitempty"` // with all that came after it; 0: the last that changed files
	Redo         bool   `json:"redo,omitempty"` // the last undo
}

// Undo puts files back to what they were.
type Undo struct {
	UndoTarget
	Skip   bool   `json:"skip,omitempty"`   // files that somebody else wrote since are left as they are
	Force  bool   `json:"force,omitempty"`  // they are written over
	Rewind bool   `json:"rewind,omitempty"` // the model no longer sees what was said from the first of the turns on
	Shown  string `json:"shown,omitempty"`  // the preview that the human was shown; "": whatever it is
	By     string `json:"by,omitempty"`
}

// UndoPreview is what an undo would do.
type UndoPreview struct {
	ID           string        `json:"id"`
	Workspace    string        `json:"workspace"`
	Conversation string        `json:"conversation,omitempty"`
	Turns        []UndoTurn    `json:"turns,omitempty"` // that are undone, with those that changed nothing
	Redo         bool          `json:"redo,omitempty"`  // an undo is taken back
	Calls        []UndoCall    `json:"calls"`
	Files        []UndoFile    `json:"files"`
	Rules        []string      `json:"rules,omitempty"`    // the files among them that hold rules of agents
	NotKept      []UndoNotKept `json:"not_kept,omitempty"` // nothing is kept of them
	// Unnamed are the calls that may have changed other files too: what they changed is not
	// kept.
	Unnamed []UndoCall `json:"unnamed,omitempty"`
}

// UndoTurn is a turn of a conversation.
type UndoTurn struct {
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	Text   string    `json:"text"` // what the user said
	Files  []string  `json:"files,omitempty"`
	Undone bool      `json:"undone,omitempty"`
	Cut    bool      `json:"cut,omitempty"` // the model no longer sees it
}

// UndoCall is a call that changed files, or may have.
type UndoCall struct {
	Call      string         `json:"call"`
	Tool      string         `json:"tool"`
	Principal tool.Principal `json:"principal"`
	At        time.Time      `json:"at"`
}

// UndoAction is what an undo does to a file.
type UndoAction string

// The actions.
const (
	UndoRestore UndoAction = "restore"  // it gets its content back
	UndoCreate  UndoAction = "create"   // it comes back
	UndoRemove  UndoAction = "remove"   // it goes
	UndoMove    UndoAction = "move"     // it comes back from where it was moved to
	UndoSetMode UndoAction = "set_mode" // it gets its mode back
)

// UndoFile is what an undo does to one path.
type UndoFile struct {
	Path     string        `json:"path"`
	Action   UndoAction    `json:"action"`
	Kind     string        `json:"kind"` // what it was: file, link, folder, absent
	From     string        `json:"from,omitempty"`
	Diff     string        `json:"diff,omitempty"` // unified
	Added    int           `json:"added,omitempty"`
	Removed  int           `json:"removed,omitempty"`
	Binary   bool          `json:"binary,omitempty"`
	Cut      bool          `json:"cut,omitempty"`      // the difference is not all of it
	Conflict *UndoConflict `json:"conflict,omitempty"` // somebody else wrote it since
	NotKept  string        `json:"not_kept,omitempty"` // why it cannot be put back
}

// UndoConflict is a change of a file that is none of the undone calls'.
type UndoConflict struct {
	Why  string    `json:"why"`            // in words
	Call string    `json:"call,omitempty"` // that made it
	Tool string    `json:"tool,omitempty"`
	By   string    `json:"by,omitempty"`
	At   time.Time `json:"at,omitzero"`
}

// UndoNotKept is a path of which nothing is kept.
type UndoNotKept struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Undone is what an undo did.
type Undone struct {
	Preview UndoPreview   `json:"preview"`
	Call    string        `json:"call,omitempty"` // of the undo; "": there was nothing to do
	Put     []string      `json:"put"`            // paths that are as they were
	Left    []string      `json:"left,omitempty"` // paths that were left out
	Failed  []UndoNotKept `json:"failed,omitempty"`
	Rewound bool          `json:"rewound,omitempty"`
}

// UndoItem is something that changed files: a turn of a conversation, a call of another
// client, or an undo.
type UndoItem struct {
	Conversation string     `json:"conversation,omitempty"`
	Turn         int        `json:"turn,omitempty"`
	Text         string     `json:"text,omitempty"` // what the user said
	At           time.Time  `json:"at"`
	Workspace    string     `json:"workspace"`
	Calls        []UndoCall `json:"calls"`
	Files        []string   `json:"files"`
	Undone       bool       `json:"undone,omitempty"`
	Cut          bool       `json:"cut,omitempty"`     // the model no longer sees the turn
	Undo         bool       `json:"undo,omitempty"`    // it is an undo
	Unnamed      bool       `json:"unnamed,omitempty"` // it may have changed other files too
}

// Text says it for people.
func (r *Rewind) Text() string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("turn %d and what came after it were taken back: the model no longer sees them", r.Turn)
}
