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
	"maps"
	"slices"

	"callgate/internal/gate/policy"
)

// Filename is what an app file is called in its folder.
const Filename = "callgate.yaml"

// App is a compiled app file. It is not changed after it is made.
type App struct {
	Path string // of the file
	Identity
	Modules    []Module // the modules that are on, in the file's order
	Dirs       []string // folders of executable tools; Load makes them absolute
	Strict     bool     // one bad manifest in them fails the start
	Relaxed    bool     // processes run even where not every wall can be put up
	Rules      *policy.Rules
	Servers    []Server // the MCP servers behind this app, in the file's order
	Pinning    bool     // nothing of a server is shown before a human accepted it
	Surface    Surface
	Search     Search
	Agents     []Agent
	Runtime    Runtime
	Skills     []Skill
	Middleware []Middleware // around what is said
	Warnings   []string     // what is allowed yet probably not meant
}

// Identity is what an app is called.
type Identity struct {
	ID          string // a slug; the folder's name unless the file says otherwise
	Name        string // for people; the ID unless the file says otherwise
	Version     string
	Description string
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
