package machine

import (
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/app/inforce"
	"callgate/internal/cli/doctor"
	"callgate/internal/ownership"
)

// appFiles says which app files are in force in the workspace, and which of them is
// refused because somebody else may change it.
func (d *diagnose) appFiles() []doctor.Check {
	c := doctor.Check{Group: doctor.GroupCallgate, Name: "app", State: doctor.OK}
	folder, err := d.WorkspaceDir()
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	var named string
	if err == nil {
		named, err = d.AppPath()
	}
	var files inforce.Files
	if err == nil {
		files, err = inforce.Find(folder, named, d.UserFile())
	}
	switch {
	case err != nil:
		c.State, c.Found = doctor.Warning, err.Error()
	case files.None():
		c.Found = "no app file here, nor one of your own; callgate init writes one"
	default:
		c.Found = strings.Join(files.Names(folder), ", ") + "; callgate app where says what they bring"
	}
	for _, path := range []string{files.Project, files.User} {
		if info, err := os.Stat(path); path != "" && err == nil {
			if w := ownership.WriterOf(info); w != nil {
				c.State, c.Found = doctor.Broken, path+" is not read: "+w.Who+" may change it ("+w.How+")"
				c.Fix = w.Hint(path)
			}
		}
	}
	return []doctor.Check{c}
}
