package filesystem

import (
	"context"
	"io/fs"
	"path/filepath"

	"callgate/internal/module/filesystem/seen"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// tracked is handler for a tool that reads or changes files, and heeds what its
// conversation has seen of them.
func tracked[In any](
	name string, files *seen.Files,
	run func(context.Context, workfile.Workspace, seenFiles, In) (*tool.Result, error),
) tool.Handler {
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
		return handler(name, func(ctx context.Context, w workfile.Workspace, in In) (*tool.Result, error) {
			return run(ctx, w, seenFiles{files.View(call.Principal), w}, in)
		}).Execute(ctx, call, grant)
	})
}

// seenFiles is what the conversation of a call has seen of the workspace.
type seenFiles struct {
	seen.View
	w workfile.Workspace
}

func (s seenFiles) path(at workfile.Path) string { return filepath.Join(s.w.Dir, at.Name) }

// note remembers a file as it is, after it was read or written.
func (s seenFiles) note(at workfile.Path, info fs.FileInfo) {
	if info == nil {
		info, _ = s.w.Root.Lstat(at.Name)
	}
	s.Note(s.path(at), info)
}

// state is what the conversation knows of a file.
func (s seenFiles) state(at workfile.Path, info fs.FileInfo) seen.State {
	return s.State(s.path(at), info)
}

// checkWhole refuses to replace a file that the conversation does not know as it is.
func (s seenFiles) checkWhole(at workfile.Path) error {
	if at.Info == nil || at.Info.Size() == 0 {
		return nil
	}
	if s.state(at, at.Info) == seen.Unknown {
		return tool.Errorf(s.w.Op, tool.Conflict,
			"%q exists and was not read in this conversation; it was left as it is", at.Shown).
			WithHint("read it first and write it then, or edit the part that is to change")
	}
	return s.checkPart(at, at.Info)
}

// checkPart refuses to change a file that is not as the conversation read it.
func (s seenFiles) checkPart(at workfile.Path, info fs.FileInfo) error {
	if s.state(at, info) != seen.Changed {
		return nil
	}
	return tool.Errorf(s.w.Op, tool.Conflict,
		"%q was changed after it was read in this conversation, by the user or a program; it was left as it is", at.Shown).
		WithHint("read it again, then make the change")
}
