package dialog

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"callgate/internal/launch"
	"callgate/internal/tempdir"
	"callgate/tool"
)

// Editor opens a text in a program.
type Editor struct {
	Command string // may hold flags; empty: vi, or notepad on Windows
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
}

// Edit returns the text as the program left it. Only its owner can read the file
// that has the text meanwhile, and it is removed afterwards.
func (e Editor) Edit(ctx context.Context, text []byte) ([]byte, error) {
	const op = "dialog.Edit"
	folder, err := tempdir.Make("edit")
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the file to edit cannot be made", Err: err}
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "arguments.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the file to edit cannot be written", Err: err}
	}
	cmd := e.command(ctx, file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.Stdin, e.Stdout, e.Stderr
	if err := cmd.Run(); err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Failed, Message: "the editor failed", Err: err,
			Hint: "set VISUAL or EDITOR to one that works here"}
	}
	text, err = os.ReadFile(file)
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Failed, Message: "the edited file cannot be read", Err: err}
	}
	return text, nil
}

// command opens a file. A shell, where there is one, reads the command, as other
// programs do with VISUAL and EDITOR.
func (e Editor) command(ctx context.Context, file string) *exec.Cmd {
	name := e.Command
	if runtime.GOOS == "windows" {
		if name == "" {
			name = "notepad"
		}
		words := append(strings.Fields(name), file)
		return launch.Foreground(ctx, words[0], words[1:]...)
	}
	if name == "" {
		name = "vi"
	}
	return launch.Foreground(ctx, "sh", "-c", name+` "$1"`, "editor", file)
}
