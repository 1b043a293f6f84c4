package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed static templates
var embedded embed.FS

// files are the files that pages load, each under a name with the hash of its content.
type files struct {
	named map[string]string // the name with its hash, by the plain one
	bytes map[string][]byte // by the name with its hash
}

func readFiles() *files {
	f := &files{named: map[string]string{}, bytes: map[string][]byte{}}
	list, err := fs.ReadDir(embedded, "static")
	if err != nil {
		panic(err) // it is in the program
	}
	for _, e := range list {
		data, err := embedded.ReadFile("static/" + e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(data)
		ext := path.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), ext) + "-" + hex.EncodeToString(sum[:6]) + ext
		f.named[e.Name()], f.bytes[name] = name, data
	}
	return f
}

// address is where a file is found.
func (f *files) address(name string) string { return "/static/" + f.named[name] }

// ServeHTTP serves a file. Its name says what is in it, so it may be kept for good.
func (f *files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/static/")
	lasting := "public, max-age=31536000, immutable"
	if named, plain := f.named[name]; plain { // the page for logging in, which knows no hashes
		name, lasting = named, "no-cache"
	}
	data, ok := f.bytes[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	kinds := map[string]string{
		".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	w.Header().Set("Content-Type", kinds[path.Ext(name)])
	w.Header().Set("Cache-Control", lasting)
	_, _ = w.Write(data)
}
