package apps

import (
	"context"

	"callgate/internal/app/inforce"
	"callgate/internal/registry"
)

// Mode returns the runtime mode of the app that is in force in a workspace; "" without an
// app. It reads the files, and makes nothing of them known.
func (l *Loader) Mode(ctx context.Context, workspace, file string) (string, error) {
	workspace, err := canonical(workspace)
	if err != nil {
		return "", err
	}
	files, err := inforce.Find(workspace, file, l.opt.UserFile)
	if err != nil || files.None() {
		return "", err
	}
	known, err := l.known(ctx, registry.Global)
	if err != nil {
		return "", err
	}
	a, err := loadFiles(l, files, workspace, known, true)
	if err != nil {
		return "", err
	}
	return a.Runtime.Mode, nil
}
