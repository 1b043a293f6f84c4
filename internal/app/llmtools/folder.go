package llmtools

import (
	"os"
	"path/filepath"
	"slices"

	"callgate/internal/app/node"
)

// maxFile is the size of a file of one definition at most.
const maxFile = 256 << 10

// maxFiles is how many definitions a folder may have.
const maxFiles = 10_000

// readDir reads a folder of definitions, each in a file of its own: YAML, or JSON, which is YAML.
func (b *reading) readDir(r *node.Reader, e node.Entry, folder string, include func(*node.Report)) {
	name, ok := r.WithoutEnv().Text(e)
	if !ok {
		return
	}
	local := filepath.FromSlash(name)
	if !filepath.IsLocal(local) {
		r.Fail(e.At, "name a folder in the app's own, relative to the app file",
			"%s is %s, which is not in the app's folder", e.Name(), node.Quote(name))
		return
	}
	path := filepath.Join(folder, local)
	files, err := os.ReadDir(path)
	if err != nil {
		r.Fail(e.At, "make it, with a file for each tool in it", "the folder %s cannot be read: %v", node.Quote(name), err)
		return
	}
	if len(files) > maxFiles {
		r.Fail(e.At, "make several apps of it", "the folder %s has %d files, of at most %d",
			node.Quote(name), len(files), maxFiles)
		return
	}
	b.Dirs = append(b.Dirs, path)
	for _, f := range files {
		if f.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(f.Name())) {
			continue
		}
		text, at := r.FileAt(e, folder, filepath.ToSlash(filepath.Join(local, f.Name())), maxFile)
		if at == "" {
			continue
		}
		in, root, ok := r.Beside(at, []byte(text))
		include(in.Report)
		if !ok {
			continue
		}
		if t, ok := ReadTool(in, root); ok {
			b.add(in, t)
		}
	}
}
