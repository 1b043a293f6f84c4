// Package appfile reads and replaces the app file that a command works on.
package appfile

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"callgate/internal/app"
	"callgate/internal/cli/command"
	"callgate/internal/durable"
	"callgate/tool"
)

// Read reads the app file that was named, or the one that is in force in the
// workspace. Where there is none, the path is that of the workspace's own, and the
// text is nil.
func Read(e *command.Env) (path string, text []byte, err error) {
	if path, err = e.AppPath(); err != nil {
		return "", nil, err
	}
	if path == "" {
		workspace, err := e.WorkspaceDir()
		if err != nil {
			return "", nil, err
		}
		if path, err = app.Find(workspace); err != nil {
			return "", nil, err
		}
		path = cmp.Or(path, filepath.Join(workspace, app.Filename))
	}
	text, err = os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	}
	if err != nil {
		return "", nil, &tool.Error{Op: "cli", Kind: tool.Failed, Message: "the app file cannot be read", Err: err}
	}
	return path, text, nil
}

// Replace writes a file completely or not at all. A file that exists keeps
// its mode.
func Replace(path string, text []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := durable.Write(path, text, mode); err != nil {
		return &tool.Error{Op: "cli", Kind: tool.Failed, Message: path + " cannot be written; it is as it was", Err: err}
	}
	return nil
}

// BuiltinModules returns the modules that are on where an app file names none.
func BuiltinModules(ctx context.Context, e *command.Env) ([]string, error) {
	var names []string
	err := e.With(ctx, func(k *command.Kernel) error {
		status, err := k.Status(ctx)
		names = status.Modules
		return err
	})
	return names, err
}
