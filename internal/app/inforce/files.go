package inforce

import (
	"os"
	"path/filepath"

	"callgate/internal/app"
)

// Files are the app files that are in force in a folder, and how they were found.
type Files struct {
	Project string    // "": there is none
	User    string    // the user's own; "": there is none
	Place   string    // where the user's own is, or would be; "": nowhere
	Named   bool      // the project's was named, not searched
	Trail   app.Trail // how it was searched
	IsUser  bool      // the file that was named or found is the user's own
}

// Find finds the app files of a folder: the one that is named, or else the one that is
// searched; and the user's own at its place. A user's own file that is there and cannot
// be read is found too: its reading says why, because nothing may run without the rules
// in it.
func Find(folder, named, place string) (f Files, err error) {
	f.Project, f.Named, f.Place = named, named != "", place
	if named == "" {
		if f.Trail, err = app.Trace(folder); err != nil {
			return f, err
		}
		f.Project = f.Trail.File
	}
	if place == "" {
		return f, nil
	}
	if _, err := os.Lstat(place); !os.IsNotExist(err) {
		f.User = place
	}
	if f.User != "" && f.Project != "" && Same(f.Project, f.User) {
		f.Project, f.IsUser = "", true
	}
	return f, nil
}

// None reports whether no app file is in force.
func (f Files) None() bool { return f.Project == "" && f.User == "" }

// Names returns the files as people in a folder write them, the project's first.
func (f Files) Names(folder string) []string {
	var all []string
	if f.Project != "" {
		name := Short(f.Project)
		if filepath.Dir(f.Project) == folder {
			name = "." + string(filepath.Separator) + filepath.Base(f.Project)
		}
		all = append(all, name)
	}
	if f.User != "" {
		all = append(all, Short(f.User))
	}
	return all
}
