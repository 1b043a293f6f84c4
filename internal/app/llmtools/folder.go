package llmtools

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"callgate/internal/app/node"
	"callgate/internal/signing"
)

// maxFile is the size of a file of one definition at most.
const maxFile = 256 << 10

// maxFiles is how many definitions a folder may have.
const maxFiles = 10_000

// readDir reads a folder of definitions, each in a file of its own: YAML, or JSON, which is YAML.
// Files are read at the same time, and what they hold is taken in the order of their names.
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
	root, err := os.OpenRoot(folder)
	if err != nil {
		r.Fail(e.At, "let this user read it", "the app's folder cannot be read: %v", err)
		return
	}
	defer root.Close()
	b.Dirs = append(b.Dirs, path)
	signed := signedNames(files)
	definitions := make([]definition, len(files))
	var group sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				name := files[i].Name()
				definitions[i].read(r.Apart(), root, e, filepath.Join(local, name), signed[name])
			}
		})
	}
	for i, f := range files {
		if !f.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(f.Name())) {
			next <- i
		}
	}
	close(next)
	group.Wait()
	for _, d := range definitions {
		if d.folder != nil {
			r.Take(d.folder)
		}
		if d.in != nil {
			include(d.in.Report)
		}
		if d.ok {
			b.add(d.in, d.tool)
		}
	}
}

// signedNames are the names of files beside which a signature stands.
func signedNames(files []os.DirEntry) map[string]bool {
	signed := make(map[string]bool)
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), signing.Suffix); ok {
			signed[name] = true
		}
	}
	return signed
}

// definition is a file of one definition.
type definition struct {
	folder *node.Report // what is wrong with the file as one of its folder
	in     *node.Reader // of the file
	tool   Tool
	ok     bool
}

// read reads the file of a local name below the app's folder, which an entry names, and its signature.
func (d *definition) read(r *node.Reader, root *os.Root, e node.Entry, name string, signed bool) {
	d.folder = r.Report
	text, ok := r.FileIn(root, e, name, maxFile)
	if !ok {
		return
	}
	at := filepath.Join(root.Name(), name)
	in, top, ok := r.Beside(at, []byte(text))
	d.in = in
	if !ok {
		return
	}
	d.tool, d.ok = ReadTool(in, top)
	dir, base := filepath.Split(at)
	d.tool.File = &File{Name: base, Folder: dir, Text: text}
	if signed {
		d.tool.File.Signature = node.SignatureIn(root, name)
	}
}
