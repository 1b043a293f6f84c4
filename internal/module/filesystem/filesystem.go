// Package filesystem is the module of file tools: read, list, write, edit,
// glob, grep, delete and move.
//
// # Confinement
//
// A handler touches files only through the root of its grant. A path is
// relative to the workspace, or absolute inside it; whatever leads elsewhere
// (.., an absolute path, a symbolic link, at whatever depth and whenever it
// appears) is refused as Denied. Names are first followed here, so that the
// refusal can say why and so that links which are absolute but stay inside
// work; the root then judges every step again, so a link swapped in between
// changes nothing. Dots in a path are taken out by spelling ("a/../b" is "b"),
// as the kernel does before it locks.
//
// Only regular files are opened, without waiting, and looked at again after
// the opening: a pipe, a socket or a device can neither hang a call nor be
// disturbed by one.
//
// A hard link cannot be told from a file of the workspace, so one that
// somebody made to a file outside is readable. It is never written through:
// files are replaced by rename, which parts the link.
//
// # Atomicity
//
// A file is written beside its place, synced, and renamed over it. A reader
// sees the old content or the new, never half; a crash leaves the old. This is
// why writes claim U and let readers pass. The new file keeps the mode and,
// where the system allows it, the owner; access lists and extended attributes
// are not carried over.
//
// # Rooms
//
// What needs no file system lives in rooms of its own: textfile (bytes to
// lines), textedit (edits to changes), pathglob (patterns), linesearch
// (expressions to lines).
package filesystem

import (
	"context"
	"os/exec"
	"sync"

	"callgate/internal/module"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "filesystem"

// Config is how the module is set up; the zero value works.
type Config struct {
	// Ripgrep is the program that speeds up grep. Empty means rg, when it is
	// in the PATH; "none" means that grep reads every file itself. The answer
	// is the same either way.
	Ripgrep string
}

// Module is the module as the kernel opens it.
func Module() module.Module {
	return module.Module{
		Name:    Namespace,
		Summary: "files and folders of the workspace: read, find, write, edit, move, delete",
		Open: func(module.Host) (*module.Instance, error) {
			return &module.Instance{Tools: Tools(Config{})}, nil
		},
	}
}

// Tools makes the tools of the module. A new tool is a file, its description
// beside it, and a line here.
func Tools(c Config) []*tool.Tool {
	definitions := []definition{
		readTool(),
		listTool(),
		writeTool(),
		editTool(),
		globTool(),
		grepTool(c.ripgrep()),
		deleteTool(),
		moveTool(),
	}
	tools := make([]*tool.Tool, len(definitions))
	for i, d := range definitions {
		tools[i] = d.Tool(Namespace)
	}
	return tools
}

// ripgrep finds the program once, when it is first needed.
func (c Config) ripgrep() func() string {
	return sync.OnceValue(func() string {
		if c.Ripgrep == "none" {
			return ""
		}
		name := c.Ripgrep
		if name == "" {
			name = "rg"
		}
		path, err := exec.LookPath(name)
		if err != nil {
			return ""
		}
		return path
	})
}

// definition is one tool as its file writes it down.
type definition = module.Definition

// handler makes a tool's function a handler: it decodes the arguments, which
// the kernel has already held against the schema, and finds the workspace.
func handler[In any](name string, run func(context.Context, workspace, In) (*tool.Result, error)) tool.Handler {
	op := Namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
		w := workspace{op: op, root: grant.Root, dir: grant.Workspace, grant: grant}
		if err := ctx.Err(); err != nil {
			return nil, w.fail("", err)
		}
		if grant.Root == nil {
			return nil, tool.Errorf(op, tool.Denied, "this session has no workspace, so there are no files to reach").
				WithHint("start the session in a folder")
		}
		in, err := module.Args[In](op, call)
		if err != nil {
			return nil, err
		}
		return run(ctx, w, in)
	})
}
