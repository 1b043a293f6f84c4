package lsp

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"callgate/internal/module"
	"callgate/internal/module/lsp/langserver"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// maxFile is the largest file that a server is told.
const maxFile = 4 << 20

// request is one call of a tool.
type request struct {
	workfile.Workspace
	call     tool.Call
	settings *settings
	lines    map[string][]string // of files that the answer names, by their path
}

// handler makes the handler of a tool.
func handler[In any](name string, do func(context.Context, *request, In) (*tool.Result, error)) tool.Handler {
	op := Namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, g tool.Grant) (*tool.Result, error) {
		in, err := module.Args[In](op, call)
		if err != nil {
			return nil, err
		}
		w, err := workfile.New(op, g)
		if err != nil {
			return nil, err
		}
		own := module.SettingsOf(g, defaults)
		return do(ctx, &request{Workspace: w, call: call, settings: own, lines: map[string][]string{}}, in)
	})
}

// file is a file of the workspace as a server knows it.
type file struct {
	shown string // relative to the workspace
	name  string // absolute
	text  string // that the server was told
	disk  string
}

// read reads a file of the workspace.
func (c *request) read(path string) (*file, error) {
	p, err := c.Existing(path, true)
	if err != nil {
		return nil, err
	}
	content, _, err := c.ReadAll(p, maxFile)
	var large *workfile.TooLargeError
	switch {
	case errors.As(err, &large):
		return nil, tool.Errorf(c.Op, tool.Invalid, "%q is too large for a language server: %v", p.Shown, err)
	case err != nil:
		return nil, err
	case !utf8.Valid(content):
		return nil, tool.Errorf(c.Op, tool.Invalid, "%q is not a text in UTF-8", p.Shown).
			WithHint("only code can be looked at")
	}
	return &file{shown: p.Shown, name: filepath.Join(c.Dir, p.Name), text: string(content), disk: string(content)}, nil
}

// open finds the server of a file, and tells it what is on the disk.
func (p *pool) open(ctx context.Context, c *request, path string) (*file, *langserver.Server, func(), error) {
	f, err := c.read(path)
	if err != nil {
		return nil, nil, nil, err
	}
	e, release, err := p.acquire(ctx, c, f.name)
	if err != nil {
		return nil, nil, nil, err
	}
	limited, cancel := context.WithTimeout(ctx, seconds(c.settings.Request))
	defer cancel()
	if err = e.lookAround(limited, c); err == nil {
		f.text, err = e.server.Sync(limited, f.name, f.disk)
	}
	if err != nil {
		err = e.server.Fail(c.Op, limited, err)
		release()
		return nil, nil, nil, err
	}
	return f, e.server, release, nil
}

// show is a path as the model is shown it: relative to the workspace where it is inside.
func (c *request) show(name string) (shown string, inside bool) {
	rel, err := filepath.Rel(c.Dir, name)
	if err != nil || !filepath.IsLocal(rel) {
		return filepath.ToSlash(name), false
	}
	return filepath.ToSlash(rel), true
}

// line is a line of a file of the workspace, from zero on; "" where it cannot be read.
func (c *request) line(shown string, number int) string {
	lines, ok := c.lines[shown]
	if !ok {
		if f, err := c.read(shown); err == nil {
			lines = strings.Split(f.text, "\n")
		}
		c.lines[shown] = lines
	}
	if number < 0 || number >= len(lines) {
		return ""
	}
	return strings.TrimSuffix(lines[number], "\r")
}
