package hooks

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"callgate/internal/hook"
	"callgate/internal/launch"
	"callgate/internal/module/shell"
	"callgate/tool"
)

// input is what a command reads from its standard input. It knows whether any of it was
// read.
type input struct {
	read  *os.File
	size  int
	wrote chan struct{}
	left  int
	over  bool
}

// newInput makes an input of data.
func newInput(data []byte) (*input, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, &tool.Error{
			Op: "hook.command", Kind: tool.Unavailable, Message: "no pipe could be made for the command", Err: err,
		}
	}
	in := &input{read: r, size: len(data), wrote: make(chan struct{})}
	go func() {
		defer close(in.wrote)
		_, _ = w.Write(data) // the command need not read it
		w.Close()
	}()
	return in, nil
}

// close ends the input, once the command has ended, and reports whether none of it was
// read.
func (in *input) close() (unread bool) {
	if !in.over {
		in.over = true
		n, _ := io.Copy(io.Discard, in.read)
		in.read.Close()
		<-in.wrote
		in.left = int(n)
	}
	return in.left == in.size
}

// What a shell exits with that could not start a program.
const (
	exitNotRun   = 126
	exitNotFound = 127
)

// lookedAway reports a guard that did not look at the call, and so objected to nothing.
func (o *occurrence) lookedAway(h *hook.Hook, code int, unread bool) error {
	switch {
	case code == exitNotRun || code == exitNotFound:
		return tool.Errorf("hook."+h.ID, tool.Failed, "its command could not start a program (exit code %d)", code).
			WithHint("a guard starts in a folder of its own: name its scripts as ./path or $CLAUDE_PROJECT_DIR/path, or " +
				`write cd "$CLAUDE_PROJECT_DIR" first`)
	case unread:
		return tool.Errorf("hook."+h.ID, tool.Failed,
			"its command ended with exit code %d and never read the call that it guards", code).
			WithHint("have it read its standard input, or write on_error: continue for a command that needs none of it")
	}
	return nil
}

// startElsewhere has a command start in a folder of its own: it holds the scripts that were
// accepted, at the places that they have in the project, so that ./path names them there.
func (o *occurrence) startElsewhere(h *hook.Hook, line *shell.Line) error {
	workspace := o.caller.Place().Workspace
	root := cmp.Or(o.folder, workspace)
	if !isIn(workspace, root) {
		root = workspace
	}
	key := root
	for _, s := range h.Scripts {
		key += fmt.Sprintf("\x00%s\x00%s", s.Path, s.Digest)
	}
	dir, err := o.engine.opt.Folders.Filled("hook", key, func(dir string) error {
		for _, s := range h.Scripts {
			rel, err := filepath.Rel(root, s.Path)
			if err != nil || !filepath.IsLocal(rel) || s.Digest == "" || s.Digest == launch.TooLarge {
				continue
			}
			if err := (launch.File{Path: s.Path, Digest: s.Digest}).Copy(filepath.Join(dir, rel)); err != nil {
				return err
			}
		}
		rel, err := filepath.Rel(root, workspace)
		if err != nil {
			return err
		}
		return os.MkdirAll(filepath.Join(dir, rel), 0o700)
	})
	if err != nil {
		return err
	}
	rel, _ := filepath.Rel(root, workspace) // it was found above
	line.Dir = filepath.Join(dir, rel)
	line.Readable = append(line.Readable, dir)
	var modules []string
	for _, s := range h.Scripts {
		if s.Folder {
			continue
		}
		if folder := launch.ModuleFolder(s.Path, workspace); folder != "" && folder != root {
			modules = append(modules, folder)
		}
	}
	if len(modules) > 0 {
		list := ""
		for i, m := range modules {
			if i > 0 {
				list += string(filepath.ListSeparator)
			}
			list += m
		}
		line.Env = append(line.Env, "PYTHONPATH="+list, "PYTHONDONTWRITEBYTECODE=1")
	}
	return nil
}

func isIn(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}
