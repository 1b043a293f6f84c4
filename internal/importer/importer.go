// Package importer finds the MCP servers in the configs of coding agents, reads
// them as servers of an app file, and can put one Callgate entry in their place.
//
// # Law of reading
//
// A config belongs to another program, and often comes from a stranger. Its size
// and depth are bounded, a mistake is reported with its line, and one bad entry
// does not hide the good ones. Nothing is dropped in silence: what an app file
// cannot hold becomes a note on the server.
//
// Texts are translated for an app file: ${X} becomes {{env.X}}, and a literal {{
// is doubled. A secret that a config holds in plain text is not copied; a
// reference takes its place, and a note says what to set and where the value is.
//
// # Law of replacing
//
// Replace removes only servers that Read can import: while one entry of a file
// cannot be imported, the file stays as it is. All bytes outside the servers
// stay, and so do the comments between them. Every new text is read again and
// compared before it is returned.
package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"callgate/internal/app"
)

// Scopes of a source.
const (
	Project = "project" // for one folder
	User    = "user"    // for everything the user does
)

// Source is a file that names MCP servers.
type Source struct {
	// Client is the program whose file it is, one of [Clients]; or "registry" for
	// a server.json of the MCP registry.
	Client string
	Path   string
	Scope  string // Project or User
	// Folder selects the servers of one folder, if the file holds those of many;
	// else it is empty.
	Folder string
}

// Env is the machine whose files are searched. An empty field is taken from this
// process, except the workspace: without it, no project is searched.
type Env struct {
	Home      string
	Config    string // $XDG_CONFIG_HOME, or where it would be
	Workspace string
	GOOS      string
	Getenv    func(string) string
}

func (e Env) withDefaults() Env {
	if e.Home == "" {
		e.Home, _ = os.UserHomeDir() // without a home there are no files of the user
	}
	if e.GOOS == "" {
		e.GOOS = runtime.GOOS
	}
	if e.Getenv == nil {
		e.Getenv = os.Getenv
	}
	if e.Config == "" {
		e.Config = e.Getenv("XDG_CONFIG_HOME")
	}
	if e.Config == "" && e.Home != "" {
		e.Config = filepath.Join(e.Home, ".config")
	}
	return e
}

// Options says how servers are read.
type Options struct {
	KeepSecrets bool // copy secrets as they are written
	// SecretVars writes a variable of the environment that is named like a secret
	// as {{secret.X}}, which is that variable or a secret of that name. It is
	// looked up when the server is started. {{env.X}} is filled in when the app
	// file is read, and so becomes part of the command line that people are shown
	// and that is kept once they accept it.
	SecretVars bool
}

// FoundServer is a server that a config names.
type FoundServer struct {
	Name     string     // as the config has it; Server.Name is valid in an app file
	Server   app.Server // its texts as an app file writes them
	Disabled bool       // it is turned off in the config
	Notes    []string   // what a person should know, or do
	Source   Source
	Also     []Source // other files that name the same server

	fingerprint [32]byte          // of the whole entry, secrets too; equal servers have equal ones
	hidden      []string          // names of the secrets whose references hold the server's name
	values      map[string]string // of those that stood in the config, by these names
}

// Problem is something in a config that could not be imported.
type Problem struct {
	Path     string
	Line     int // 0: the file as a whole
	Text     string
	Harmless bool // nothing is lost by it
}

// String is the problem with its position, as editors understand it.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Path + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Text)
}
