// Package serverlock says what the calls of an MCP server's tools claim.
//
// Law: every call of a server claims the server's own resource, server:SCOPE/NAME,
// in an intention mode: IX for a tool that changes, IS for one that reads. These
// modes go together, so a slow server never becomes a queue; the claim is on record,
// so that it can be told what happened at the server since. SCOPE tells servers of
// one name apart, and is the same after a restart: "user" for the user's own file,
// else app and the path of the app file. A call whose locks say by arguments what it
// touches claims that thing in the server, server:SCOPE/NAME/file/PATH, in the same
// mode: calls of two things touch nothing in common, and one that may touch anything
// claims the server as a whole and meets both.
//
// Real locks come beside it: from the app file's locks, else from the ready map of a
// well-known server (see [Ready]). A lock only makes calls wait for each other. It
// permits nothing, refuses nothing, and no rule reads it; so it needs no consent. It
// reaches what lies on this machine (file, repo), the connections of the module
// database (db) and the server's own resource (server), and nothing above the
// workspace of its caller: a file cannot make a server stop all others.
package serverlock

import (
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/nearest"
	"callgate/tool"
)

// Lock is a resource that a call locks.
type Lock struct {
	Resource string    // a template such as file:{path}, with arguments of the call in braces
	Mode     tool.Mode // 0: X for a tool that changes, S for one that reads
}

// Line is the locks of the tools of a server that a pattern names; with none, they
// lock nothing.
type Line struct {
	Tools string // a name, or a pattern in which * stands for any text
	Locks []Lock
}

// find returns the line for a tool with these names: the one with its very name, or
// else the first whose pattern fits.
func find(lines []Line, names ...string) (Line, bool) {
	for _, l := range lines {
		if slices.Contains(names, l.Tools) {
			return l, true
		}
	}
	for _, l := range lines {
		if slices.ContainsFunc(names, func(name string) bool { return fits(l.Tools, name) }) {
			return l, true
		}
	}
	return Line{}, false
}

// fits reports whether a name has the form of a pattern.
func fits(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, ok := strings.Cut(name, part)
		if !ok {
			return false
		}
		name = after
	}
	return strings.HasSuffix(name, last)
}

// kinds are the kinds of resources that a line may name.
var kinds = []string{"file", "repo", "db", own}

// own is the server's own resource, and the kind of what lies in it.
const own = "server"

const form = "write file:{path}, with the name of an argument in braces, repo:{repo}, db:{connection_id}, " +
	"or server:{name} for a thing of the server's own"

// Check returns what is wrong with a resource as a file writes it, and what to write
// in its place; empty when nothing is.
func Check(resource string) (wrong, remedy string) {
	kind, rest, named := strings.Cut(resource, ":")
	if resource == own {
		return "", ""
	}
	if !named || strings.ContainsAny(kind, "{}") {
		return "does not say what kind of thing is locked", form
	}
	if !slices.Contains(kinds, kind) {
		if near := nearest.Name(kind, kinds); near != "" {
			return "has a kind that no server can lock", "did you mean " + near + "? " + form
		}
		return "has a kind that no server can lock", "write " + own + ":" + kind + "/… for a thing of the server's own, or " +
			"file:{path}, repo:{repo}, db:{connection_id}"
	}
	params, ok := Params(rest)
	switch {
	case strings.ContainsAny(rest, "<>"):
		return "has its argument in angle brackets", form
	case rest == "" || !ok:
		return "does not name a thing", form
	case kind != "file" && kind != "repo":
		return "", ""
	case len(params) > 0 && (len(params) > 1 || rest != "{"+params[0]+"}"):
		return "is a path with an argument in the middle", "write " + kind + ":{" + params[0] + "}"
	case len(params) == 0 && !filepath.IsLocal(filepath.FromSlash(rest)):
		return "is a path outside the server's folder", "name a path in the folder in which the server runs, such as " +
			kind + ":data"
	}
	return "", ""
}

// Params returns the arguments that a template names. It reports false for braces
// that do not fit.
func Params(template string) (names []string, ok bool) {
	for {
		before, after, open := strings.Cut(template, "{")
		if strings.Contains(before, "}") {
			return nil, false
		}
		if !open {
			return names, true
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed || name == "" || strings.Contains(name, "{") {
			return nil, false
		}
		names, template = append(names, name), rest
	}
}
