package match

import (
	"path/filepath"

	"callgate/internal/gate/shellcmd"
	"callgate/internal/secretfile"
)

// Reads returns the files and folders that the call's command line reads, by their canonical
// paths, if it does nothing else: it is of programs that only read, inside the workspace, and
// shows no file that is named like a secret. The paths are the parameter path of the call that
// is returned. Where it shows what is below one, that is what the call names there, or the
// path is one of the call's folders, if that is too much.
func (c *Call) Reads() (read *Call, ok bool) {
	text, isText := c.Args[paramCommand].(string)
	if !isText || c.isInput() || c.hasText() || c.Args["writes"] != nil {
		return nil, false
	}
	all, ok := c.line(text).Reads()
	if !ok || !isWithin(c.Workspace, c.start()) {
		return nil, false
	}
	read = &Call{Module: c.Module, Action: c.Action, Workspace: c.Workspace, Disk: c.disk()}
	for _, r := range all {
		if !c.addRead(read, r) {
			return nil, false
		}
	}
	return read, true
}

func (c *Call) addRead(read *Call, r shellcmd.Reading) bool {
	for _, place := range r.Places {
		dir := c.resolve(c.start(), place)
		if !isWithin(c.Workspace, dir) || r.Repository && !c.disk().PlainRepository(c.Workspace, dir) {
			return false
		}
		names := []string{r.Name}
		if r.Glob {
			var err error
			if names, err = filepath.Glob(filepath.Join(dir, filepath.FromSlash(r.Name))); err != nil || len(names) > maxGlobbed {
				return false
			}
		}
		for _, name := range names {
			path := c.resolve(dir, name)
			if !isWithin(c.Workspace, path) || r.Shown && c.disk().holdsSecret(path, r) || r.Shown && secretfile.Is(name) {
				return false
			}
			below := r.Shown && r.Below
			read.AddPath("path", path, below && !read.addBelow(path, r.Hidden))
		}
	}
	return true
}

// maxGlobbed bounds the files that one pattern may name.
const maxGlobbed = 1000

// holdsSecret reports whether what is shown of a path may be a secret.
func (d *Disk) holdsSecret(path string, r shellcmd.Reading) bool {
	if secretfile.Is(path) {
		return true
	}
	return r.Below && d.HoldsSecrets(path, r.Hidden, r.Follows)
}
