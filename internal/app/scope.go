package app

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/app/attachments"
	"callgate/internal/app/brain"
	"callgate/internal/app/hooks"
	"callgate/internal/app/node"
	"callgate/internal/app/variable"
	"callgate/internal/hook"
)

// scope is what the blocks of one app file share.
type scope struct {
	known     KnownModules
	folder    string   // of the file
	isUser    bool     // see Vars
	partial   bool     // see Vars
	identity  Identity // as far as it has been read
	takes     attachments.Rules
	variables *variable.Set
	links     *linker
	warnings  []string
	files     []File // what was read beside the app file
	hooks     []hook.Hook
}

func newScope(known KnownModules, folder string, vars Vars) *scope {
	s := &scope{known: known, folder: folder, isUser: vars.IsUser, partial: vars.Partial, links: &linker{known: known}}
	vars = vars.withDefaults(folder)
	s.variables = &variable.Set{
		Env: vars.Env, Workdir: vars.Workdir, AppID: &s.identity.ID, AppName: &s.identity.Name, File: s.variableFile,
	}
	return s
}

// id is the app's ID: its own, or its folder's name.
func (s *scope) id() string { return cmp.Or(s.identity.ID, Slug(filepath.Base(s.folder))) }

// models reads models, and notes the keys that are not set.
func (s *scope) models(r *node.Reader) brain.Reader {
	return brain.Reader{
		Reader: r, Variables: s.variables, AppID: s.id(),
		Missing: func(r *node.Reader, e node.Entry, m *Model) {
			s.links.keys = append(s.links.keys, missingKey{r, e, m})
		},
	}
}

// readBeside reads a file that the app file names, and remembers it.
func (s *scope) readBeside(r *node.Reader, e node.Entry, most int64) (text, path string) {
	if text, path = r.File(e, s.folder, most); path != "" {
		s.files = append(s.files, File{path, Digest(text)})
	}
	return text, path
}

// variableFile reads the file that a variable such as {{prompt.main}} names, and remembers
// it: in the folder of its kind, by its name, or by its name with .md.
func (s *scope) variableFile(r *node.Reader, e node.Entry, kind, name string) (string, bool) {
	path := variable.Folders[kind] + "/" + name
	if filepath.Ext(name) == "" {
		path += ".md"
	}
	text, at := r.FileAt(e, s.folder, path, maxPrompt)
	if at == "" {
		return "", false
	}
	if f := (File{at, Digest(text)}); !slices.Contains(s.files, f) {
		s.files = append(s.files, f)
	}
	return strings.TrimSpace(text), true
}

// readHooks reads the hooks of the app, or of one agent.
func (s *scope) readHooks(r *node.Reader, e node.Entry, agent string) {
	s.addHooks(r, e, hooks.Read(r, e, s.hookSource(agent, "")))
}

// hookSource is where hooks are written.
func (s *scope) hookSource(agent, file string) hooks.Source {
	return hooks.Source{Agent: agent, File: file, Folder: s.folder, Workdir: s.variables.Workdir, Names: s.links}
}

// addHooks takes hooks, and reports those whose id is taken.
func (s *scope) addHooks(r *node.Reader, e node.Entry, read []hook.Hook) {
	for _, h := range read {
		if slices.ContainsFunc(s.hooks, func(o hook.Hook) bool { return o.Key() == h.Key() }) {
			r.Fail(e.At, "give one of them another id", "there are two hooks %s", node.Quote(h.ID))
			continue
		}
		s.hooks = append(s.hooks, h)
	}
}

// warn adds a warning, once.
func (s *scope) warn(r *node.Reader, at node.Position, text string) {
	if full := r.Where(at) + ": " + text; !slices.Contains(s.warnings, full) {
		s.warnings = append(s.warnings, full)
	}
}
