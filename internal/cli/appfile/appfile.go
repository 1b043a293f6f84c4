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
	return readText(path)
}

// ReadUser reads the user's own app file. Where there is none, the text is nil.
func ReadUser(e *command.Env) (path string, text []byte, err error) {
	if path = e.UserFile(); path == "" {
		return "", nil, tool.Errorf("cli", tool.Unavailable, "there is no home folder for an app file of your own").
			WithHint("set HOME, or XDG_CONFIG_HOME to an absolute path")
	}
	return readText(path)
}

func readText(path string) (string, []byte, error) {
	text, err := os.ReadFile(path)
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

// ReplaceUser is Replace for the user's own app file, which nobody else needs to read:
// its folder is made with it.
func ReplaceUser(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return &tool.Error{Op: "cli", Kind: tool.Failed, Message: "the folder of your own app file cannot be made", Err: err}
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := durable.Write(path, text, 0o600); err != nil {
			return &tool.Error{Op: "cli", Kind: tool.Failed, Message: path + " cannot be written", Err: err}
		}
		return nil
	}
	return Replace(path, text)
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
