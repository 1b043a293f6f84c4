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

	"callgate/internal/agent/surface"
	"callgate/internal/app/hooks"
	"callgate/internal/app/node"
	"callgate/internal/ownership"
	"callgate/tool"
)

// Vars is what the variables of an app file stand for outside it. The zero
// value is this process's environment and the app file's own folder.
type Vars struct {
	Env     func(name string) (string, bool)
	Workdir string
	// ServerDir is where servers work that name no folder. Empty: in that of the app
	// file.
	ServerDir string
	IsUser    bool // the file is the user's own, which turns no module off by not listing it
	// Partial says that not all modules and servers are known yet, so what profiles
	// name is not looked up.
	Partial bool
	// Text is what the file would say; nil: what it says.
	Text []byte
}

func (v Vars) withDefaults(folder string) Vars {
	if v.Env == nil {
		v.Env = os.LookupEnv
	}
	if v.Workdir == "" {
		v.Workdir = folder
	}
	return v
}

// Load reads the app file at path. Its variables are this process's own.
func Load(path string, known KnownModules) (*App, error) { return LoadWith(path, known, Vars{}) }

// LoadWith reads the app file at path, with what its variables stand for.
func LoadWith(path string, known KnownModules, vars Vars) (*App, error) {
	const op = "app.Load"
	fail := func(what string, err error) (*App, error) {
		return nil, &tool.Error{Op: op, Kind: tool.Invalid, Message: what, Err: err}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return fail("the path "+path+" cannot be made absolute", err)
	}
	data := vars.Text
	if data == nil {
		data, err = readFile(abs)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, tool.Errorf(op, tool.NotFound, "there is no app file at %s", path).
			WithHint("callgate init writes one to start from")
	case tool.KindOf(err) == tool.Denied:
		return nil, err
	case err != nil:
		return fail("the app file "+path+" cannot be read", err)
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
		s := &a.Servers[i]
		if s.Command != "" {
			s.Everywhere = s.Dir == "" && vars.ServerDir != ""
			s.Dir = cmp.Or(s.Dir, vars.ServerDir, ".") // never the kernel's own working directory
		}
		resolvePath(abs, &s.Dir)
		for _, list := range [][]string{s.Isolation.Readable, s.Isolation.Writable} {
			for i := range list {
				resolveHome(&list[i])
				resolvePath(abs, &list[i])
				list[i] = filepath.Clean(list[i])
			}
		}
	}
	return a, nil
}

// resolveHome puts the user's home in the place of ~.
func resolveHome(path *string) {
	rest, ok := strings.CutPrefix(*path, "~")
	home, err := os.UserHomeDir()
	if ok && err == nil && (rest == "" || rest[0] == '/') {
		*path = filepath.Join(home, rest)
	}
}

// resolvePath makes a path that is relative to the app file absolute.
func resolvePath(file string, path *string) {
	if *path != "" && !filepath.IsAbs(*path) {
		*path = filepath.Join(filepath.Dir(file), *path)
	}
}

// readFile returns the file's first bytes, one more than are allowed at most. A file
// that somebody else owns or may write is Denied: it says what runs as the user. So
// is one behind somebody else's link.
func readFile(path string) ([]byte, error) {
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
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	w := ownership.WriterOf(info)
	if link, err := os.Lstat(path); w == nil && err == nil {
		w = ownership.OwnerOf(link)
	}
	if w != nil {
		return nil, tool.Errorf("app.Load", tool.Denied, "the app file %s is not read: %s may change it (%s)",
			path, w.Who, w.How).WithHint("%s", w.Hint(path))
	}
	return io.ReadAll(io.LimitReader(f, node.MaxBytes+1))
}

// Parse reads an app file's text. The name is for messages, and its folder
// gives the app an ID when the text does not.
func Parse(name string, data []byte, known KnownModules) (*App, error) {
	return parse(name, filepath.Dir(name), data, known, Vars{})
}

// ParsePart is Parse for a text of which nothing beside it is known: see Vars.Partial.
func ParsePart(name string, data []byte, known KnownModules) (*App, error) {
	return parse(name, filepath.Dir(name), data, known, Vars{Partial: true})
}

func parse(name, folder string, data []byte, known KnownModules, vars Vars) (*App, error) {
	name = strings.ToValidUTF8(name, "�")
	s := newScope(known, folder, vars)
	r, root, ok := node.Open(name, data, node.Keys{Unbuilt: unbuiltKeys, Homes: keyHomes}, s.variables)
	if !ok {
		return nil, node.Err(r.Report)
	}
	f := newFile(r, s, &App{Path: name})
	f.read(root)
	f.link()
	if err := node.Err(append([]*node.Report{r.Report}, f.included...)...); err != nil {
		return nil, withoutValues(err, s)
	}
	f.finish()
	f.app.Files = s.files
	return f.app, nil
}

// withoutValues is an error that tells no values of the environment.
func withoutValues(err error, s *scope) error {
	var e *tool.Error
	if errors.As(err, &e) {
		e.Message = s.variables.Used().Hide(e.Message)
	}
	return err
}

// finish fills in what the file leaves out.
func (f *file) finish() {
	a := f.app
	a.Identity, a.env = f.identity, f.variables.Used()
	for _, text := range f.warnings {
		a.Warnings = append(a.Warnings, a.Hide(text))
	}
	a.IDWritten = a.ID != ""
	a.ID = f.id()
	a.Name = cmp.Or(a.Name, a.ID)
	run := &a.Runtime
	run.Hooks, run.Attachments = hooks.WithMiddleware(f.hooks, a.Middleware), f.takes
	run.Mode = cmp.Or(run.Mode, "conversation")
	run.WorkdirMode = cmp.Or(run.WorkdirMode, "auto")
	run.MaxTurns = cmp.Or(run.MaxTurns, 50)
	run.Timeout = cmp.Or(run.Timeout, time.Hour)
	builtin := surface.Builtin{Choice: surface.BuiltinAll} // what a file names is meant, whoever is the client
	if f.isUser {
		builtin.Choice = surface.BuiltinAuto // it sets modules up, and chooses none
	}
	if f.constraints == nil {
		builtin.Choice = surface.BuiltinAuto
		for _, name := range f.known.names() {
			if name != SpawnModule && !f.known[name].NeedsSettings { // who may start agents is said
				a.Modules = append(a.Modules, Module{Name: name})
			}
		}
	}
	a.Surface.Builtin = a.Surface.Builtin.Or(builtin)
}
