package importer

import (
	"errors"
	"fmt"
	"runtime"

	"callgate/internal/importer/backup"
	"callgate/internal/importer/configtree"
	"callgate/internal/importer/jsonc"
	"callgate/internal/importer/toml"
	"callgate/tool"
)

// entryName is what Callgate is called in a client's config.
const entryName = "callgate"

// Entry is how a client starts Callgate.
type Entry struct {
	Command string
	Args    []string
	Env     []Variable // that the client must give it, because clients pass on few
}

// Variable is a variable of the environment.
type Variable struct{ Name, Value string }

// Replace makes a config name Callgate and no other server; servers that were
// turned off go too. It fails when a server of the config cannot be imported,
// because that server would be lost. Package backup writes the change, and can
// undo it.
func Replace(s Source, entry Entry) (backup.Change, error) {
	env := Env{GOOS: runtime.GOOS, Getenv: func(string) string { return "" }, Home: s.Path, Config: s.Path}
	f, problem := open(s, env)
	if problem != nil {
		return backup.Change{}, refuse("the config cannot be changed: %s", problem)
	}
	if err := replaceable(f, env); err != nil {
		return backup.Change{}, err
	}
	var next []byte
	var err error
	if fields := f.client.fields(entry); f.client.toml {
		next, err = toml.Replace(f.text, f.path[0], entryName, fields)
	} else {
		next, err = jsonc.Replace(f.text, f.path, entryName, fields)
	}
	var mistake *configtree.SyntaxError
	switch {
	case errors.As(err, &mistake):
		return backup.Change{}, refuse("the config cannot be changed: %s", f.syntaxProblem(err))
	case err != nil:
		return backup.Change{}, &tool.Error{
			Op: opReplace, Kind: tool.Internal, Message: "the config " + s.Path + " cannot be changed", Err: err,
			Hint: "change it by hand: " + Snippet(s.Client, entry),
		}
	}
	return backup.Change{Path: s.Path, Before: f.text, Next: next}, nil
}

const opReplace = "importer.Replace"

func refuse(format string, args ...any) *tool.Error {
	return tool.Errorf(opReplace, tool.Invalid, format, args...)
}

// replaceable reports why the servers of a config cannot be replaced.
func replaceable(f *file, env Env) error {
	path := f.source.Path
	if f.isRegistry() {
		return refuse("%s describes a server, and is no client's config", path)
	}
	if !f.own {
		return refuse("the servers of %s stand under %q, and %s looks for them under %q",
			path, f.path[0], f.source.Client, f.client.keys[0]).WithHint("rename it, and try again")
	}
	r := &reader{file: f, env: env}
	r.read()
	for _, p := range r.problems {
		if !p.Harmless {
			return refuse("a server would be lost, because it cannot be imported: %s", p).
				WithHint("mend it or take it out of the file, and try again")
		}
	}
	if r.isOff(entryName) {
		return refuse("%s turns off every server that mcp.allowed does not name, or that mcp.excluded does, and %s is one",
			path, entryName).WithHint("write %s there, and try again", entryName)
	}
	return nil
}

// plainEntry is a server as most clients write it.
func plainEntry(e Entry) []configtree.Field {
	fields := []configtree.Field{{Name: "command", Value: e.Command}, {Name: "args", Value: e.Args}}
	return append(fields, e.environment("env")...)
}

// typedEntry is a server that names its transport first.
func typedEntry(kind string) func(Entry) []configtree.Field {
	return func(e Entry) []configtree.Field {
		return append([]configtree.Field{{Name: "type", Value: kind}}, plainEntry(e)...)
	}
}

// commandListEntry is a server whose program and arguments are one list.
func commandListEntry(e Entry) []configtree.Field {
	command := append([]string{e.Command}, e.Args...)
	fields := []configtree.Field{{Name: "type", Value: "local"}, {Name: "command", Value: command}}
	fields = append(fields, e.environment("environment")...)
	return append(fields, configtree.Field{Name: "timeout", Value: callSeconds * 1000})
}

// toolsEntry is a server that says which of its tools are on.
func toolsEntry(e Entry) []configtree.Field {
	return append(typedEntry("local")(e), configtree.Field{Name: "tools", Value: []string{"*"}})
}

// Snippet is the entry that a person pastes into a client's config, and where.
// An unknown client gets the usual form.
func Snippet(name string, entry Entry) string {
	c := clientOf(Source{Client: name})
	var text []byte
	var err error
	if fields := c.fields(entry); c.toml {
		text, err = toml.Replace(nil, c.keys[0], entryName, fields)
	} else {
		text, err = jsonc.Replace(nil, []string{c.keys[0]}, entryName, fields)
	}
	if err != nil {
		text = fmt.Appendf(nil, "%q %q\n", entry.Command, entry.Args) // only for a command that is not UTF-8
	}
	return fmt.Sprintf("In %s:\n\n%s", c.where, text)
}
