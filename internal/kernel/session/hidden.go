package session

import (
	"os"
	"path/filepath"

	"callgate/internal/gate"
	"callgate/internal/sandbox"
)

// Pin notes the identity of the kernel's own folders, which must stay where they
// are. One that does not exist is left out.
func Pin(folders []string) []gate.PinnedFolder {
	var pinned []gate.PinnedFolder
	for _, folder := range folders {
		if info, err := os.Stat(folder); err == nil {
			pinned = append(pinned, gate.PinnedFolder{Path: folder, Info: info})
		}
	}
	return pinned
}

// hide notes what no tool may reach of a workspace: the kernel's own folders and
// the user's private ones, where they lie inside it, as they do when somebody
// works in their home.
func hide(at *gate.Place, kernel []gate.PinnedFolder) error {
	for _, folder := range kernel {
		if err := folder.Check(); err != nil {
			return err
		}
		if path, rel := locate(at.Workspace, folder.Path); rel != "" {
			at.Kernel = append(at.Kernel, folder)
			at.HiddenFiles, at.HiddenPaths = append(at.HiddenFiles, folder.Info), append(at.HiddenPaths, path)
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil // there is none, so nothing private is in it
	}
	for _, private := range sandbox.PrivatePaths(home) {
		path, rel := locate(at.Workspace, private)
		if rel == "" || rel == "." { // one that was chosen as the workspace is open
			continue
		}
		if info, err := os.Stat(path); err == nil {
			at.HiddenFiles = append(at.HiddenFiles, info)
		}
		at.HiddenPaths = append(at.HiddenPaths, path)
	}
	return nil
}

// locate returns a path as the workspace has it, without links, and relative to
// the workspace; "" for one that lies elsewhere. The path need not exist.
func locate(workspace, path string) (full, rel string) {
	full, err := filepath.EvalSymlinks(path)
	if err != nil {
		full = path
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			full = filepath.Join(dir, filepath.Base(path))
		}
	}
	rel, err = filepath.Rel(workspace, full)
	if err != nil || !filepath.IsLocal(rel) {
		return full, ""
	}
	return full, rel
}
