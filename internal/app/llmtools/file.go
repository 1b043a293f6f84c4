package llmtools

import (
	"path/filepath"
	"sync"

	"callgate/internal/app/node"
)

// File is a file as it was read, and the signature that stands beside it.
type File struct {
	Name      string // without its folder
	Folder    string // "": that of the app file itself
	Text      string
	Signature []byte // nil: there is none
	IsApp     bool   // it is the app file itself, which holds more than a tool
}

// appFile returns the app file itself as it is read, made once.
func appFile(r *node.Reader, folder string) func() *File {
	return sync.OnceValue(func() *File {
		file, text := r.Written()
		name := filepath.Base(file)
		return &File{Name: name, Text: text, Signature: node.Signature(folder, name), IsApp: true}
	})
}
