package module

import (
	"context"

	"callgate/tool"
)

// PendingFile is a file whose change waits for a human, in the app and the workspace of a
// call; or one that a human approved and that is on no disk.
type PendingFile struct {
	Path string // in the workspace, with slashes and no link on the way
	// Before is what was approved last and After what is to be; nil: there is no file.
	Before, After []byte
	// Virtual says that the file is kept by the kernel alone: the disk is neither read nor
	// written.
	Virtual  bool
	Proposal string // that a human answers; "": nothing waits, or nothing is stored yet
	Version  int64  // of what is stored; 0: nothing is
}

// Waits reports whether the change waits for a human.
func (f PendingFile) Waits() bool { return f.Proposal != "" }

// PendingFiles keeps changes of files until a human has approved or rejected them. It is
// safe for concurrent use. Every file is one of the app and the workspace of the call.
type PendingFiles interface {
	// Get returns the file at a path; the zero Version says that there is none.
	Get(ctx context.Context, call tool.Call, workspace, path string) (PendingFile, error)
	// List returns the files, by their paths.
	List(ctx context.Context, call tool.Call, workspace string) ([]PendingFile, error)
	// Put stores a change in the place of the version that was read, and has it wait for a
	// human. One that takes an earlier change back withdraws it. More than most files are
	// not kept.
	Put(ctx context.Context, call tool.Call, workspace string, f PendingFile, most int) (PendingFile, error)
	// Keep stores a virtual file that needs no human's word, or that another one was written
	// without; without After it forgets one. A change of it that waits has been accepted.
	Keep(ctx context.Context, call tool.Call, workspace string, f PendingFile, most int) (PendingFile, error)
}
