package autorun

import (
	"os"
	"slices"
	"strings"
)

// Folder is what programs find in a folder that they start in.
type Folder struct {
	Missing    bool // it is not there, or cannot be read
	Repository bool // Git takes it for a repository of its own
	Module     bool // go takes it for a module or a workspace of its own
	Project    bool // some program loads or runs a file of it by convention
}

// harmless are files of this kind that name other files or bytes, and run nothing.
var harmless = named(".gitignore .gitattributes .gitkeep .keep .dockerignore .npmignore .*ignore .ds_store .editorconfig")

// Look looks into a folder.
func Look(dir string) Folder {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Folder{Missing: true}
	}
	f := Folder{}
	var all []string
	for _, e := range entries {
		name := strings.ToLower(e.Name())
		all = append(all, name)
		switch {
		case name == ".git":
			f.Repository = true
		case name == "go.mod", name == "go.work":
			f.Module = true
		}
		if why := Reason(name); why != "" && why != instructions && !harmless.matches(name) {
			f.Project = true
		}
	}
	// A bare repository is told by these three.
	bare := !slices.ContainsFunc([]string{"head", "objects", "refs"}, func(name string) bool {
		return !slices.Contains(all, name)
	})
	f.Repository = f.Repository || bare
	return f
}
