// Package ownfile reads a block of the user's own app file by itself: what is about the kernel, and not about an app.
package ownfile

import (
	"errors"
	"io/fs"
	"os"

	"callgate/internal/app/node"
	"callgate/tool"
)

// maxFile bounds the file that is read.
const maxFile = 4 << 20

// Read reads one block of the file at a path. A file that is not there has no block; one with a mistake in the
// block is an error.
func Read(path, key string, block func(*node.Reader) node.Read) error {
	const op = "ownfile.Read"
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Size() > maxFile {
		return tool.Errorf(op, tool.Invalid, "%s is too large for an app file", path)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Unavailable, Message: path + " cannot be read", Err: err}
	}
	r, root, ok := node.Open(path, data, node.Keys{}, plain{})
	if ok && root.IsMapping() {
		for _, e := range r.Entries(root, "") {
			if e.Key == key {
				block(r)(e)
			}
		}
	}
	return node.Err(r.Report)
}

// plain leaves texts as they are.
type plain struct{}

func (plain) Expand(_ *node.Reader, _ node.Entry, text string) (string, bool) { return text, true }
