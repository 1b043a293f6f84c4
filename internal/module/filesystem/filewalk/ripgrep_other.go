//go:build !linux

package filewalk

import (
	"context"

	"callgate/internal/module/workfile"
)

// Ripgrep is only used where a program can be started in a directory by its
// handle. Elsewhere the directory's name might be swapped first.
func Ripgrep(
	context.Context, workfile.Workspace, workfile.Path, Selector, string, string, string,
) (files []string, ok bool, err error) {
	return nil, false, nil
}
