package binding

import (
	"encoding/json"
	"os"
	"strings"

	"callgate/internal/module/filesystem/patchfile"
	"callgate/tool"
)

// Part is a call of another tool of the same module that a call stands for, with the
// canonical paths of its parameters.
type Part struct {
	Action string // write, edit, delete, move or read
	Paths  map[string]string
}

// Parts returns the calls that a call with a patch stands for, one for each thing that
// it does to a file: who may not delete a file may not delete it with a patch either.
// A change of a notebook stands for an edit of its file, and a search in one file for
// reading it. Any other call stands for itself, and has none.
func Parts(workspace string, t *tool.Tool, rawArgs json.RawMessage) ([]Part, error) {
	var parts []Part
	for _, e := range t.Runtime.Effects {
		if t.ID.Namespace == "filesystem" && t.ID.Name == "notebook_edit" {
			return eachFile("edit", workspace, e, rawArgs)
		}
		if t.ID.Namespace == "filesystem" && t.ID.Name == "grep" {
			return eachFile("read", workspace, e, rawArgs)
		}
		if !strings.HasSuffix(e.Resource, "|"+filesForm+"}") {
			continue
		}
		args, err := Arguments(rawArgs)
		if err != nil {
			return nil, err
		}
		param, _, _ := PathParam(e)
		for _, text := range Names(args[param]) {
			patch, err := patchfile.Parse(text)
			if err != nil {
				return nil, tool.Errorf(op, tool.Invalid, "the patch cannot be read: %v", err)
			}
			for i := range patch.Files {
				if parts, err = appendParts(parts, workspace, &patch.Files[i]); err != nil {
					return nil, err
				}
			}
		}
	}
	return parts, nil
}

// eachFile is an action on each of the files that an effect names.
func eachFile(action, workspace string, e tool.Effect, rawArgs json.RawMessage) (parts []Part, err error) {
	args, err := Arguments(rawArgs)
	if err != nil {
		return nil, err
	}
	param, _, _ := PathParam(e)
	for _, name := range Names(args[param]) {
		path, err := Canonical(workspace, name)
		if err != nil {
			return nil, err
		}
		if !IsFolder(path) {
			parts = append(parts, Part{action, map[string]string{"path": path}})
		}
	}
	return parts, nil
}

func appendParts(parts []Part, workspace string, f *patchfile.File) ([]Part, error) {
	path, err := Canonical(workspace, f.Path)
	if err != nil {
		return nil, err
	}
	on := map[string]string{"path": path}
	switch {
	case f.Action == patchfile.Add:
		parts = append(parts, Part{"write", on})
	case f.Action == patchfile.Delete:
		parts = append(parts, Part{"delete", on})
	case len(f.Hunks) > 0:
		parts = append(parts, Part{"edit", on})
	}
	if f.MoveTo == "" {
		return parts, nil
	}
	to, err := Canonical(workspace, f.MoveTo)
	if err != nil {
		return nil, err
	}
	return append(parts, Part{"move", map[string]string{"from": path, "to": to}}), nil
}

// IsFolder reports whether a canonical path is a folder: a call about it is about what
// is in it.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
