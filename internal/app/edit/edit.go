// Package edit changes the MCP servers in an app file's text, or keys that are named
// ([Set]), and nothing else in it.
//
// The file belongs to its user: comments, blank lines, order, quotes,
// indentation and line ends stay byte for byte, because the text is spliced
// and never rendered anew. A comment goes only with the server, or the key of a
// server, that it stands inside. What cannot be changed in that way is refused,
// with what to write by hand.
//
// Every edit is verified. The new text is read as the kernel will read it, and
// must hold exactly the server that was asked for and otherwise the app that
// was there before; if it does not, the edit fails and its text is dropped.
//
// The texts of a server are written as they are given, so a variable such as
// {{env.HOME}} or {{secret.token}} stays a variable in the file. A file whose
// variables are not set here can be edited too; but a file that can be read here
// never gets a server that would make it unreadable.
package edit

import (
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/tool"
)

// path leads to the servers.
var path = [...]string{"tools", "modules", mcp, "config", "servers"}

const (
	mcp          = "mcp" // the module of the servers
	modulesDepth = 1     // of modules in the path
	mcpDepth     = 2     // of mcp, the first level that goes when it holds no server
)

const where = "tools.modules.mcp.config.servers"

// AddServer writes a server below the others, and the levels around it where
// they are absent. It is a Conflict when there is one of that name.
//
// An app file without tools.modules has every builtin module on, and one with
// it has those that it lists. So where modules is absent, the builtin ones are
// listed beside the servers, and all stay on.
func AddServer(text []byte, s app.Server, builtin []string) ([]byte, error) {
	const op = "edit.AddServer"
	e, err := read(op, text, builtin)
	if err != nil {
		return nil, err
	}
	want := fields(s)
	if err := alone(op, s.Name, want); err != nil {
		return nil, err
	}
	if slices.Contains(e.names(), s.Name) {
		return nil, tool.Errorf(op, tool.Conflict, "there is a server %s in the file already", s.Name).
			WithHint("replace it, remove it first, or choose another name")
	}
	for _, other := range e.before.Servers {
		if app.ServerModule(other.Name) == app.ServerModule(s.Name) {
			return nil, tool.Errorf(op, tool.Conflict, "the tools of the servers %s and %s would both be the module %s",
				other.Name, s.Name, app.ServerModule(s.Name)).WithHint("choose another name")
		}
	}
	return e.make(s.Name, want, func(want []field) ([]splice, error) { return e.add(s.Name, want) })
}

// ReplaceServer makes the server of that name the one that is given, enabled.
// Keys whose values stay are not touched, also where a variable stands for the
// value; a value that changes must not have comments inside it.
func ReplaceServer(text []byte, s app.Server) ([]byte, error) {
	const op = "edit.ReplaceServer"
	e, err := read(op, text, nil)
	if err != nil {
		return nil, err
	}
	want := fields(s)
	if err := alone(op, s.Name, want); err != nil {
		return nil, err
	}
	if err := e.has(s.Name); err != nil {
		return nil, err
	}
	if e, err = e.enabled(s.Name); err != nil {
		return nil, err
	}
	return e.make(s.Name, want, func(want []field) ([]splice, error) { return e.replace(s.Name, want) })
}

// RemoveServer takes a server out. When it was the last one, the levels around
// it that are empty then go with it, unless comments stand in them.
func RemoveServer(text []byte, name string) ([]byte, error) {
	const op = "edit.RemoveServer"
	e, err := read(op, text, nil)
	if err != nil {
		return nil, err
	}
	if err := e.has(name); err != nil {
		return nil, err
	}
	module := app.ServerModule(name)
	if slices.ContainsFunc(e.before.Modules, func(m app.Module) bool { return m.Name == module }) {
		return nil, tool.Errorf(op, tool.Conflict, "tools.modules.%s is about the tools of the server %s", module, name).
			WithHint("delete tools.modules.%s first", module)
	}
	for _, p := range e.before.Profiles {
		if _, gives := p.Only()[module]; gives {
			return nil, tool.Errorf(op, tool.Conflict, "the profile %s gives tools of the server %s", p.Name, name).
				WithHint("take it out of profiles.%s first", p.Name)
		}
	}
	return e.make(name, nil, func([]field) ([]splice, error) { return e.remove(name) })
}

// has reports NotFound when a server is not in the file.
func (e *editor) has(name string) error {
	names := e.names()
	if slices.Contains(names, name) {
		return nil
	}
	err := tool.Errorf(e.op, tool.NotFound, "there is no server %q in the file", tool.TruncateTo(name, 60))
	err.Similar = names
	if len(names) == 0 {
		return err.WithHint("the file has no servers at %s", where)
	}
	return err.WithHint("the servers are %s", strings.Join(names, ", "))
}

// manualEditError refuses an edit of a text that is written in an unusual way.
// It says what to write below the deepest level that exists.
func (e *editor) manualEditError(name string, want []field, why string) error {
	err := tool.Errorf(e.op, tool.Invalid, "the file cannot be changed without losing something: %s", why)
	if want == nil {
		return err.WithHint("delete %s.%s by hand", where, name)
	}
	depth, node := 0, e.doc.root
	for depth < len(path) {
		if node = under(node, path[depth]); node == nil {
			break
		}
		depth++
	}
	text := pairs(e.missing(depth, name, want))
	if depth == 0 {
		return err.WithHint("write it by hand: %s", text)
	}
	return err.WithHint("write it by hand below %s: %s", strings.Join(path[:depth], "."), text)
}
