package match

import (
	"path/filepath"

	"callgate/internal/gate/shellcmd"
)

// # Folders
//
// A rule that permits commands holds in the workspace, because the same words can be another
// program in another folder. It holds in a folder below too, unless that folder, or one
// between, brings something that the program runs or is told by: a repository of its own for
// git, a module for go, any file that programs run by convention for make, npm and programs
// that are not known. A script that is named by a relative path, and python, hold in the
// workspace alone. Programs that load nothing, such as ls, hold everywhere below. A rule that
// says the folder (cwd) holds there and below in the same way. None holds outside the
// workspace, or where the folder is not known before. To go to a folder of the workspace
// needs no rule.
//
// Rules that forbid hold everywhere.

// disk is what was found on disk for the call.
func (c *Call) disk() *Disk {
	if c.Disk == nil {
		c.Disk = &Disk{}
	}
	return c.Disk
}

// start is the folder that the call's command line starts in.
func (c *Call) start() string {
	dir, _ := c.Args[paramFolder].(string)
	return c.resolve(c.Workspace, dir)
}

// resolve is the one name of a folder or file that is named from another folder.
func (c *Call) resolve(from, name string) string {
	name = filepath.FromSlash(name)
	if !filepath.IsAbs(name) {
		name = filepath.Join(from, name)
	}
	return c.disk().Real(name)
}

// allowed reports whether every command of a line is covered, at least one of them by a
// pattern. A cd inside the workspace, and what only passes on what others print, need none.
func (c *Call) allowed(text string, covers func(*shellcmd.Command) bool) bool {
	covered := false
	ok := c.line(text).Allowed(func(cmd *shellcmd.Command) bool {
		if covers(cmd) {
			covered = true
			return true
		}
		return c.staysInside(cmd) || cmd.Filters()
	})
	return ok && covered
}

// staysInside reports whether a command only goes to a folder of the workspace.
func (c *Call) staysInside(cmd *shellcmd.Command) bool {
	to := cmd.Enters()
	for _, dir := range to {
		if !isWithin(c.Workspace, c.resolve(c.start(), dir)) {
			return false
		}
	}
	return len(to) > 0
}

// holdsFor reports whether the pattern holds for a command in the folders that it may run in.
func (p *Pattern) holdsFor(c *Call, cmd *shellcmd.Command) bool {
	base := c.Workspace
	if p.names(paramFolder) {
		base = c.start()
	}
	if !isWithin(c.Workspace, base) {
		return false
	}
	loads := cmd.Loads()
	for _, place := range cmd.Places() {
		if place == shellcmd.Anywhere || !c.isAlike(base, c.resolve(c.start(), place), loads) {
			return false
		}
	}
	return true
}

// holdsForText reports whether the pattern, if it fixes a whole command line by its text, holds
// in the folder that the line starts in. Where the line goes from there, the text says.
func (p *Pattern) holdsForText(c *Call) bool {
	text, ok := c.Args[paramCommand].(string)
	if !ok || !p.names(paramCommand) || p.names(paramFolder) {
		return true
	}
	loads := shellcmd.LoadsNothing
	for _, cmd := range c.line(text).Each() {
		loads = max(loads, cmd.Loads())
	}
	if c.line(text).Doubt != "" {
		loads = shellcmd.LoadsFolder
	}
	return c.isAlike(c.Workspace, c.start(), loads)
}

// isAlike reports whether what a command loads is the same in two folders.
func (c *Call) isAlike(base, dir string, loads shellcmd.Loads) bool {
	switch {
	case dir == base:
		return true
	case !isWithin(base, dir), loads == shellcmd.LoadsFolder:
		return false
	case loads == shellcmd.LoadsNothing:
		return true
	}
	for ; dir != base; dir = filepath.Dir(dir) {
		f := c.disk().Folder(dir)
		if f.Missing || f.Repository || loads >= shellcmd.LoadsModule && f.Module || loads >= shellcmd.LoadsProject && f.Project {
			return false
		}
	}
	return true
}

// ownFolders are the folders of a line, relative to the workspace, in which its commands load
// something else than in the workspace.
func (c *Call) ownFolders(text string) []string {
	found := map[string]any{}
	for _, cmd := range c.line(text).Each() {
		for _, place := range cmd.Places() {
			if place == shellcmd.Anywhere {
				continue
			}
			dir := c.resolve(c.start(), place)
			if !c.isAlike(c.Workspace, dir, min(cmd.Loads(), shellcmd.LoadsProject)) {
				found[c.relative(dir)] = nil
			}
		}
	}
	return sortedKeys(found)
}

func (c *Call) relative(path string) string {
	if rel, err := filepath.Rel(c.Workspace, path); err == nil {
		path = rel
	}
	return filepath.ToSlash(path)
}
