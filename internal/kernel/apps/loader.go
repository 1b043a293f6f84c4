// Package apps loads the app file of a session. Law: an app is read once for a
// session, with the modules of its folders and servers known; what cannot be
// used is a warning, and what nobody accepted is left out.
package apps

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"callgate/internal/agent/filter"
	"callgate/internal/app"
	"callgate/internal/app/fileschema"
	"callgate/internal/app/inforce"
	"callgate/internal/gate"
	"callgate/internal/gate/policy"
	"callgate/internal/kernel/catalogs"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/llmtools"
	"callgate/internal/kernel/modules"
	"callgate/internal/kernel/servers"
	"callgate/internal/kernel/signatures"
	"callgate/internal/kernel/skills"
	"callgate/internal/launch"
	"callgate/internal/ownership"
	"callgate/internal/registry"
	"callgate/internal/sandbox"
	"callgate/internal/source/executable"
	"callgate/internal/source/prompted"
	"callgate/internal/tempdir"
	"callgate/internal/visible"
	"callgate/tool"
)

// Options is what a Loader needs of the kernel.
type Options struct {
	Tools    *registry.Registry
	Modules  *modules.Set
	Servers  *servers.Set
	Consents *consent.Consents
	Hidden   []string         // what no tool may ever see
	Folders  launch.Folders   // where executable tools start
	Helpers  *sandbox.Helpers // start executable tools sooner; may be nil
	Models   ModelChecker
	Skills   *skills.Finder
	LLM      *prompted.Runner // runs LLM-backed tools
	// Signatures are whose signatures count.
	Signatures *signatures.Keys
	Catalogs   *catalogs.Set   // of LLM-backed tools, on servers
	Host       executable.Host // runs tools for executables that ask for them; nil: nobody does
	UserFile   string          // the user's own app file, which need not exist; "": there is none
}

// ModelChecker says what is wrong with the models of an app.
type ModelChecker interface {
	Problems(m *app.Model) []string
}

// Loader loads app files. Make one with New.
type Loader struct {
	opt Options

	mu      sync.Mutex
	folders map[string]*executable.Layers // by scope
	llm     map[string]string             // the digests of the LLM-backed tools, by scope
	listed  map[string]*listedApp         // the apps that name catalogs of tools, by scope
	current map[string]registered         // what was registered last, by scope
	places  map[string]*Loaded            // where apps were loaded, by workspace and named file
	// readings are what files said that were changed after sessions had read them, by the same.
	readings map[string]*reading
}

// New makes a loader.
func New(o Options) *Loader {
	l := &Loader{
		opt: o, folders: map[string]*executable.Layers{}, llm: map[string]string{}, listed: map[string]*listedApp{},
		current: map[string]registered{}, places: map[string]*Loaded{}, readings: map[string]*reading{},
	}
	o.Catalogs.Notify(l.relist)
	return l
}

// Loaded is an app as one session has it.
type Loaded struct {
	App       *app.App // nil without an app file
	Workspace string   // canonical absolute folder
	Scope     string   // whose tools override the global ones
	Off       map[string]bool
	Modules   gate.Modules
	Rules     *policy.Rules    // the app's, as far as a human accepted them
	Skills    []skills.Skill   // those that a human accepted
	Called    []Called         // apps that agents may call
	Features  []string         // of the kernel, that the app turns on and a human accepted
	Accepted  consent.Accepted // what a human accepted of the app
	Pending   []string         // what a human has not accepted yet
	Warnings  []string         // rules that name nothing, tools that could not be loaded
	Files     inforce.Files

	consents *consent.Consents
	seen     *sight // how the files looked before they were read

	id string // the app's ID, or one of its own where another app has that
}

// AppID names the app: a folder without an app file is an app of its own.
func (l *Loaded) AppID() string { return l.id }

// AppFile is the project's app file; empty for none.
func (l *Loaded) AppFile() string {
	if l.App == nil {
		return ""
	}
	return l.App.Path
}

// Load reads the app files of a workspace: the one that is named, or else the one
// that is in force there, its own or that of a parent; and the user's own.
func (l *Loader) Load(ctx context.Context, workspace, file string) (*Loaded, error) {
	workspace, err := canonical(workspace)
	if err != nil {
		return nil, err
	}
	loaded := &Loaded{Workspace: workspace}
	if loaded.Files, err = inforce.Find(workspace, file, l.opt.UserFile); err != nil {
		return nil, err
	}
	keepPlace(loaded.Files, workspace)
	know(l, loaded)
	loaded.seen = sightOf(loaded.Files)
	a, f, err := l.read(ctx, workspace, loaded.Files)
	if err != nil {
		return loaded, err
	}
	loaded.seen.beside(a)
	loaded.App, loaded.Off = a, turnedOff(a)
	loaded.identify(l.opt.Consents)
	if a == nil {
		loaded.addSkills(l.opt.Skills)
		return loaded, nil
	}
	loaded.floor(l.opt.Consents)
	if err := l.addCalled(ctx, loaded); err != nil {
		return loaded, err
	}
	loaded.addSkills(l.opt.Skills)
	loaded.warn(a.Warnings...)
	l.readModules(loaded)
	if hasTools(a) {
		loaded.Scope = scopeOf(loaded.Files, workspace)
	}
	loaded.warn(problems(f)...)
	loaded.warn(l.opt.Servers.In(loaded.Scope).Warnings()...)
	loaded.warn(l.modelProblems(a, loaded.Files)...)
	loaded.warn(channelProblems(a)...)
	if err := warnOfTakenNames(l, ctx, loaded); err != nil {
		return loaded, err
	}
	if len(loaded.Pending) > 0 {
		loaded.warn("this app file needs your consent (callgate app trust), and until then does not: " +
			visible.Text(shortened(loaded.Pending)))
	}
	return loaded, nil
}

// warn adds warnings, each once, without values of the environment.
func (l *Loaded) warn(texts ...string) {
	for _, text := range texts {
		if text = l.App.Hide(text); !slices.Contains(l.Warnings, text) {
			l.Warnings = append(l.Warnings, text)
		}
	}
}

// canonical gives a folder its one name.
func canonical(path string) (string, error) {
	const op = "apps.Load"
	if path == "" {
		return "", tool.Errorf(op, tool.Invalid, "a session needs a workspace folder")
	}
	full, err := filepath.Abs(path)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return "", tool.Errorf(op, tool.Invalid, "the workspace %s cannot be opened: %w", tool.Truncate(path), err)
	}
	return full, nil
}

// read reads the app files in force, and makes their folders and servers known first
// when they have some: their modules are part of what the files may name.
func (l *Loader) read(
	ctx context.Context, workspace string, files inforce.Files,
) (*app.App, *executable.Layers, error) {
	if files.None() {
		return nil, nil, nil
	}
	known, err := l.known(ctx, registry.Global)
	if err != nil {
		return nil, nil, err
	}
	a, err := l.loadSigned(ctx, files, workspace, known, true)
	if err != nil {
		return nil, nil, err
	}
	scope := scopeOf(files, workspace)
	if !hasTools(a) && !l.opt.Servers.In(scope).Any() {
		forget(l, scope)
		if len(a.Profiles) > 0 { // nothing more will be known
			if a, err = l.loadSigned(ctx, files, workspace, known, false); err != nil {
				return nil, nil, err
			}
		}
		return a, nil, l.learn(ctx, a, registry.Global)
	}
	f, err := l.register(ctx, a, files, scope)
	if err != nil {
		return nil, nil, err
	}
	if known, err = l.known(ctx, scope); err != nil {
		return nil, nil, err
	}
	if bad := problems(f); a.Runtime.Strict && len(bad) > 0 {
		return nil, nil, tool.Errorf("apps.Load", tool.Invalid, "%s: runtime.strict: invalid tool: %s", a.Path, bad[0])
	}
	addModules(known, a)
	if a, err = l.loadSigned(ctx, files, workspace, known, false); err != nil {
		return nil, nil, err
	}
	return a, f, l.learn(ctx, a, scope)
}

// learn adds to an app what only the tools of its scope tell: its programs, and what
// its rules grant over the default policy.
func (l *Loader) learn(ctx context.Context, a *app.App, scope string) error {
	snap, err := l.opt.Tools.Snapshot(ctx)
	if err != nil {
		return err
	}
	known := slices.Collect(snap.View(scope).All())
	project := a.OfProject()
	if project == nil {
		return nil
	}
	for _, t := range known {
		if text := given(t, project.Path); text != "" {
			project.Programs = append(project.Programs, app.Program{Tool: t.ID.Dotted(), Text: text})
		}
	}
	slices.SortFunc(project.Programs, func(a, b app.Program) int { return strings.Compare(a.Text, b.Text) })
	project.Wider = project.Rules.Wider(known)
	a.Programs, a.Wider = project.Programs, project.Wider
	return nil
}

// known is what an app file may name: the shipped modules, which it turns on
// and off, and all others, which are always on.
func (l *Loader) known(ctx context.Context, scope string) (app.KnownModules, error) {
	snap, err := l.opt.Tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	known := app.KnownModules{}
	for t := range snap.View(scope).All() {
		m, ok := known[t.ID.Namespace]
		if !ok {
			m = l.opt.Modules.Known(t.ID.Namespace)
		}
		m.Actions = append(m.Actions, t.ID.Name)
		known[t.ID.Namespace] = m
	}
	return known, nil
}

// Schema is the JSON Schema of app files, for editors, with the modules that
// this kernel has.
func (l *Loader) Schema(ctx context.Context) ([]byte, error) {
	known, err := l.known(ctx, registry.Global)
	if err != nil {
		return nil, err
	}
	return fileschema.JSONSchema(known), nil
}

// readModules reads what the app says of each module. Where that cannot be used
// (a secret has no value), the module's calls say why, and so do the session's
// warnings; the rest of the app works.
func (l *Loader) readModules(loaded *Loaded) {
	m := gate.Modules{
		Settings: map[string]any{}, Credentials: map[string]string{}, Middleware: map[string]gate.Middleware{},
	}
	for _, from := range loaded.App.Modules {
		m.Credentials[from.Name] = from.Credential
		m.Middleware[from.Name] = middleware(from)
		settings, err := l.opt.Modules.Settings(from)
		if needed := loaded.Accepted.Check("apps.Load", consent.Module(loaded.App, from)); needed != nil {
			err = needed
		}
		if err != nil {
			loaded.warn(err.Error())
			m.Settings[from.Name] = err
		} else if settings != nil {
			m.Settings[from.Name] = settings
		}
	}
	m.Of = llmtools.Settings(l.nowListed(loaded.App, scopeOf(loaded.Files, loaded.Workspace)))
	m.Withheld = loaded.withheld
	m.Mask = mask(loaded.App.Middleware)
	loaded.Modules = m
}

// mask takes out of a text what the app's mask_secrets finds; nil without one.
// The patterns were checked when the file was read.
func mask(all []app.Middleware) func(string) string {
	var rules []filter.Rule
	for _, m := range all {
		if m.Kind == "mask_secrets" {
			rules = append(rules, filter.Rule{Secrets: true, Mask: m.Patterns, Output: true})
		}
	}
	f, err := filter.New(rules)
	if err != nil {
		return func(string) string { return "[masked: " + err.Error() + "]" }
	}
	if f == nil {
		return nil
	}
	return func(text string) string {
		text, _ = f.Output(text) // rules that only mask refuse nothing
		return text
	}
}

// Workdir decides in which folder a conversation works, as its app wants it: in
// the one that the user named, in the app's own, in a fixed one, or in none,
// which is an empty one. named says that the user named the workspace. It
// returns the app file too, which stays the same in another folder.
func (l *Loader) Workdir(ctx context.Context, workspace, file string, named bool) (string, string, error) {
	const op = "apps.Workdir"
	full, err := canonical(workspace)
	if err != nil {
		return "", "", err
	}
	files, err := inforce.Find(full, file, l.opt.UserFile)
	if err != nil {
		return "", "", err
	}
	a, _, err := l.read(ctx, full, files)
	if err != nil || a == nil {
		return workspace, file, err
	}
	switch a.Runtime.WorkdirMode {
	case "required":
		if !named {
			return "", "", tool.Errorf(op, tool.Invalid, "the app %s needs to be told in which folder it works", a.ID).
				WithHint("name it: callgate -C DIR run …")
		}
	case "fixed":
		if err := l.opt.Consents.Of(a).Check(op, consent.Workdir(a)); err != nil {
			return "", "", err
		}
		workspace = consent.FixedFolder(a)
	case "none":
		if workspace, err = emptyFolder(a); err != nil {
			return "", "", err
		}
	}
	return workspace, a.Path, nil
}

// emptyFolder makes the folder of an app that works in none: one for each app, in
// the user's cache, or where a home cannot be written in the temporary folder.
func emptyFolder(a *app.App) (string, error) {
	sum := sha256.Sum256([]byte(a.Path))
	name := filepath.Join("empty", hex.EncodeToString(sum[:6]))
	if cache, err := os.UserCacheDir(); err == nil {
		if folder := filepath.Join(cache, "callgate", name); os.MkdirAll(folder, 0o700) == nil {
			return folder, nil
		}
	}
	own := filepath.Join(tempdir.System(), "callgate-"+strconv.Itoa(os.Getuid()))
	err := os.MkdirAll(own, 0o700)
	if err == nil {
		err = ownership.Folder(own, 0o077) // another user may have made it first
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(own, name), 0o700)
	}
	if err != nil {
		return "", tool.Errorf("apps.Workdir", tool.Unavailable, "an empty folder cannot be made: %w", err).
			WithHint("let XDG_CACHE_HOME name a folder that you may write")
	}
	return filepath.Join(own, name), nil
}
