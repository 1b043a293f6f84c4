package mention

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

// MaxFiles is how many files of a workspace can be completed.
const MaxFiles = 50_000

// Walk lists the files and folders below a folder, by their paths in it with
// slashes; a folder ends with one. ignored leaves paths out, with all that is below
// them; nil: none but .git. Links are listed and not followed. It ends at MaxFiles, or with ctx.
func Walk(ctx context.Context, root string, ignored func(path string, folder bool) bool) []string {
	var out []string
	_ = fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil || len(out) >= MaxFiles:
			return fs.SkipAll
		case path == ".":
			return nil
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir // a folder that cannot be read is left out
		case err != nil:
			return nil
		case d.IsDir() && d.Name() == ".git", ignored != nil && ignored(path, d.IsDir()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			path += "/"
		}
		out = append(out, filepath.ToSlash(path))
		return nil
	})
	return out
}
