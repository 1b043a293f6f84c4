package apps

import (
	"context"
	"path/filepath"

	"callgate/internal/app/inforce"
)

// IsAbsent reports whether a workspace is the empty folder of an app that works in none, by the app file as it is here:
// what works there needs nothing of the machine that it was begun at.
func IsAbsent(l *Loader) func(ctx context.Context, workspace, id, file string) bool {
	return func(ctx context.Context, workspace, id, file string) bool {
		folder, err := canonical(filepath.Dir(file))
		if err != nil {
			return false
		}
		files, err := inforce.Find(folder, file, l.opt.UserFile)
		if err != nil {
			return false
		}
		a, _, err := l.read(ctx, folder, files)
		if err != nil || a == nil || a.ID != id || a.Path != file || a.Runtime.WorkdirMode != "none" {
			return false
		}
		own, err := emptyFolder(a)
		if err == nil {
			own, err = canonical(own)
		}
		return err == nil && own == workspace
	}
}
