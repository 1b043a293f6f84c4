package seen

import (
	"io/fs"
	"path/filepath"

	"callgate/internal/module/workfile"
	"callgate/tool"
)

// Workspace is what the conversation of a call has seen of its workspace.
type Workspace struct {
	view View
	w    workfile.Workspace
}

// In returns what the conversation of a call has seen of a workspace.
func (v View) In(w workfile.Workspace) Workspace { return Workspace{v, w} }

func (s Workspace) path(at workfile.Path) string { return filepath.Join(s.w.Dir, at.Name) }

// Note remembers a file as it is, after it was read or written.
func (s Workspace) Note(at workfile.Path, info fs.FileInfo) {
	if info == nil {
		info, _ = s.w.Root.Lstat(at.Name)
	}
	s.view.Note(s.path(at), info)
}

// State is what the conversation knows of a file.
func (s Workspace) State(at workfile.Path, info fs.FileInfo) State {
	return s.view.State(s.path(at), info)
}

// CheckWhole refuses to replace a file that the conversation does not know as it is.
func (s Workspace) CheckWhole(at workfile.Path) error {
	if at.Info == nil || at.Info.Size() == 0 {
		return nil
	}
	if s.State(at, at.Info) == Unknown {
		return tool.Errorf(s.w.Op, tool.Conflict,
			"%q exists and was not read in this conversation; it was left as it is", at.Shown).
			WithHint("read it first and write it then, or edit the part that is to change")
	}
	return s.CheckPart(at, at.Info)
}

// CheckPart refuses to change a file that is not as the conversation read it.
func (s Workspace) CheckPart(at workfile.Path, info fs.FileInfo) error {
	if s.State(at, info) != Changed {
		return nil
	}
	return tool.Errorf(s.w.Op, tool.Conflict,
		"%q was changed after it was read in this conversation, by the user or a program; it was left as it is", at.Shown).
		WithHint("read it again, then make the change")
}
