// Package app reads an app file, callgate.yaml, and compiles it: which modules
// are on, how they are set up, and what models may do with them.
//
// The file is judged strictly. A key that is misspelt, a key whose feature is
// not built yet, a value of the wrong kind: each is an error with its line, a
// caret and the way out, because a rule that is silently ignored is worse than
// none. All mistakes are told at once. A file may come from a stranger's
// repository, so its size, depth and empty space are bounded before it is
// parsed, and anchors, aliases and tags are refused.
//
// What modules and actions exist is the caller's to say, through [Known].
package app

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"callgate/internal/gate/policy"
	"callgate/tool"
)

// Filename is what an app file is called in its folder.
const Filename = "callgate.yaml"

// App is a compiled app file. It is not changed after it is made.
type App struct {
	Path        string // of the file
	ID          string // a slug; the folder's name unless the file says otherwise
	Name        string // for people; the ID unless the file says otherwise
	Version     string
	Description string
	Modules     []Module // the modules that are on, in the file's order
	Dirs        []string // folders of executable tools; Load makes them absolute
	Strict      bool     // one bad manifest in them fails the start
	Relaxed     bool     // processes run even where not every wall can be put up
	Rules       *policy.Rules
	Servers     []Server // the MCP servers behind this app, in the file's order
	Pinning     bool     // nothing of a server is shown before a human accepted it
	Surface     Surface
	Search      Search
	Agents      []Agent
	Runtime     Runtime
	Skills      []Skill
	Middleware  []Middleware // around what is said
	Warnings    []string     // what is allowed yet probably not meant
}

// Module is a module that is on.
type Module struct {
	Name   string
	Config map[string]any // JSON-like values; nil: the module's defaults
	Setup  []Step         // what the kernel calls when a session opens
	// Constraints is what the module itself makes of its constraints; the two
	// that every module has, which name actions, are among the app's rules.
	Constraints map[string]any
	Credential  string       // the secret that its calls are given; "": none
	Middleware  []Middleware // around its calls, the first outermost
}

// Step is one call that sets a module up.
type Step struct {
	Action string
	Params map[string]any
}

// KnownModules is what exists: the builtin modules by name.
type KnownModules map[string]KnownModule

// KnownModule is what an app file may say of a module.
type KnownModule struct {
	Actions []string // empty: any
	// Config and Constraints are the keys that it takes beyond those of every module.
	Config      []Setting
	Constraints []Setting
	Credential  bool // whether it may be given a credential
	// Check judges config and constraints as a whole; may be nil.
	Check func(config, constraints map[string]any) error
	// AlwaysOn marks a module that is part of every app, as the kernel's own
	// tools are: capabilities may name it and tools.modules may not.
	AlwaysOn bool
}

// Setting is a key that a module takes. Beyond the key and Fit it is what an
// editor tells of it.
type Setting struct {
	Key      string
	Validate func(any) error // what is wrong with a value; nil: any will do
	Type     string          // of a value, in JSON Schema; "": any
	Help     string          // what it is for
	Want     string          // what a value must be, in words
	OneOf    []string        // the only values, where there are few
	Min, Max float64         // of a number; equal: unbounded
}

// Load reads the app file at path. Its variables are this process's own.
func Load(path string, known KnownModules) (*App, error) { return LoadWith(path, known, Vars{}) }

// LoadWith reads the app file at path, with what its variables stand for.
func LoadWith(path string, known KnownModules, vars Vars) (*App, error) {
	const op = "app.Load"
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the path " + path + " cannot be made absolute", Err: err}
	}
	data, err := read(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, tool.Errorf(op, tool.NotFound, "there is no app file at %s", path).WithHint("callgate init writes one to start from")
	case err != nil:
		return nil, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the app file " + path + " cannot be read", Err: err}
	}
	a, err := parse(path, filepath.Dir(abs), data, known, vars)
	if err != nil {
		return nil, err
	}
	a.Path = abs
	for i := range a.Dirs {
		resolvePath(abs, &a.Dirs[i])
	}
	resolvePath(abs, &a.Search.Model)
	for i := range a.Servers {
		resolvePath(abs, &a.Servers[i].Dir)
	}
	return a, nil
}

// resolvePath makes a path that is relative to the app file absolute.
func resolvePath(file string, path *string) {
	if *path != "" && !filepath.IsAbs(*path) {
		*path = filepath.Join(filepath.Dir(file), *path)
	}
}

// read returns the file's first bytes, one more than are allowed at most.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path) // before opening, which would wait on a pipe
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

// Parse reads an app file's text. The name is for messages, and its folder
// gives the app an ID when the text does not.
func Parse(name string, data []byte, known KnownModules) (*App, error) {
	return parse(name, filepath.Dir(name), data, known, Vars{})
}

func parse(name, folder string, data []byte, known KnownModules, vars Vars) (*App, error) {
	name = strings.ToValidUTF8(name, "�")
	r := &report{file: name}
	root := r.parse(data)
	if root == nil {
		return nil, r.err()
	}
	d := &decoder{report: r, known: known, app: &App{Path: name}, folder: folder, places: make(map[string]position), vars: vars.withDefaults(folder)}
	d.root(entry{value: root, at: at(root)})
	d.settleAgents()
	d.compile()
	if err := r.merge(d.included).err(); err != nil {
		return nil, err
	}
	d.defaults()
	return d.app, nil
}

// defaults fills in what the file leaves out.
func (d *decoder) defaults() {
	a := d.app
	a.ID = d.id()
	if a.Runtime.Mode == "" {
		a.Runtime.Mode = "conversation"
	}
	if a.Runtime.WorkdirMode == "" {
		a.Runtime.WorkdirMode = "auto"
	}
	if a.Runtime.MaxTurns == 0 {
		a.Runtime.MaxTurns = 50
	}
	if a.Runtime.Timeout == 0 {
		a.Runtime.Timeout = 300 * time.Second
	}
	if a.Name == "" {
		a.Name = a.ID
	}
	if !d.listed {
		for _, name := range d.known.names() {
			a.Modules = append(a.Modules, Module{Name: name})
		}
	}
}

// id is the app's ID: its own, or its folder's name.
func (d *decoder) id() string { return cmp.Or(d.app.ID, slug(filepath.Base(d.folder))) }

// slug makes a name an app's ID: lower-case letters, digits, - and _.
func slug(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= maxID {
			break
		}
	}
	if s := strings.Trim(b.String(), "-_"); s != "" {
		return s
	}
	return "app"
}
