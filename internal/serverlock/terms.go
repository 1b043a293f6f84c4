package serverlock

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/nearest"
	"callgate/tool"
)

// userScope is the scope of the servers in the user's own file.
const userScope = "user"

// Terms are what decides the claims of one server, as one app has it. The zero value
// works for a server of the user's own without locks.
type Terms struct {
	AppFile string // the canonical path of the file that names the server; empty: the user's own
	Name    string // of the server
	Folder  string // where its relative paths begin
	Lines   []Line // what the file says
	Ready   *Map   // nil: the server is not well known
}

// Tool is a tool of the server.
type Tool struct {
	Names   []string        // the server's name for it, and ours
	Input   json.RawMessage // its schema
	Changes bool            // it is taken to change something
	Said    []tool.Effect   // what the file says under tools; it goes before a ready map
}

// Claimed is what the calls of a tool claim.
type Claimed struct {
	Effects []tool.Effect
	Changes bool     // a line has a mode for changes, so the tool is taken to change something
	Notes   []string // what is wrong with the line of the file
}

// Node is the server's own resource.
func (t Terms) Node() string {
	scope := userScope
	if t.AppFile != "" {
		scope = "app/" + strings.TrimPrefix(filepath.ToSlash(t.AppFile), "/")
	}
	return own + ":" + escape(scope) + "/" + escape(t.Name)
}

// escape takes the braces of templates out of a name.
func escape(name string) string {
	return strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(name)
}

// Of returns what the calls of a tool claim: locks first, then the server itself.
func (t Terms) Of(of Tool) Claimed {
	c := Claimed{Effects: slices.Clone(of.Said), Changes: of.Changes}
	var locks []Lock
	line, said := find(t.Lines, of.Names...)
	switch {
	case said:
		locks = t.addLine(&c, of, line)
	case t.Ready != nil && len(of.Said) == 0:
		locks = t.addReady(&c, of)
	}
	mode := tool.IS
	if c.Changes {
		mode = tool.IX
	}
	c.Effects = append(c.Effects, t.serverClaims(locks, of, mode)...)
	return c
}

// addLine adds what a line of the file says. A lock whose argument the tool does not
// have would never be held, so it is left out and told. It returns the locks of a line
// that is held whole.
func (t Terms) addLine(c *Claimed, of Tool, line Line) []Lock {
	var known []string
	held := line.Locks
	if len(line.Locks) > 0 {
		known = parameters(of.Input)
	}
	for _, l := range line.Locks {
		names, _ := Params(l.Resource)
		if i := slices.IndexFunc(names, func(name string) bool { return !slices.Contains(known, name) }); i >= 0 {
			if !strings.Contains(line.Tools, "*") || len(known) > 0 && nearest.Name(names[i], known) != "" {
				c.Notes = append(c.Notes, missing(l, names[i], known))
			}
			held = nil
			continue
		}
		c.Changes = c.Changes || l.Mode.Writes()
		c.Effects = t.add(c.Effects, l.Resource, chosen(l.Mode, c.Changes), t.Folder)
	}
	return held
}

// missing says that a tool does not have the argument of its lock.
func missing(l Lock, name string, known []string) string {
	text := fmt.Sprintf("its lock %s is not held: it has no argument %s", l.Resource, tool.Truncate(name))
	if near := nearest.Name(name, known); near != "" {
		return text + "; did you mean {" + tool.Truncate(near) + "}?"
	}
	return text
}

// addReady adds what a ready map says, if the tool is the one that the map knows. Its
// modes give way to what the tool is taken for: a map makes no tool a change. It
// returns the locks that it added.
func (t Terms) addReady(c *Claimed, of Tool) []Lock {
	locks := t.Ready.locks[of.Names[0]]
	if len(locks) == 0 {
		return nil
	}
	known := parameters(of.Input)
	for _, l := range locks {
		names, _ := Params(l.Resource)
		for _, name := range names {
			if !slices.Contains(known, name) {
				return nil
			}
		}
	}
	for _, l := range locks {
		mode := chosen(l.Mode, c.Changes)
		if mode.Writes() && !c.Changes {
			mode = tool.S
		}
		for _, folder := range t.Ready.folders(t.Folder) {
			if next := t.add(nil, l.Resource, mode, folder)[0]; !slices.ContainsFunc(c.Effects, same(next)) {
				c.Effects = append(c.Effects, next)
			}
		}
	}
	return locks
}

func same(e tool.Effect) func(tool.Effect) bool {
	return func(o tool.Effect) bool { return o.Resource == e.Resource && o.Mode == e.Mode && o.Folder == e.Folder }
}

// add adds one effect.
func (t Terms) add(list []tool.Effect, resource string, mode tool.Mode, folder string) []tool.Effect {
	e := tool.Effect{Resource: resource, Mode: mode}
	switch kind, rest, _ := strings.Cut(resource, ":"); kind {
	case "file", "repo":
		if e.Folder = folder; folder == "" {
			e.Folder = string(filepath.Separator) // a remote server's: only absolute paths mean something here
		}
	case own:
		e.Resource = strings.TrimSuffix(t.Node()+"/"+rest, "/")
	}
	return append(list, e)
}

// chosen is the mode of a lock. A server does not promise that nobody sees half of a
// change, so that what it changes is locked against readers too.
func chosen(m tool.Mode, changes bool) tool.Mode {
	switch {
	case m != 0:
		return m
	case changes:
		return tool.X
	default:
		return tool.S
	}
}

// parameters returns the names of a tool's arguments.
func parameters(input json.RawMessage) []string {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(input, &schema) != nil {
		return nil
	}
	names := make([]string, 0, len(schema.Properties))
	for name := range schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Unused returns the patterns of lines that name none of the server's tools, whose
// names are given by theirs and ours.
func (t Terms) Unused(tools [][]string) []string {
	var list []string
	for _, l := range t.Lines {
		if l.Tools == "*" {
			continue
		}
		used := slices.ContainsFunc(tools, func(names []string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return fits(l.Tools, name) })
		})
		if !used {
			list = append(list, l.Tools)
		}
	}
	return list
}
