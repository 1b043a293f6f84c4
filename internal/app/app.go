// Package app reads an app file, callgate.yaml, and compiles it: which modules
// are on, how they are set up, and what models may do with them.
//
// The file is checked strictly. A key that is misspelt, a key whose feature is
// not built yet, a value of the wrong kind: each is an error with its line, a
// caret and the way out, because a rule that is silently ignored is worse than
// no rule. All mistakes are reported at once.
//
// The package reads the file block by block; package node reads the values of a
// block. What one block says of another is looked up when the whole file is
// read. The caller says which modules and actions exist: [KnownModules].
package app

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"callgate/internal/app/apis"
	"callgate/internal/app/identity"
	"callgate/internal/app/llmtools"
	"callgate/internal/app/middleware"
	"callgate/internal/app/providers"
	"callgate/internal/app/variable"
	"callgate/internal/gate/policy"
	"callgate/internal/provider/budget"
)

// Filename is what an app file is called in its folder.
const Filename = "callgate.yaml"

// App is a compiled app file. It does not change.
type App struct {
	Path string // of the file
	Identity
	Modules []Module // the modules that are on, in the file's order
	Sources
	Files   []File // what it names and Load read beside it: agents, prompts
	Rules   *policy.Rules
	Servers []Server // the MCP servers behind this app, in the file's order
	Pinning bool     // nothing of a server is shown before a human accepted it
	Surface Surface
	Search  Search
	Agents  []Agent
	Runtime Runtime
	SkillSet
	Profiles   []Profile
	Middleware []Middleware // around the texts of a conversation
	Warnings   []string     // what is allowed and probably a mistake
	// Programs are the executables of Dirs, and Wider is what Rules grant over the
	// default policy. The kernel adds them when it knows all tools.
	Programs []Program
	Wider    []policy.Grant
	// Parts are the files that a combined app comes from: see package inforce. Nil for
	// an app of one file, a project's.
	Parts *Parts

	env variable.Used // what of the environment is in it
}

// Sources are where an app has tools of its own from, and how much it asks of models' providers.
type Sources struct {
	Dirs       []string // folders of executable tools; Load makes them absolute
	SignedDirs bool     // the manifests in them must be signed
	APIs       []API
	LLM        llmtools.Block
	Providers  providers.All
	Budget     budget.Budget // of the file alone: see [App.Parts] for what several say
}

// SkillSet is what an app teaches its agents.
type SkillSet struct {
	Skills     []Skill
	UserSkills bool // its agents may use the user's own skills too
	// Memory is the file that a project keeps for every agent; see the constants below.
	Memory string
}

// The words in the place of a file of project memory.
const (
	MemoryAuto = ""     // .callgate.md, where there is one
	MemoryNone = "none" // none
)

// Parts are what a project's file says and what the user's own says. Either may be
// nil.
type Parts struct{ Project, User *App }

// OfProject returns what the project's file says: of all that is in force, it alone
// needs the user's consent. It is nil where no project has a file.
func (a *App) OfProject() *App {
	if a == nil || a.Parts == nil {
		return a
	}
	return a.Parts.Project
}

// Hide puts the names of variables of the environment in the place of the values
// that the app file made use of. Whatever is made of an app and shown, to a human or
// a model, goes through it.
func (a *App) Hide(text string) string {
	if a.Parts == nil {
		return a.env.Hide(text)
	}
	for _, part := range []*App{a.Parts.Project, a.Parts.User} {
		if part != nil {
			text = part.env.Hide(text)
		}
	}
	return text
}

// Program is an executable tool.
type Program struct {
	Tool string // its dotted name
	Text string // what runs and what it is given, for a human who decides
}

// File is a text that the app file names.
type File struct {
	Path   string
	Digest string // of its content: SHA-256, in hex
}

// Digest names a text by its content.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// RuleFiles returns the files and folders that hold what the app says: the file
// itself, those that it includes, its skills, its folders of tools and the scripts of its
// hooks.
func (a *App) RuleFiles() []string {
	if a == nil {
		return nil
	}
	if a.Parts != nil {
		return append(a.Parts.Project.RuleFiles(), a.Parts.User.RuleFiles()...)
	}
	all := slices.Concat([]string{a.Path}, a.Dirs, a.LLM.Files(), apis.Files(a.APIs))
	for _, f := range a.Files {
		all = append(all, f.Path)
	}
	for _, s := range a.Skills {
		all = append(all, s.Path)
	}
	for _, c := range a.Runtime.Contract.Apps {
		all = append(all, c.File)
	}
	for _, h := range a.Runtime.Hooks {
		if h.File != "" {
			all = append(all, h.File)
		}
		for _, s := range h.Scripts {
			all = append(all, s.Path)
		}
	}
	return all
}

// Identity is what an app is called.
type Identity struct {
	ID          string // a slug; the folder's name unless the file says otherwise
	IDWritten   bool   // the file says otherwise
	IDOwner     string // another app file or folder that has it already; the kernel adds it
	Name        string // for people; the ID unless the file says otherwise
	Version     string
	Description string
	About
}

// About is what a file says of its app for people who choose among apps. Nothing follows
// from it but what they are shown.
type About = identity.About

// QuickPrompt is something to say that people are offered.
type QuickPrompt = identity.QuickPrompt

// Middleware is applied to the calls of a module, or to the texts of a conversation.
type Middleware = middleware.Middleware

// Module is a module that is on.
type Module struct {
	Name   string
	Config map[string]any // JSON-like values; nil: the module's defaults
	Setup  []Step         // what the kernel calls when a session opens
	// Constraints are those that the module itself declares. The two that every
	// module has, which name actions, are part of the app's rules.
	Constraints map[string]any
	Credential  string       // the secret that its calls are given; "": none
	Middleware  []Middleware // around its calls, the first outermost
	Env         []string     // variables of the environment that its block uses
	FromUser    bool         // it is in the user's own file, and needs no consent
	Named       bool         // it is one that is on only where it is named
	Replaces    bool         // it stands in the place of the user's own settings, which keep it from something
}

// Step is one call that sets a module up.
type Step struct {
	Action string
	Params map[string]any
}

// KnownModules are the modules that exist, by name.
type KnownModules map[string]KnownModule

// KnownModule says what an app file may write about a module.
type KnownModule struct {
	Actions    []string // empty: any
	Statements []string // kinds of statements that may stand among blocked actions
	// Config and Constraints are the keys that it takes beyond those of every module.
	Config        []Setting
	Constraints   []Setting
	Credential    bool // whether it may be given a credential
	NeedsSettings bool // it is off until an app file names it
	// Check checks config and constraints as a whole; may be nil.
	Check func(config, constraints map[string]any) error
	// AlwaysOn marks a module that is part of every app, like the kernel's own
	// tools: capabilities may name it and tools.modules may not.
	AlwaysOn bool
}

// Setting is a key that a module takes. Editors show the fields after Validate.
type Setting struct {
	Key      string
	Validate func(any) error // says what is wrong with a value; nil: any value is right
	Type     string          // of a value, in JSON Schema; "": any
	Help     string          // its purpose
	Want     string          // what a value must be, in words
	OneOf    []string        // the only values, if they are few
	Min, Max float64         // of a number; equal: unbounded
}

// Actions lists the actions that an app file may name of a module; empty: any.
// The resources and prompts of an MCP server are read as actions of its module,
// which are no tools of it.
func (k KnownModules) Actions(module string) []string {
	actions := k[module].Actions
	if len(actions) > 0 && strings.HasPrefix(module, mcpModule+"_") {
		return slices.Concat(actions, []string{"resources", "prompts"})
	}
	return actions
}

// names lists the modules that an app file may turn on, in order.
func (k KnownModules) names() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(k)) {
		if !k[name].AlwaysOn {
			names = append(names, name)
		}
	}
	return names
}
