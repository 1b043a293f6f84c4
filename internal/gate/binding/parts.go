package binding

import (
	"encoding/json"
	"strings"

	"callgate/internal/module/filesystem/patchfile"
	"callgate/tool"
)

// Part is a call of another tool of the same module that a patch stands for, with the
// canonical paths of its parameters.
type Part struct {
	Action string // write, edit, delete or move
	Paths  map[string]string
}

// Parts returns the calls that a call with a patch stands for, one for each thing that
// it does to a file: who may not delete a file may not delete it with a patch either.
// Any other call stands for itself, and has none.
func Parts(workspace string, effects []tool.Effect, rawArgs json.RawMessage) ([]Part, error) {
	var parts []Part
	for _, e := range effects {
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
