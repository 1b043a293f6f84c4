package importer

import (
	"slices"

	"callgate/internal/importer/configtree"
)

// Placed returns the entry as the client of a source needs it: with the folder
// to work in, where the client starts servers in another one.
func (e Entry) Placed(s Source, home string) Entry {
	var folder []string
	switch s.Client {
	case "cursor", "vscode": // they write the folder that is open in its place
		folder = []string{"-C", "${workspaceFolder}"}
	case "claude-desktop", "windsurf": // they have no word for a folder
		if home != "" {
			folder = []string{"-C", home}
		}
	}
	e.Args = slices.Concat(folder, e.Args)
	if s.Client == "claude-desktop" { // it opens no folder, so it is given no tools for one
		e.Args = append(e.Args, "--builtin", "none")
	}
	return e
}

// callSeconds is how long a client waits for a call that may wait for a human:
// longer than an app waits for that human by default.
const callSeconds = 360

// codexEntry is a server with the times that Codex gives it.
func codexEntry(e Entry) []configtree.Field {
	return append(plainEntry(e), configtree.Field{Name: "tool_timeout_sec", Value: callSeconds})
}

// environment is the variables of an entry, under the name that the client has
// for them; none where there are none.
func (e Entry) environment(name string) []configtree.Field {
	if len(e.Env) == 0 {
		return nil
	}
	var fields []configtree.Field
	for _, v := range e.Env {
		fields = append(fields, configtree.Field{Name: v.Name, Value: v.Value})
	}
	return []configtree.Field{{Name: name, Value: fields}}
}
