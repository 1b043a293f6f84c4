//go:build !linux

package filesystem

import (
	"context"

	"callgate/internal/module/filesystem/linesearch"
)

// ripgrep is used only where a program can be started in a directory by its
// handle; elsewhere its name might be swapped first, so we search alone.
func (w workspace) ripgrep(context.Context, string, resolvedPath, *linesearch.Matcher, selector, string) ([]string, bool, error) {
	return nil, false, nil
}
