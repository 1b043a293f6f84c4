package mention

import (
	"context"
	"io/fs"
	"os"

	"callgate/internal/module/filesystem/filewalk"
	"callgate/internal/module/workfile"
)

// MaxFiles is how many files of a workspace can be completed.
const MaxFiles = 50_000

// Walk lists the files and folders below a folder, by their paths in it with
// slashes; a folder ends with one. What its ignore files name, and .git, is left out,
// as the tools that search leave it out. Links are listed and not followed. It ends at
// MaxFiles, or with ctx.
func Walk(ctx context.Context, folder string) []string {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil // there is nothing to complete
	}
	defer root.Close()
	var out []string
	_, _ = filewalk.WalkIgnores(ctx, workfile.Workspace{Root: root}, workfile.Path{Name: ".", Shown: "."},
		func(e filewalk.Entry) error {
			switch {
			case len(out) >= MaxFiles:
				return fs.SkipAll
			case e.Ignored || e.IsDir() && e.Name() == ".git":
				if e.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			path := e.Path
			if e.IsDir() {
				path += "/"
			}
			out = append(out, path)
			return nil
		})
	return out
}
