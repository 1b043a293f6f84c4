package shellcmd

import (
	"path"
	"slices"
	"strings"
)

// # Folders
//
// Each command knows the folders that it may run in, because a line can go elsewhere before
// it. The walk keeps two sets of folders after each statement: those after it succeeded, and
// those after it failed. In "cd a && b" the command b runs in a; in "cd a; b" it runs in a
// or, if a is not there, in the folder before. What a subshell, a pipe or a substitution
// does to its folder ends with it. Behind a loop that changes its folder, and behind
// whatever else is not followed, the folder is Anywhere.

// Anywhere is a folder that is not known before the line runs.
const Anywhere = "\x00"

// maxPlaces bounds the folders that are followed.
const maxPlaces = 8

// start are the places of a line that has not gone anywhere.
var start = []string{"."}

// Places are the folders that the command may run in: relative to that of the line, or
// absolute, or Anywhere.
func (c *Command) Places() []string {
	if c.at == nil {
		return start
	}
	return c.at
}

// Stays reports whether the command runs in the folder of the line for certain.
func (c *Command) Stays() bool { return slices.Equal(c.Places(), start) }

// Enters returns the folders that the command changes to, if it is a plain cd to a folder
// that is known, and else nil.
func (c *Command) Enters() []string {
	if c.writes() || len(c.Assigns) > 0 || len(c.Words) == 0 || !c.Words[0].Static || c.Words[0].Text != "cd" {
		return nil
	}
	to := c.enter()
	if slices.Contains(to, Anywhere) {
		return nil
	}
	return to
}

// enter is where cd leads.
func (c *Command) enter() []string {
	rest := c.Words[1:]
	for len(rest) > 0 && rest[0].Static && (rest[0].Text == "--" || rest[0].Text == "-L") {
		rest = rest[1:]
	}
	if len(rest) != 1 || !rest[0].Static || rest[0].Text == "" || strings.HasPrefix(rest[0].Text, "-") {
		return []string{Anywhere}
	}
	var to []string
	for _, at := range c.Places() {
		switch {
		case path.IsAbs(rest[0].Text):
			at = path.Clean(rest[0].Text)
		case at != Anywhere:
			at = path.Join(at, rest[0].Text)
		}
		to = places(to, []string{at})
	}
	return to
}

// places joins sets of folders.
func places(sets ...[]string) []string {
	var all []string
	for _, set := range sets {
		for _, at := range set {
			if at == Anywhere {
				return []string{Anywhere}
			}
			if !slices.Contains(all, at) {
				all = append(all, at)
			}
		}
	}
	if len(all) > maxPlaces {
		return []string{Anywhere}
	}
	return all
}

// folders are where the walk is, and where it is after a statement.
type folders struct{ at, ok, failed []string }

func (w *walker) here() []string {
	if w.at == nil {
		w.at = start
	}
	return w.at
}

// stays notes that a statement leaves the shell where it was.
func (w *walker) stays(at []string) { w.folders = folders{at, at, at} }

// apart walks what another process does, so that the folder stays.
func (w *walker) apart(walk func()) {
	before := w.folders
	before.at = w.here()
	walk()
	w.folders = before
}

// repeated walks what may run several times. If that changes the folder, none is known.
func (w *walker) repeated(walk func()) {
	before, from := w.here(), len(w.line.Commands)
	walk()
	if slices.Equal(places(w.at, w.ok, w.failed), before) {
		w.stays(before)
		return
	}
	lose(w.line.Commands[from:])
	w.stays([]string{Anywhere})
}

// lose notes that it is not known where commands run.
func lose(list []*Command) {
	for _, c := range list {
		c.at = []string{Anywhere}
		lose(c.Inner)
	}
}

// moved notes where the shell is after a simple command.
func (w *walker) moved(c *Command) {
	at := w.here()
	w.stays(at)
	if len(c.Words) == 0 {
		return
	}
	switch name := c.Words[0].Text; {
	case !c.Words[0].Static:
	case name == "cd":
		w.ok = c.enter()
	case name == "pushd", name == "popd", name == "source", name == ".",
		slices.Contains([]string{"eval", "command", "builtin"}, name) && slices.ContainsFunc(c.Inner, (*Command).changesFolder),
		name == "eval" && c.Opaque != "":
		w.stays([]string{Anywhere})
	}
}

// Loads says what a command finds in its folder and runs, or is told by: the same words can
// be another program in another folder.
type Loads int

// What commands load, from the least to the most.
const (
	LoadsNothing    Loads = iota // ls, cat
	LoadsRepository              // git: the settings and hooks of the repository
	LoadsModule                  // go: the module and its repository
	LoadsProject                 // make, npm, and programs that are not known: files by convention
	LoadsFolder                  // ./run.sh, python -m: any file
)

// Loads says what the command, and those that it runs, load.
func (c *Command) Loads() Loads {
	most := LoadsNothing
	for _, in := range c.Inner {
		most = max(most, in.Loads())
	}
	if len(c.Words) == 0 || c.Wrapper && c.Opaque == "" {
		return most
	}
	return max(most, c.loads())
}

func (c *Command) loads() Loads {
	name := path.Base(c.Words[0].Text)
	switch {
	case c.IsRelative():
		return LoadsFolder
	case strings.HasPrefix(name, "python") || strings.HasPrefix(name, "pypy"):
		return LoadsFolder // its first place for modules is the folder, unless it runs a file
	case name == "git":
		return LoadsRepository
	case name == "go":
		return LoadsModule
	case strings.HasSuffix(name, "awk"), strings.HasSuffix(name, "sed"), isPlain(name):
		return LoadsNothing
	}
	return LoadsProject
}
