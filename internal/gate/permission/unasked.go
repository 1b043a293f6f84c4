package permission

import (
	"path/filepath"

	"callgate/internal/gate/autorun"
)

// runsUnasked reports whether a path in the workspace is one that programs load or run by
// themselves. In accept-edits a person reviews edits afterwards, and such a file may have run by then.
func runsUnasked(workspace, path string) bool {
	rel, err := filepath.Rel(workspace, filepath.FromSlash(path))
	return err != nil || autorun.Reason(filepath.ToSlash(rel)) != ""
}
