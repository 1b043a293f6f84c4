// Package filesystem is the module of file tools: read, list, write, edit,
// apply_patch, glob, grep, delete and move.
//
// The tools reach files only through package workfile, which confines them to
// the workspace and makes every change atomic and durable. Package filewalk walks
// directories. Packages that need no file system have the rest: textfile (bytes
// to lines), textedit (edits to changes), pathglob (patterns of paths) and
// linesearch (expressions to lines), ignorefile (what .gitignore names), patchfile
// and hunks (patches to changes) and seen (what a conversation has read, so that it
// overwrites nothing unseen).
package filesystem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"sync"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/filesystem/filewalk"
	"callgate/internal/module/filesystem/seen"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "filesystem"

// Config configures the module. The zero value works.
type Config struct {
	// Ripgrep is the program that speeds up grep. Empty means rg, if it is in
	// the PATH; "none" means that grep reads every file itself. The result is
	// the same either way.
	Ripgrep string
	// Seen remembers what conversations read. nil means that a file may be
	// overwritten by who has not read it.
	Seen *seen.Files
}

// Module returns the module for the kernel.
func Module() module.Module {
	return module.Module{
		Name:    Namespace,
		Summary: "files and folders of the workspace: read, find, write, edit, move, delete",
		Open: func(module.Host) (*module.Instance, error) {
			files := &seen.Files{}
			return &module.Instance{
				Tools:                Tools(Config{Seen: files}),
				OnConversationDelete: func(p tool.Principal) error { files.Forget(p.Session); return nil },
			}, nil
		},
	}
}

// Tools makes the tools of the module. A new tool is a file, its description
// beside it, and a line here.
func Tools(c Config) []*tool.Tool {
	definitions := []module.Definition{
		readTool(c.Seen),
		listTool(),
		writeTool(c.Seen),
		editTool(c.Seen),
		patchTool(c.Seen),
		globTool(),
		grepTool(c.ripgrep()),
		deleteTool(),
		moveTool(c.Seen),
	}
	tools := make([]*tool.Tool, len(definitions))
	for i, d := range definitions {
		tools[i] = withOtherNames(d).Tool(Namespace)
	}
	return tools
}

// ripgrep returns a function that finds the program once, at the first call.
func (c Config) ripgrep() func() string {
	return sync.OnceValue(func() string {
		if c.Ripgrep == "none" {
			return ""
		}
		path, err := exec.LookPath(cmp.Or(c.Ripgrep, "rg"))
		if err != nil {
			return ""
		}
		return path
	})
}

// handlerFunc serves a call with decoded arguments.
type handlerFunc[In any] func(context.Context, workfile.Workspace, In) (*tool.Result, error)

// handler makes a handler that decodes the arguments, which the kernel has
// already checked against the schema, and opens the workspace.
func handler[In any](name string, run handlerFunc[In]) tool.Handler {
	op := Namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
		w, err := workfile.New(op, grant)
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, w.Fail("", err)
		}
		in, err := module.Args[In](op, call)
		if err != nil {
			return nil, err
		}
		return run(ctx, w, in)
	})
}

// binaryError refuses a file that is not text.
func binaryError(w workfile.Workspace, at workfile.Path, info fs.FileInfo) error {
	return tool.Errorf(w.Op, tool.Invalid, "%q is a binary file of %s, not text", at.Shown, amount.Bytes(info.Size())).
		WithHint("use a program that understands it through a shell tool, for example: file, strings, or xxd -l 256")
}

// readAll reads a whole file that is to be changed.
func readAll(w workfile.Workspace, at workfile.Path, maxSize int64) ([]byte, fs.FileInfo, error) {
	data, info, err := w.ReadAll(at, maxSize)
	var large *workfile.TooLargeError
	if errors.As(err, &large) {
		return nil, nil, tool.Errorf(w.Op, tool.Invalid, "%q has %s; the most that can be changed in one piece is %s",
			at.Shown, amount.Bytes(large.Size), amount.Bytes(large.Max)).
			WithHint("use a program such as sed through a shell tool")
	}
	return data, info, err
}

// maxResult is the result of a tool that bounds its own content, with its data: the
// content is never cut in its middle.
const maxResult = 512 << 10

// maxText limits the text of a search or a list.
const maxText = 40 << 10

// restCut says that more follows what a search or a list gives. offset is the
// argument that was passed, and total the number of all; 0: not known.
func restCut(unit string, offset, given, total int, advice string) *tool.Cut {
	return &tool.Cut{
		Unit: unit, First: offset + 1, Last: offset + given, Total: total,
		Next: fmt.Sprintf("offset=%d", offset+given), Advice: advice,
	}
}

// fewResults is how many results of a search are so few that what was left out may
// matter.
const fewResults = 5

// leftOutLine says what ignore files kept out of a result; "" if that is nothing.
// done is what would have been done with it.
func leftOutLine(out filewalk.LeftOut, done string) string {
	if out.Count == 0 {
		return ""
	}
	names := strings.Join(out.Names, ", ")
	if more := out.Count - len(out.Names); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("(not %s, because ignore files name it: %s; ignored=true includes it)\n", done, names)
}

// unreadWarning is the warning about directories that a walk could not read.
func unreadWarning(unread []string) []string {
	const maxShown = 5
	if len(unread) == 0 {
		return nil
	}
	shown := unread[:min(len(unread), maxShown)]
	text := amount.Of(len(unread), "directory") + " could not be read: " + strings.Join(shown, ", ")
	if len(shown) < len(unread) {
		text += ", …"
	}
	return []string{text}
}
